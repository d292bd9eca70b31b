"""The board of a page: its shapes once, as definitions that diagrams and the script refer to.

Works for every game with a `GameSpec.layout`. `board.js` moves the pieces, `board.css` has the colours; both
are for every page with a board.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import pairwise

from markupsafe import Markup, escape

from ckai.game.svg import Layout, arrow_svg, piece_shapes, squares_svg

LETTERS = ("b", "B", "w", "W")


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return (files("ckai.cli.pages") / name).read_text(encoding="utf-8")


def definitions(layout: Layout) -> Markup:
    """Return a hidden `<svg>` that defines `#board`, `#board-flipped` and a piece such as `#piece-b`."""
    boards = [
        f'<g id="{name}">{squares_svg(layout, flipped=flipped)}</g>'
        for name, flipped in (("board", False), ("board-flipped", True))
    ]
    pieces = [
        f'<g id="piece-{letter}" class="piece {letter}">{piece_shapes(letter)}</g>' for letter in LETTERS
    ]
    return Markup(
        f'<svg class="definitions" width="0" height="0" aria-hidden="true"><defs>{"".join(boards + pieces)}'
        "</defs></svg>"
    )


def diagram(
    layout: Layout,
    pieces: Mapping[int, str],
    arrows: Iterable[tuple[str, Iterable[int]]] = (),
    *,
    title: str = "",
    name: str = "diagram",
) -> Markup:
    """Return a board as an `<svg>` that refers to `definitions`.

    Args:
        layout: the board.
        pieces: square -> letter, see `ckai.game.svg.board_svg`.
        arrows: classes of arrows, each with the squares that it goes along.
        title: what it shows, for screen readers.
        name: the class of the element.
    """
    parts = [
        f'<svg class="{escape(name)}" viewBox="0 0 {layout.width} {layout.height}" role="img"'
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


def centers(layout: Layout) -> dict[str, object]:
    """Return the measures that `board.js` needs: size, and the centers of the squares by number."""
    numbers = sorted(layout.squares)
    return {"width": layout.width, "height": layout.height, "squares": {n: layout.center(n) for n in numbers}}
