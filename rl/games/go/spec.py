"""The `GameSpec` of 9x9 Go, and the encoding of its positions."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ckai.game.svg import Layout
from ckai.models.inputs.registry import register_encoding
from ckai.models.inputs.stones import StonesEncoding
from ckai.rl.games.contract import State
from ckai.rl.games.go.board import LOW, LOW_POINTS, POINTS, SIZE
from ckai.rl.games.go.position import COLUMNS, GoMove, GoPosition, read_move
from ckai.rl.games.go.rules import (
    EARLIER,
    HIGH_BITS,
    MAX_PLIES,
    PASS,
    PASSES_BIT,
    PLIES_BIT,
    STATE_WORDS,
    Go,
)
from ckai.rl.games.spec import GameSpec, positions_after, square_symmetries

C_PUCT = 1.0
"""Exploration constant of self-play and of all other searches with a network, at any number of visits."""
_TURNS = 2 * (EARLIER + 1)
"""Planes of the stones of the positions that a network sees."""
_OPENING_POINTS = tuple(SIZE * row + column for row in range(2, 7) for column in range(2, 7))
"""The points on the third line or above, where openings have their stones."""
_ROW = rf"[bw.]{{{SIZE}}}"
_POSITION = re.compile(rf"({_ROW}(?:/{_ROW}){{{SIZE - 1}}})(?: +([bw])(?: +([012]))?)?")
"""The text of a position: board, side to move, passes."""


@register_encoding("go")
class GoEncoding(StonesEncoding):
    """Own and other stones of eight positions, the latest first; Black's turn; a pass; plies; ones.

    A square has three bytes: its stone, and a bit for each earlier position with an own stone, and with one
    of the other side. The byte of the jumper is -1, less 2 for each pass before, less 1 if White is to move;
    that of the halfmove clock is half the plies. Plies are scaled by the usual length of a game.
    """

    VERSION, GAME = "go-1", "go"
    SHAPE, NUM_ACTIONS, BYTES_PER_SQUARE = (SIZE, SIZE), PASS + 1, 3
    PLANES, VALUES = _TURNS + 4, ()
    NAMES = (
        "own stones",
        "other stones",
        *(f"{whose} stones, {n} before" for n in range(1, EARLIER + 1) for whose in ("own", "other")),
        "Black's turn",
        "a pass before",
        "plies",
        "ones",
    )

    bits: Tensor

    def __init__(self) -> None:
        super().__init__()
        bits = torch.tensor([1 << n for n in range(EARLIER)], dtype=torch.int32)
        self.register_buffer("bits", bits.view(1, -1, 1, 1), persistent=False)

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return boards with random stones at random times, `[number, position_bytes]` int8."""
        stones = rng.integers(-1, 2, (number, POINTS))
        earlier = rng.integers(0, 1 << EARLIER, (number, 2, POINTS))
        earlier[:, 1] &= ~earlier[:, 0]
        rest = np.stack([rng.integers(-4, 0, number), rng.integers(0, MAX_PLIES // 2, number)], 1)
        return np.concatenate([stones, earlier.reshape(number, -1), rest], 1).astype(np.int8)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return `[B, 20, 9, 9]`, planes in [0, 1]."""
        layers = board.view(-1, self.BYTES_PER_SQUARE, POINTS)
        now, earlier = layers[:, 0], layers[:, 1:].to(torch.int32)
        past = (earlier.unsqueeze(1) & self.bits) != 0
        code = -1 - jumper
        white, passed = (code & 1).view(-1, 1, 1), (code > 1).view(-1, 1, 1)
        plies = (halfmove_clock.to(dtype) * (2 / MAX_PLIES)).clamp(max=1.0).view(-1, 1, 1)
        full = (-1, 1, POINTS)
        planes = torch.cat(
            [
                torch.stack([now > 0, now < 0], 1).to(dtype),
                past.to(dtype).view(-1, 2 * EARLIER, POINTS),
                (1 - white).to(dtype).expand(*full),
                passed.to(dtype).expand(*full),
                plies.expand(*full),
                torch.ones_like(plies).expand(*full),
            ],
            1,
        )
        return planes.view(-1, self.PLANES, *self.SHAPE)


@cache
def _openings(first: GoPosition, plies: int) -> tuple[GoPosition, ...]:
    def moves(position: GoPosition) -> Iterable[GoMove]:
        black, white = position.stones
        return (GoMove(at) for at in _OPENING_POINTS if not (black | white) >> at & 1)

    return tuple(positions_after(first, plies, moves))


class GoSpec(GameSpec):
    """9x9 Go: area scoring, positional superko, no suicide; 7 points of komi unless another is set."""

    name = "go"
    title = "9x9 Go"
    rules = Go()
    encoding = "go"
    plies = 90
    symmetries = square_symmetries(SIZE, GoEncoding.BYTES_PER_SQUARE, others=1)
    layout = Layout(
        SIZE, SIZE, {at + 1: (SIZE - 1 - at // SIZE, at % SIZE) for at in range(POINTS)}, numbers=False
    )
    column_labels = tuple(COLUMNS)
    row_labels = tuple(str(SIZE - row) for row in range(SIZE))
    move_example = "E5"
    run_defaults: ClassVar[Mapping[str, Any]] = {
        **GameSpec.run_defaults,
        "selfplay.c_puct": C_PUCT,
        "selfplay.temperature_plies": 16,
        "learn.symmetries": True,
    }
    search_defaults: ClassVar[Mapping[str, Any]] = {"c_init": C_PUCT, "c_base": 19652.0}

    def with_komi(self, komi: float) -> "GoSpec":
        """Return the same game with another komi.

        Raises:
            ValueError: the komi is not a multiple of a half from -`POINTS` to `POINTS`.
        """
        if not -POINTS <= komi <= POINTS or komi * 2 != int(komi * 2):
            raise ValueError(f"expected a komi from -{POINTS} to {POINTS} in halves, found {komi:g}")
        other = GoSpec()
        other.rules = Go(float(komi))
        return other

    def position(self, state: State | None = None) -> GoPosition:
        """See `GameSpec.position`; the earlier boards are those in the state."""
        if state is None:
            return GoPosition(self.rules)
        boards = [state[first : first + 3] for first in range(5, STATE_WORDS, 3)]
        return GoPosition(self.rules, state, frozenset(board for board in boards if any(board)))

    def repetition_key(self, position: GoPosition) -> State:
        """See `GameSpec.repetition_key`: the stones."""
        return (*position.board, *(0,) * (STATE_WORDS - 3))

    def openings(self, plies: int = 3) -> tuple[GoPosition, ...]:
        """Return the positions after a few stones on the third line or above, at most three.

        See `GameSpec.openings`.
        """
        return _openings(self.position(), min(plies, 3))

    def halfmove_clocks(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """Return half the plies of states, which tells networks how near the end is: `[N]`."""
        return (states[:, 4] >> PLIES_BIT + 1).astype(np.int16)

    # --- for people ---------------------------------------------------------------------------------

    def pieces(self, position: Any) -> dict[int, str]:
        """See `GameSpec.pieces`."""
        black, white = position.stones
        return {at + 1: "b" if black >> at & 1 else "w" for at in range(POINTS) if (black | white) >> at & 1}

    def names_move(self, text: str) -> bool:
        """See `GameSpec.names_move`."""
        return read_move(text) is not None

    def read_position(self, text: str) -> GoPosition:
        """Read a position: rows from the top, `/` between them, of `b`, `w` and `.`; then `b` or `w` to move.

        A number at the end says how many passes came before. Without a side, Black moves if there are as
        many stones of both. See `GameSpec`.
        """
        words = _POSITION.fullmatch(text.lower().strip())
        if words is None:
            raise ValueError(
                f"expected {SIZE} rows of {SIZE} points of b, w and . with / between, and the side to move, "
                f"b or w, found {text[:60]!r}"
            )
        at = {"b": 0, "w": 0, ".": 0}
        for n, letter in enumerate("".join(reversed(words[1].split("/")))):
            at[letter] |= 1 << n
        black, white = at["b"], at["w"]
        side = words[2] or ("b" if black.bit_count() == white.bit_count() else "w")
        passes = int(words[3] or 0)
        highs = black >> LOW_POINTS | white >> LOW_POINTS << HIGH_BITS
        counts = passes << PASSES_BIT | int(side == "w") << PLIES_BIT
        state = (black & LOW, white & LOW, highs, 0, counts, *[0] * (STATE_WORDS - 5))
        position = GoPosition(self.rules, state)
        if position.has_dead_chain():
            raise ValueError("expected a liberty for every chain, found one without")
        return position

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> GoPosition:
        """See `GameSpec.set_up`."""
        return self.read_position(f"{self.board_text(pieces)} {'b' if black else 'w'}")

    def position_text(self, position: Any) -> str:
        """See `GameSpec.position_text`."""
        return str(position.text)


SPEC = GoSpec()
