"""The two sides, how games end, and the numbers of the draw rules.

Source: World Checkers/Draughts Federation, *Official Rules of Checkers*, 1.30 (no move loses) and 1.32
(draws).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Color(StrEnum):
    """A side. Its value is the lower-case word, so that `Color.BLACK == "black"`."""

    BLACK = "black"
    WHITE = "white"

    @property
    def other(self) -> "Color":
        """The opponent's color."""
        return Color.WHITE if self is Color.BLACK else Color.BLACK


BLACK: Final = Color.BLACK
"""The side that starts on squares 1..12 and moves first."""
WHITE: Final = Color.WHITE
"""The side that starts on squares 21..32."""

HALFMOVE_LIMIT: Final = 80
"""Plies in a row without a capture or a man's move that make a draw: 40 moves by each side (1.32)."""
REPETITION_LIMIT: Final = 3
"""Occurrences of a position, with the same side to move, that make a draw (1.32)."""


class Reason(StrEnum):
    """Why a game is over."""

    NO_PIECES = "no pieces left"
    NO_MOVES = "no legal move"
    REPETITION = "repetition of the position"
    HALFMOVE_LIMIT = "too long without a capture or a man's move"
    RESIGNED = "resigned"
    AGREED = "agreed"
    TIME = "time forfeit"
    LENGTH = "limit of plies"


@dataclass(frozen=True)
class Outcome:
    """How a game ended."""

    winner: str | None
    """"black", "white" (equal to `Color.BLACK`, `Color.WHITE`), or None for a draw."""
    reason: StrEnum
    """A `Reason`; games other than checkers define their own."""
    detail: str = ""
    """The reason with its number, such as `80 plies without a capture or a man's move`."""

    def __str__(self) -> str:
        """`White won: Black has no legal move`, or `drawn: the position stands for the third time`."""
        won = "drawn" if self.winner is None else f"{self.winner.capitalize()} won"
        return f"{won}: {self.detail or self.reason}"

    @property
    def result(self) -> str:
        """The PDN result: "1-0" if Black won (Black moves first and comes first), "0-1" or "1/2-1/2"."""
        return {"black": "1-0", "white": "0-1", None: "1/2-1/2"}[self.winner]
