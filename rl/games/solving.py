"""`Solver`: the truth about a game in which it can be computed."""

from functools import cache
from typing import Any, NamedTuple


class SolvedValue(NamedTuple):
    """What best play of both sides leads to."""

    value: int
    """1 if the side to move wins, -1 if it loses, 0 for a draw."""
    plies: int
    """Moves until the end, if the winner hurries and the loser delays."""

    @property
    def order(self) -> tuple[int, int]:
        """Higher for better results: for faster wins, and for slower losses."""
        return self.value, -self.value * self.plies

    def before(self) -> "SolvedValue":
        """Return what this is for the other side, one move earlier."""
        return SolvedValue(-self.value, self.plies + 1)


class Solver:
    """Solves positions; this one tries every game, once, of games in which only the last mover can win.

    What it has seen may make later ones faster. For one thread at a time. A position can be hashed.
    """

    def solve(self, position: Any) -> SolvedValue:
        """Return the truth about a position for its side to move; `plies` is 0 where the game is over."""
        return _solved(position)

    def moves(self, position: Any) -> dict[Any, SolvedValue]:
        """Return every legal move and what it leads to, for the side to move."""
        return {move: self.solve(position.push(move)).before() for move in position.legal_moves()}


@cache
def _solved(position: Any) -> SolvedValue:
    outcome = position.outcome()
    if outcome is not None:
        return SolvedValue(0 if outcome.winner is None else -1, 0)  # who is to move did not make the line
    after = (_solved(position.push(move)).before() for move in position.legal_moves())
    return max(after, key=lambda truth: truth.order)
