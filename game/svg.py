"""A board as SVG, without dependencies: for notebooks, web pages and reports.

A `Layout` says where the squares of a game are. Each shape has a class (`square dark`, `number`, `piece`,
`arrow`), so that a page can style it again.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckai.game.squares import SQUARES, file_of

CELL = 45
"""Width of a square."""
MARGIN = 12
"""Width of the frame."""
STYLE = {
    "frame": "#3d2b1f",
    "light": "#f0d9b5",
    "dark": "#8a6d4f",
    "last": "#b5a642",
    "number": "#e8d8c0",
    "arrow": "#1f6fb2",
}
"""Colours by class."""
PIECES = {"b": ("#2b2b2b", "#8c8c8c"), "w": ("#f7f3e8", "#9c8f7a")}
"""Fill and line of each side's pieces; capitals are kings."""
CROWN = ((-8, 7), (-10, -5), (-4.5, 0), (0, -8), (4.5, 0), (10, -5), (8, 7))
"""Corners of a king's crown, from the center of its square."""
CROWN_FILL = "#d4a017"
RADIUS, INNER_RADIUS = 18, 13
"""Of the two circles of a piece."""


@dataclass(frozen=True)
class Layout:
    """Where the squares of a board are."""

    rows: int
    columns: int
    squares: Mapping[int, tuple[int, int]]
    """Row from the top and column from the left, 0-based, by the number of the square."""
    numbers: bool = True
    """Whether people know the squares by these numbers."""

    @property
    def width(self) -> int:
        """Width of the drawing."""
        return self.columns * CELL + 2 * MARGIN

    @property
    def height(self) -> int:
        """Height of the drawing."""
        return self.rows * CELL + 2 * MARGIN

    def center(self, square: int) -> tuple[float, float]:
        """Return the center of a square."""
        row, column = self.squares[square]
        return MARGIN + (column + 0.5) * CELL, MARGIN + (row + 0.5) * CELL


DRAUGHTS = Layout(
    8, 8, {square: ((square - 1) // 4, file_of(square - 1)) for square in range(1, SQUARES + 1)}
)
"""The draughts board, with White at the bottom."""


def board_svg(pieces: Mapping[int, str], title: str, last_move: Sequence[int]) -> str:
    """Draw the draughts board, see `Position.svg`; `title` is for screen readers and tooltips.

    Each piece is a `<g>` of class "piece" with its letter in `data-piece` and its square in `data-square`.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {DRAUGHTS.width} {DRAUGHTS.height}"'
        ' width="400" height="400" font-family="sans-serif">',
        f"<title>{title}</title>",
        _squares(last_move),
    ]
    for square in sorted(pieces):
        x, y = DRAUGHTS.center(square)
        parts.append(
            f'<g class="piece" data-piece="{pieces[square]}" data-square="{square}"'
            f' transform="translate({x:g},{y:g})">{piece_shapes(pieces[square])}</g>'
        )
    for start, end in itertools.pairwise(last_move):
        parts.append(_arrow(DRAUGHTS.center(start), DRAUGHTS.center(end)))
    return "\n".join([*parts, "</svg>"])


def _squares(last: Sequence[int]) -> str:
    """The frame and the squares of an empty board, as elements; those in `last` are shaded."""
    width = DRAUGHTS.width
    parts = [
        f'<rect class="frame" width="{width}" height="{width}" fill="{STYLE["frame"]}"/>',
        f'<rect class="light" x="{MARGIN}" y="{MARGIN}" width="{8 * CELL}"'
        f' height="{8 * CELL}" fill="{STYLE["light"]}"/>',
    ]
    for square in DRAUGHTS.squares:
        x, y = DRAUGHTS.center(square)
        shade = "last" if square in last else "dark"
        left, top = x - CELL / 2, y - CELL / 2
        parts.append(
            f'<rect class="square {shade}" x="{left:g}" y="{top:g}" width="{CELL}" height="{CELL}"'
            f' fill="{STYLE[shade]}"/>\n'
            f'<text class="number" x="{left + 3:g}" y="{top + 10:g}" font-size="9"'
            f' fill="{STYLE["number"]}">{square}</text>'
        )
    return "\n".join(parts)


def piece_shapes(letter: str) -> str:
    """Return the shapes of a piece, `b`, `w` or a king's capital, around the origin."""
    fill, line = PIECES[letter.lower()]
    corners = " L".join(f"{x},{y}" for x, y in CROWN)
    crown = f'<path class="crown" d="M{corners} Z" fill="{CROWN_FILL}"/>' if letter.isupper() else ""
    return (
        f'<circle class="disc" r="{RADIUS}" fill="{fill}" stroke="{line}" stroke-width="2"/>'
        f'<circle class="rim" r="{INNER_RADIUS}" fill="none" stroke="{line}"/>{crown}'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line with a triangle as its head."""
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - 12 * ux, y2 - 12 * uy
    head = (x2, y2), (bx - 6 * uy, by + 6 * ux), (bx + 6 * uy, by - 6 * ux)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    return (
        f'<g class="arrow" opacity="0.75"><line x1="{x1:.1f}" y1="{y1:.1f}" x2="{bx:.1f}" y2="{by:.1f}"'
        f' stroke="{STYLE["arrow"]}" stroke-width="4"/>'
        f'<polygon points="{points}" fill="{STYLE["arrow"]}"/></g>'
    )
