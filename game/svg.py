"""A board as SVG, without dependencies: for notebooks, web pages and reports."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from ckai.game.squares import SQUARES, file_of

_CELL = 45
_MARGIN = 12
_WIDTH = 8 * _CELL + 2 * _MARGIN
_STYLE = {
    "frame": "#3d2b1f",
    "light": "#f0d9b5",
    "dark": "#8a6d4f",
    "last": "#b5a642",
    "highlight": "#6f9a5b",
    "number": "#e8d8c0",
    "arrow": "#1f6fb2",
}
_PIECES = {"b": ("#2b2b2b", "#8c8c8c"), "w": ("#f7f3e8", "#9c8f7a")}
_CROWN = "M-9,6 L-11,-6 L-5,-1 L0,-9 L5,-1 L11,-6 L9,6 Z"


def board_svg(
    pieces: Mapping[int, str],
    *,
    size: int = 400,
    flipped: bool = False,
    last_move: Sequence[int] = (),
    highlight: Collection[int] = (),
    arrows: Iterable[tuple[int, int]] = (),
    numbers: bool = True,
    title: str = "",
) -> str:
    """Draw a board.

    Args:
        pieces: PDN square 1..32 -> `b`, `B`, `w` or `W` (capitals are kings).
        size: width and height in pixels.
        flipped: draw Black at the bottom instead of White.
        last_move: PDN squares of a move, first to last: shaded, with an arrow along them.
        highlight: PDN squares to shade.
        arrows: pairs of PDN squares (from, to).
        numbers: print the number of each square.
        title: text for screen readers and tooltips.

    Returns:
        One `<svg>` element. Each piece is a `<g>` of class "piece" with its letter in `data-piece` and its
        square in `data-square`.

    Raises:
        ValueError: for a square outside 1..32, an unknown piece or a size below 1.
    """
    arrows = list(arrows)
    if not size >= 1:
        raise ValueError(f"expected a size >= 1, found {size}")
    for square in [*pieces, *last_move, *highlight, *(end for arrow in arrows for end in arrow)]:
        if not 1 <= square <= SQUARES:
            raise ValueError(f"expected a square from 1 to {SQUARES}, found {square}")
    for letter in pieces.values():
        if letter not in ("b", "B", "w", "W"):
            raise ValueError(f"expected a piece of b, B, w, W, found {letter!r}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_WIDTH}"'
        f' width="{size}" height="{size}" font-family="sans-serif">',
        *([f"<title>{_escape(title)}</title>"] if title else []),
        f'<rect width="{_WIDTH}" height="{_WIDTH}" fill="{_STYLE["frame"]}"/>',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{8 * _CELL}" height="{8 * _CELL}"'
        f' fill="{_STYLE["light"]}"/>',
    ]
    for square in range(1, SQUARES + 1):
        x, y = _center(square, flipped)
        shade = "highlight" if square in highlight else "last" if square in last_move else "dark"
        left, top = x - _CELL / 2, y - _CELL / 2
        parts.append(
            f'<rect class="square {shade}" x="{left:g}" y="{top:g}" width="{_CELL}" height="{_CELL}"'
            f' fill="{_STYLE[shade]}"/>'
        )
        if numbers:
            parts.append(
                f'<text x="{left + 3:g}" y="{top + 10:g}" font-size="9"'
                f' fill="{_STYLE["number"]}">{square}</text>'
            )
    parts += [_piece(pieces[square], square, flipped) for square in sorted(pieces)]
    parts += [_arrow(*pair, flipped) for pair in [*itertools.pairwise(last_move), *arrows]]
    return "\n".join([*parts, "</svg>"])


def _center(square: int, flipped: bool) -> tuple[float, float]:
    row, file = (square - 1) // 4, file_of(square - 1)
    if flipped:
        row, file = 7 - row, 7 - file
    return _MARGIN + (file + 0.5) * _CELL, _MARGIN + (row + 0.5) * _CELL


def _piece(letter: str, square: int, flipped: bool) -> str:
    x, y = _center(square, flipped)
    fill, line = _PIECES[letter.lower()]
    crown = f'<path d="{_CROWN}" fill="#d4a017"/>' if letter.isupper() else ""
    return (
        f'<g class="piece" data-piece="{letter}" data-square="{square}" transform="translate({x:g},{y:g})">'
        f'<circle r="17" fill="{fill}" stroke="{line}" stroke-width="2"/>'
        f'<circle r="12" fill="none" stroke="{line}"/>{crown}</g>'
    )


def _arrow(start: int, end: int, flipped: bool) -> str:
    """A line with a triangle as its head; the head ends at the center of the square."""
    (x1, y1), (x2, y2) = _center(start, flipped), _center(end, flipped)
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    if length == 0:
        return ""
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - 12 * ux, y2 - 12 * uy
    head = f"{x2:.1f},{y2:.1f} {bx - 6 * uy:.1f},{by + 6 * ux:.1f} {bx + 6 * uy:.1f},{by - 6 * ux:.1f}"
    color = _STYLE["arrow"]
    return (
        f'<g class="arrow" opacity="0.75"><line x1="{x1:.1f}" y1="{y1:.1f}" x2="{bx:.1f}" y2="{by:.1f}"'
        f' stroke="{color}" stroke-width="4"/><polygon points="{head}" fill="{color}"/></g>'
    )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
