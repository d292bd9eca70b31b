"""9x9 Go for people, matches and networks: positions, moves, the encoding, the `GameSpec`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch import Tensor

from ckai.game import MoveError, Outcome
from ckai.game.svg import Layout
from ckai.models.encodings import StonesEncoding, register_encoding
from ckai.rl.games.contract import State
from ckai.rl.games.go_rules import (
    EARLIER,
    HIGH,
    HIGH_BITS,
    LOW,
    LOW_POINTS,
    MAX_PLIES,
    PASS,
    PASSES_BIT,
    PLIES_BIT,
    POINTS,
    SIZE,
    STATE_WORDS,
    Go,
    black_area,
    has_dead_chain,
)
from ckai.rl.games.spec import GameSpec, GridMove, GridPosition, positions_after, square_symmetries

COLUMNS = "ABCDEFGHJ"
"""Letters of the columns; there is no I."""
C_PUCT = 1.0
"""Exploration constant of self-play and of all other searches with a network, at any number of visits."""
_OPENING_POINTS = tuple(SIZE * row + column for row in range(2, 7) for column in range(2, 7))
"""The points on the third line or above, where openings have their stones."""


class GoReason(StrEnum):
    """Why a game is over."""

    PASSES = "two passes"
    LENGTH = "the longest game"


class GoMove(GridMove):
    """A stone on a point, or a pass; `action` is the point, 9 * row + column, or 81."""

    __slots__ = ()

    def __str__(self) -> str:
        """`D5`: column and row, counted from the bottom left; or `pass`."""
        if self.action == PASS:
            return "pass"
        return f"{COLUMNS[self.action % SIZE]}{self.action // SIZE + 1}"


def read_move(text: str) -> GoMove | None:
    """Return the move of a text such as `D5`, `d5` or `pass`; None if it is none."""
    word = text.strip().rstrip(".").upper()
    if word == "PASS":
        return GoMove(PASS)
    if len(word) == 2 and word[0] in COLUMNS and word[1] in "123456789":
        return GoMove((int(word[1]) - 1) * SIZE + COLUMNS.index(word[0]))
    return None


@dataclass(frozen=True)
class GoPosition(GridPosition):
    """A position: a state, and the boards that may not be repeated."""

    state: State = (0,) * STATE_WORDS
    """See `ckai.rl.games.go_rules`."""
    earlier: frozenset[State] = frozenset()
    """The boards of the earlier positions, three words each."""

    @property
    def black(self) -> bool:
        """Whether Black is to move."""
        return self.plies % 2 == 0

    @property
    def plies(self) -> int:
        """Plies played."""
        return self.state[4] >> PLIES_BIT

    @property
    def passes(self) -> int:
        """How many passes the last moves were, at most 2."""
        return self.state[4] >> PASSES_BIT & 3

    @property
    def board(self) -> State:
        """The words of the state that hold the stones: equal for a repetition."""
        return self.state[:3]

    @property
    def stones(self) -> tuple[int, int]:
        """Black's and White's stones, bit 9 * row + column."""
        black, white, highs = self.board
        return black | (highs & HIGH) << LOW_POINTS, white | highs >> HIGH_BITS << LOW_POINTS

    @property
    def key(self) -> State:
        """Equal for equal boards with the same side to move after as many passes."""
        return (*self.board, int(self.black), self.passes)

    @property
    def area(self) -> int:
        """Area of Black less that of White, without komi."""
        return int(black_area(self.state))

    def with_turn(self, *, black: bool) -> "GoPosition":
        """Return the position with this side to move, which may continue after two passes."""
        plies = self.plies if self.black == black else abs(self.plies - 1)  # no nearer to the longest game
        passes = self.passes if self.black == black and self.passes < 2 else 0
        counts = self.state[4] & HIGH | passes << PASSES_BIT | plies << PLIES_BIT
        return replace(self, state=(*self.state[:4], counts, *self.state[5:]))

    def legal_moves(self) -> list[Any]:
        """Return the legal moves, the pass last; none if the game is over."""
        actions, over, _ = self._legal_and_outcome
        return [] if over else [GoMove(action) for action in actions if not self._repeats(action)]

    def push(self, move: Any) -> "GoPosition":
        """Return the position after a legal move."""
        return GoPosition(self.rules, super().push(move).state, self.earlier | {self.board})

    def move_of(self, hops: Sequence[int]) -> Any:
        """Return the move of these actions; see `ckai.game.Position.move_of`."""
        return GoMove(hops[0]) if hops else None

    def find_move(self, text: str) -> Any:
        """Return the legal move with a text.

        Raises:
            MoveError: there is none; says why.
        """
        move = read_move(text)
        if move is None:
            shown = repr(text[:40]) if text.isascii() else ascii(text[:20])
            raise MoveError(f"expected a point such as D5, or pass, found {shown}")
        if move not in self.legal_moves():
            raise MoveError(f"expected another move than {move}: {self._why_not(move)}")
        return move

    def outcome(self) -> Outcome | None:
        """Return how the game ended, or None while it is in progress."""
        _, over, _ = self._legal_and_outcome
        if not over:
            return None
        reason = GoReason.PASSES if self.passes == 2 else GoReason.LENGTH
        score = self.area - self.rules.komi
        if score == 0:
            return Outcome(None, reason, f"{reason}, equal points")
        return Outcome("black" if score > 0 else "white", reason, f"by {abs(score):g} points")

    def _repeats(self, action: int) -> bool:
        """Whether a move that the state allows makes an earlier board."""
        if action == PASS or not self.earlier:
            return False
        taken = self.state[3] | (self.state[4] & HIGH) << LOW_POINTS
        return bool(taken >> action & 1) and super().push(GoMove(action)).state[:3] in self.earlier

    def _why_not(self, move: GoMove) -> str:
        black, white = self.stones
        if self.outcome() is not None:
            return "the game is over"
        if (black | white) >> move.action & 1:
            return "there is a stone"
        if self._repeats(move.action):
            return "it repeats an earlier position"
        return "the stone would have no liberty"


@register_encoding("go")
class GoEncoding(StonesEncoding):
    """Own and other stones of eight positions, the latest first; Black's turn; a pass; plies; ones.

    A square has three bytes: its stone, and a bit for each earlier position with an own stone, and with one
    of the other side. The byte of the jumper is -1, less 2 for each pass before, less 1 if White is to move;
    that of the halfmove clock is half the plies. Plies are scaled by the usual length of a game.
    """

    VERSION, GAME = "go-1", "go"
    SHAPE, NUM_ACTIONS, BYTES_PER_SQUARE = (SIZE, SIZE), PASS + 1, 3
    PLANES, VALUES = 2 * (EARLIER + 1) + 4, ()
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
        now, earlier = layers[:, :1], layers[:, 1:].to(torch.int32)
        past = (earlier.unsqueeze(1) & self.bits) != 0
        code = -1 - jumper
        plies = (halfmove_clock.to(dtype) * (2 / MAX_PLIES)).clamp(max=1.0)
        black, passed = (1 - (code & 1)).to(dtype), (code > 1).to(dtype)
        whole = torch.stack([black, passed, plies, torch.ones_like(plies)], 1)
        stones = torch.cat([now > 0, now < 0, past.flatten(1, 2)], 1).to(dtype)
        planes = torch.cat([stones, whole.unsqueeze(2).expand(-1, -1, POINTS)], 1)
        return planes.view(-1, self.PLANES, *self.SHAPE)


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
        """Return the same game with another komi."""
        other = GoSpec()
        other.rules = Go(komi)
        return other

    def position(self, state: State | None = None) -> GoPosition:
        """See `GameSpec.position`; the earlier boards are those in the state."""
        if state is None:
            return GoPosition(self.rules)
        boards = [state[first : first + 3] for first in range(5, STATE_WORDS, 3)]
        return GoPosition(self.rules, state, frozenset(board for board in boards if any(board)))

    def openings(self, plies: int = 3) -> tuple[GoPosition, ...]:
        """Return the positions after a few stones, at most three, on the third line or above."""

        def moves(position: GoPosition) -> Iterable[GoMove]:
            black, white = position.stones
            return (GoMove(at) for at in _OPENING_POINTS if not (black | white) >> at & 1)

        return tuple(positions_after(self.position(), min(plies, 3), moves))

    # --- for people ---------------------------------------------------------------------------------

    def pieces(self, position: Any) -> dict[int, str]:
        """See `GameSpec.pieces`."""
        black, white = position.stones
        return {at + 1: "b" if black >> at & 1 else "w" for at in range(POINTS) if (black | white) >> at & 1}

    def set_up(self, pieces: Mapping[int, str], *, black: bool, passes: int = 0) -> GoPosition:
        """See `GameSpec.set_up`; `passes` came just before, at most 2."""
        blacks, whites = (sum(1 << n - 1 for n in side) for side in self.sides(pieces))
        highs = blacks >> LOW_POINTS | whites >> LOW_POINTS << HIGH_BITS
        counts = passes << PASSES_BIT | (not black) << PLIES_BIT
        state = (blacks & LOW, whites & LOW, highs, 0, counts, *[0] * (STATE_WORDS - 5))
        position = GoPosition(self.rules, state)
        if has_dead_chain(position.state):
            raise ValueError("expected a liberty for every chain, found one without")
        return position

    def read_position(self, text: str) -> GoPosition:
        """Read rows, see `GameSpec.position_text`, and who is to move, `b` or `w`.

        A number at the end says how many passes came before. Without a side, Black moves if there are as
        many stones of both.
        """
        words = re.fullmatch(r"(\S+)(?: +([bw])(?: +([012]))?)?", text.lower().strip())
        if words is None:
            raise ValueError(f"expected a board, then b or w to move, found {text[:60]!r}")
        pieces = self.read_board(words[1])
        blacks, whites = self.sides(pieces)
        black = words[2] == "b" if words[2] else len(blacks) == len(whites)
        return self.set_up(pieces, black=black, passes=int(words[3] or 0))

    def position_text(self, position: Any) -> str:
        """Return rows, see `GameSpec`, the side to move, and the passes before if there are any."""
        passes = f" {position.passes}" if position.passes else ""
        return f"{super().position_text(position)} {'b' if position.black else 'w'}{passes}"


SPEC = GoSpec()
