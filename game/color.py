"""The two sides."""

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
