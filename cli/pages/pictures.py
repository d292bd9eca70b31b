"""Boards as files: the positions of a game in which a move was marked, as SVG."""

import re
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path

from ckai.datasets.files import write_whole
from ckai.game.svg import STYLE, arrow_svg, board_svg
from ckai.pdn import PdnGame
from ckai.rl.analysis.report import GameReport, Grade, move_number
from ckai.rl.games.spec import GameSpec

PLAYED, BEST = "#c0392b", "#2e8b57"
"""Colours of the arrows along the move that was played and along the engine's move."""
_NAME = re.compile(rf"game-\d{{3,}}-\d{{3,}}-({'|'.join(Grade)})\.svg")


def write_pictures(
    folder: Path, spec: GameSpec, game: PdnGame, report: GameReport, number: int
) -> list[Path]:
    """Write a picture of the position before each marked move: `game-001-012-mistake.svg`.

    Args:
        folder: the folder, made if missing.
        spec: the game, which has a `layout`.
        game: the moves.
        report: their report.
        number: 0-based number of the game, for the names of the files.

    Returns:
        The pictures.

    Raises:
        WriteError: one cannot be written.
    """
    layout, position, written = spec.layout, game.start, []
    for n, (each, ply) in enumerate(zip(game.moves, report.plies, strict=True)):
        if ply.grade is not None:
            path = folder / f"game-{number + 1:03d}-{n + 1:03d}-{ply.grade}.svg"
            title = f"{move_number(report.plies, n)} {ply.move}: better {ply.best}"
            board = board_svg(spec.pieces(position), layout=layout, title=title)
            arrows = [
                arrow_svg(layout, *pair).replace(STYLE["arrow"], colour)
                for colour, move in ((PLAYED, each.move), (BEST, position.find_move(ply.best)))
                for pair in pairwise(spec.path(position, move))
            ]
            write_whole(path, board.removesuffix("</svg>") + "\n".join([*arrows, "</svg>", ""]))
            written.append(path)
        position = position.push(each.move)
    return written


def remove_other_pictures(folder: Path, written: Collection[Path]) -> None:
    """Remove the pictures of an earlier analysis, by their names, but those just written."""
    for path in folder.glob("game-*.svg"):
        if path not in written and _NAME.fullmatch(path.name):
            path.unlink(missing_ok=True)
