"""`Problem`: a position with its expected result or its solution."""

from dataclasses import dataclass, field

from ckai.game import Move, Position
from ckai.rl.engine.result import Proof

RESULTS: dict[str, tuple[Proof, Proof]] = {
    "1-0": ("win", "loss"),
    "0-1": ("loss", "win"),
    "1/2-1/2": ("draw", "draw"),
}
"""The results of PDN, for Black and for White: in English draughts Black, the first mover, comes first."""
REVERSED: dict[Proof, Proof] = {"win": "loss", "loss": "win", "draw": "draw"}


class ProblemError(ValueError):
    """A problem cannot be read; says where, what was expected and found."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of a file."""

    position: Position
    path: str
    number: int
    """1-based number in the file."""
    name: str = ""
    """Title or comment, "" if there is none."""
    solution: list[Move] = field(default_factory=list)
    """Legal moves from the position; empty if the file has none."""
    result: Proof | None = None
    """Expected result for the side to move, None if the file has none."""

    @property
    def label(self) -> str:
        """The place of the problem and its name."""
        return f"{self.path}, problem {self.number}" + (f", {self.name}" if self.name else "")


def result_for(text: str, position: Position) -> Proof | None:
    """Return a result of PDN for the side to move in a position, None if it is none of `RESULTS`."""
    both = RESULTS.get(text)
    return None if both is None else both[0 if position.black else 1]
