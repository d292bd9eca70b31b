"""Boards as files: the positions of a game in which a move was marked, as SVG or PNG."""

import re
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any

from ckai.datasets.files import save_figure, write_whole
from ckai.game.svg import (
    CELL,
    CROWN,
    CROWN_FILL,
    INNER_RADIUS,
    MARGIN,
    PIECES,
    RADIUS,
    STYLE,
    Layout,
    arrow_points,
    arrow_svg,
    board_svg,
)
from ckai.pdn import PdnGame
from ckai.rl.analysis.grading import Grade
from ckai.rl.analysis.report import GameReport
from ckai.rl.analysis.theory import move_number
from ckai.rl.games.spec import GameSpec

PLAYED, BEST = "#c0392b", "#2e8b57"
"""Colours of the arrows along the move that was played and along the engine's move."""
DPI = 100
_NAME = re.compile(rf"game-\d{{3,}}-\d{{3,}}-({'|'.join(Grade)})\.(svg|png)")
SIZE = 4.8
"""Width of a picture in inches."""


def write_pictures(
    folder: Path, spec: GameSpec, game: PdnGame, report: GameReport, number: int, form: str
) -> list[Path]:
    """Write a picture of the position before each marked move: `game-001-012-mistake.svg`.

    Args:
        folder: the folder, made if missing.
        spec: the game, which has a `layout`.
        game: the moves.
        report: their report.
        number: 0-based number of the game, for the names of the files.
        form: `svg` or `png`.

    Returns:
        The pictures.

    Raises:
        WriteError: one cannot be written.
    """
    assert spec.layout is not None, "a game whose board is drawn"
    position = game.start
    written = []
    for n, each in enumerate(game.moves):
        ply = report.plies[n]
        if ply.grade is not None:
            best = spec.path(position, position.find_move(ply.best))
            arrows = [(PLAYED, spec.path(position, each.move)), (BEST, best)]
            path = folder / f"game-{number + 1:03d}-{n + 1:03d}-{ply.grade}.{form}"
            pieces = spec.pieces(position)
            if form == "png":
                save_figure(path, draw(spec.layout, pieces, arrows), DPI)
            else:
                title = f"{move_number(report.plies, n)} {ply.move}: better {ply.best}"
                write_whole(path, picture_svg(spec.layout, pieces, arrows, title) + "\n")
            written.append(path)
        position = position.push(each.move)
    return written


def remove_other_pictures(folder: Path, form: str, written: Collection[Path]) -> None:
    """Remove the pictures in a format of an earlier analysis, by their names, but those just written."""
    for path in folder.glob(f"game-*.{form}"):
        if path not in written and _NAME.fullmatch(path.name):
            path.unlink(missing_ok=True)


def picture_svg(
    layout: Layout, pieces: dict[int, str], arrows: list[tuple[str, tuple[int, ...]]], title: str
) -> str:
    """Return a board with coloured arrows as one `<svg>` element.

    Args:
        layout: the board.
        pieces: square -> letter, see `board_svg`.
        arrows: colours, each with the squares that the arrow goes along.
        title: text for screen readers.
    """
    shapes = [
        arrow_svg(layout, *pair).replace(STYLE["arrow"], color)
        for color, path in arrows
        for pair in pairwise(path)
    ]
    board = board_svg(pieces, layout=layout, title=title)
    return board.removesuffix("</svg>") + "\n".join([*shapes, "</svg>"])


def draw(layout: Layout, pieces: dict[int, str], arrows: list[tuple[str, tuple[int, ...]]]) -> Any:
    """Return the same board as a figure of matplotlib; see `picture_svg`."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Polygon, Rectangle

    figure = Figure((SIZE, SIZE * layout.height / layout.width))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    axes.axis("off")
    unit = 72 * SIZE / layout.width
    axes.add_patch(Rectangle((0, 0), layout.width, layout.height, color=STYLE["frame"], lw=0))
    inside = layout.columns * CELL, layout.rows * CELL
    axes.add_patch(Rectangle((MARGIN, MARGIN), *inside, color=STYLE["light"], lw=0))
    for square in sorted(layout.squares):
        x, y = layout.center(square)
        corner = x - CELL / 2, y - CELL / 2
        axes.add_patch(Rectangle(corner, CELL, CELL, facecolor=STYLE["dark"], lw=0))
        if layout.numbers:
            place = corner[0] + 3, corner[1] + 3
            axes.text(*place, str(square), fontsize=9 * unit, color=STYLE["number"], va="top")
    for square, letter in pieces.items():
        center = layout.center(square)
        fill, line = PIECES[letter.lower()]
        axes.add_patch(Circle(center, RADIUS, facecolor=fill, edgecolor=line, lw=2 * unit))
        axes.add_patch(Circle(center, INNER_RADIUS, facecolor="none", edgecolor=line, lw=unit))
        if letter.isupper():
            corners = [(center[0] + x, center[1] + y) for x, y in CROWN]
            axes.add_patch(Polygon(corners, facecolor=CROWN_FILL, lw=0))
    for color, path in arrows:
        for pair in pairwise(path):
            points = arrow_points(layout, *pair)
            if points is not None:
                (start, base, *head) = points
                axes.plot(*zip(start, base, strict=True), color=color, lw=4 * unit, alpha=0.75)
                axes.add_patch(Polygon(head, facecolor=color, lw=0, alpha=0.75))
    return figure
