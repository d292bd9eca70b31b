"""The board of a page: its shapes once, as definitions that diagrams and the script refer to.

Works for every game with a `GameSpec.layout`. `board.js` draws boards that move, `board.css` styles them,
`palette.css` has the colours; all are for every page with a board.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import pairwise

from markupsafe import Markup, escape

from ckai.game.svg import CELL, MARGIN, RADIUS, Layout, arrow_svg, piece_shapes, squares_svg

LETTERS = ("b", "B", "w", "W")


def asset(name: str) -> str:
    """Return the text of a file of the folder `static`."""
    return (files("ckai.cli.pages") / "static" / name).read_text(encoding="utf-8")


def definitions(layout: Layout | None = None) -> Markup:
    """Return a hidden `<svg>` that defines the pieces of every game, such as `#piece-b`, with a shade below.

    With a layout, it defines the empty board of diagrams, `#board`, too.
    """
    board = "" if layout is None else f'<g id="board">{squares_svg(layout)}</g>'
    shade = f'<circle class="shade" cy="1.8" r="{RADIUS}"/>'
    pieces = (
        f'<g id="piece-{letter}" class="piece {letter}">{shade}{piece_shapes(letter)}</g>'
        for letter in LETTERS
    )
    defined = f"<defs>{board}{''.join(pieces)}</defs>"
    return Markup(f'<svg class="definitions" width="0" height="0" aria-hidden="true">{defined}</svg>')


def diagram(
    layout: Layout,
    pieces: Mapping[int, str],
    arrows: Iterable[tuple[str, Iterable[int]]] = (),
    *,
    title: str = "",
    name: str = "diagram",
) -> Markup:
    """Return a board as an `<svg>` that refers to `definitions`.

    `pieces` are letters by square; `arrows` have a class, and the squares that they go along.
    """
    parts = [
        f'<svg class="{escape(name)}" viewBox="{MARGIN} {MARGIN}'
        f' {layout.width - 2 * MARGIN} {layout.height - 2 * MARGIN}" role="img"'
        f' aria-label="{escape(title)}"><use href="#board"/>'
    ]
    for square, letter in sorted(pieces.items()):
        x, y = layout.center(square)
        parts.append(f'<use href="#piece-{letter}" x="{x:g}" y="{y:g}"/>')
    for kind, path in arrows:
        parts += [arrow_svg(layout, *pair, name=f"arrow {kind}") for pair in pairwise(path)]
    return Markup("".join([*parts, "</svg>"]))


def letters(layout: Layout, pieces: Mapping[int, str]) -> str:
    """Return a position as one letter a square, `.` where it is empty: what `board.js` reads."""
    return "".join(pieces.get(square, ".") for square in sorted(layout.squares))


def measures(layout: Layout) -> dict[str, object]:
    """Return what `board.js` needs to draw a board, among it the centers of the squares by number."""
    return {
        "rows": layout.rows,
        "columns": layout.columns,
        "width": layout.width,
        "height": layout.height,
        "cell": CELL,
        "margin": MARGIN,
        "numbers": layout.numbers,
        "squares": {number: layout.center(number) for number in sorted(layout.squares)},
    }
