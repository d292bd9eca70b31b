"""Names that settings and commands choose from; light, so that help needs no numpy."""

from typing import Literal, get_args

DEFAULT_GAME_NAME = "checkers"
"""The game of rows whose file names none, and what is played where nobody says."""
Positions = Literal["all", "distinct", "average"]
POSITIONS: tuple[str, ...] = get_args(Positions)
"""What is kept of repeated positions, see `ckai.datasets.merge`."""
