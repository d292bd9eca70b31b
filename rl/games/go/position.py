"""Positions and moves of 9x9 Go, with the earlier positions of the game that may not be repeated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ckai.game import MoveError, Outcome
from ckai.game.jit import quick_kernel
from ckai.rl.games.contract import State
from ckai.rl.games.go.board import HIGH, LOW_POINTS, POINTS, SIZE
from ckai.rl.games.go.rules import (
    HIGH_BITS,
    PASS,
    PASSES_BIT,
    PLIES_BIT,
    STATE_WORDS,
    black_area,
    has_dead_chain,
)
from ckai.rl.games.grid import GridMove, GridPosition

COLUMNS = "ABCDEFGHJ"
"""Letters of the columns; there is no I."""


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
    word = text.strip().upper()
    if word == "PASS":
        return GoMove(PASS)
    if len(word) == 2 and word[0] in COLUMNS and word[1] in "123456789":
        return GoMove((int(word[1]) - 1) * SIZE + COLUMNS.index(word[0]))
    return None


@quick_kernel
def _dead_chain(state):  # type: ignore[no-untyped-def]
    return has_dead_chain(state)


@quick_kernel
def _black_area(state):  # type: ignore[no-untyped-def]
    return black_area(state)


@dataclass(frozen=True)
class GoPosition(GridPosition):
    """A position: a state, and the boards that may not be repeated."""

    state: State = (0,) * STATE_WORDS
    """See `ckai.rl.games.go.rules`."""
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
    def text(self) -> str:
        """Rows from the top with `/` between them, the side to move, and the passes before if any."""
        black, white = self.stones
        letters = ["b" if black >> at & 1 else "w" if white >> at & 1 else "." for at in range(POINTS)]
        rows = ["".join(letters[row * SIZE : (row + 1) * SIZE]) for row in reversed(range(SIZE))]
        words = ["/".join(rows), "b" if self.black else "w", *([str(self.passes)] if self.passes else [])]
        return " ".join(words)

    @property
    def area(self) -> int:
        """Area of Black less that of White, without komi."""
        return int(_black_area(self._words()))

    def with_turn(self, *, black: bool) -> "GoPosition":
        """Return the position with this side to move, which may continue after two passes."""
        plies = self.plies if self.black == black else abs(self.plies - 1)  # no nearer to the longest game
        passes = self.passes if self.black == black and self.passes < 2 else 0
        counts = self.state[4] & HIGH | passes << PASSES_BIT | plies << PLIES_BIT
        return replace(self, state=(*self.state[:4], counts, *self.state[5:]))

    def has_dead_chain(self) -> bool:
        """Return whether stones without a liberty are on the board, as no game leaves them."""
        return bool(_dead_chain(self._words()))

    def legal_moves(self) -> list[Any]:
        """Return the legal moves, the pass last; none if the game is over."""
        actions, over, _ = self._legal_and_outcome
        return [] if over else [GoMove(action) for action in actions if not self._repeats(action)]

    def push(self, move: Any) -> "GoPosition":
        """Return the position after a legal move."""
        after = super().push(move)
        return GoPosition(self.rules, after.state, self.earlier | {self.board})

    def move_of(self, hops: Sequence[int]) -> Any:
        """Return the move of these actions; see `ckai.game.Position.move_of`."""
        return GoMove(hops[0]) if hops else None

    def find_move(self, text: str) -> Any:
        """Return the legal move with a text.

        Raises:
            MoveError: there is none; says why.
        """
        shown = repr(text[:40]) if text.isascii() else ascii(text[:20])
        move = read_move(text)
        if move is None:
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
        after = super().push(move)
        if after.state[:3] in self.earlier:
            return "it repeats an earlier position"
        return "the stone would have no liberty"
