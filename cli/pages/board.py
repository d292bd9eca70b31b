"""What the boards of pages share: files, the shapes of the pieces, measures; for every game.

`board.js` draws boards, `board.css` styles them, `palette.css` has the colours.
"""

from collections.abc import Mapping
from importlib.resources import files

from markupsafe import Markup

from ckai.game.svg import CELL, MARGIN, RADIUS, Layout, piece_shapes

LETTERS = ("b", "B", "w", "W")


def asset(name: str) -> str:
    """Return the text of a file of the folder `static`."""
    return (files("ckai.cli.pages") / "static" / name).read_text(encoding="utf-8")


def definitions() -> Markup:
    """Return a hidden `<svg>` that defines the pieces of every game, such as `#piece-b`, with a shade."""
    shade = f'<circle class="shade" cy="1.8" r="{RADIUS}"/>'
    pieces = (
        f'<g id="piece-{letter}" class="piece {letter}">{shade}{piece_shapes(letter)}</g>'
        for letter in LETTERS
    )
    shapes = f"<defs>{''.join(pieces)}</defs>"
    return Markup(f'<svg class="definitions" width="0" height="0" aria-hidden="true">{shapes}</svg>')


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
