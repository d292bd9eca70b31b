"""The page of an analysis: every game with its board, value curve, moves and critical positions."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from ckai.cli.pages.board import asset, definitions, diagram, letters, measures
from ckai.pdn import PdnGame
from ckai.rl.analysis.annotation import black_text, sentence, strip
from ckai.rl.analysis.report import SIGNS, GameReport, Grade, PlyReport, move_number
from ckai.rl.analysis.score import score_help
from ckai.rl.games.spec import GameSpec

CURVE_WIDTH, CURVE_HEIGHT = 600, 120
"""Of a value curve."""
_VERDICTS = {"win": "won", "draw": "drawn", "loss": "lost"}


class ReportPage:
    """Collects analysed games and writes them as one page without links to other files."""

    def __init__(self, spec: GameSpec, title: str, facts: Sequence[tuple[str, str]]) -> None:
        """Begin a page.

        Args:
            spec: the game, which has a `layout`.
            title: the heading.
            facts: names and values to print under it, such as the network and the settings.
        """
        assert spec.layout is not None, "a game whose board is drawn"
        self.spec, self.layout, self.title, self.facts = spec, spec.layout, title, facts
        self.games: list[dict[str, Any]] = []
        self._data: list[dict[str, Any]] = []

    def add(self, game: PdnGame, report: GameReport) -> None:
        """Add a game."""
        moves = [each.move for each in game.moves]
        positions = [game.start]
        for move in moves:
            positions.append(positions[-1].push(move))
        notes = [" ".join(each.comments) for each in strip(game).moves]
        paths = [list(self.spec.path(p, m)) for p, m in zip(positions, moves, strict=False)]
        pieces = [self.spec.pieces(position) for position in positions]
        critical = []
        lines: dict[int, list[list[Any]]] = {}
        for n in report.marked():
            ply = report.plies[n]
            line = self._line(positions[n], ply.line)
            lines[n + 1] = [[text, letters(self.layout, after), path] for text, path, after in line]
            critical.append(
                {
                    "ply": n + 1,
                    "number": move_number(report.plies, n),
                    "move": ply.move,
                    "sign": SIGNS[ply.grade] if ply.grade else "",
                    "grade": str(ply.grade),
                    "text": sentence(ply),
                    "line": " ".join(ply.line),
                    "diagram": diagram(
                        self.layout,
                        pieces[n],
                        [("played", paths[n]), ("best", line[0][1])],
                        title=f"Before {move_number(report.plies, n)} {ply.move}",
                    ),
                }
            )
        last = len(moves)
        self.games.append(
            {
                "number": len(self.games),
                "black": game.header("Black") or "?",
                "white": game.header("White") or "?",
                "result": report.result or "*",
                "event": " · ".join(filter(None, map(game.header, ("Event", "Site", "Date", "Round")))),
                "accuracy": [report.accuracy(side) for side in (True, False)],
                "marks": [[self._count(report, side, grade) for grade in Grade] for side in (True, False)],
                "theory": report.theory,
                "problem": "" if game.problem is None else str(game.problem),
                "moves": [
                    {
                        "ply": n + 1,
                        "number": move_number(report.plies, n) if ply.black or n == 0 else "",
                        "text": ply.move,
                        "grade": str(ply.grade or ""),
                        "sign": SIGNS[ply.grade] if ply.grade else "",
                    }
                    for n, ply in enumerate(report.plies)
                ],
                "critical": critical,
                "curve": self._curve(report),
                "board": diagram(
                    self.layout, pieces[last], title=f"Position after {last} plies", name="board"
                ),
            }
        )
        self._data.append(
            {
                "positions": [letters(self.layout, each) for each in pieces],
                "paths": [[], *paths],
                "texts": ["", *(_text(report, n, note) for n, note in enumerate(notes))],
                "lines": lines,
            }
        )

    def html(self, players: Sequence[Mapping[str, Any]]) -> str:
        """Return the page.

        Args:
            players: the rows of a `PlayerTable`.
        """
        environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.undefined = jinja2.StrictUndefined
        script = asset("board.js") + asset("report.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        return environment.from_string(asset("report.html")).render(
            title=self.title,
            score_help=score_help(),
            facts=self.facts,
            players=players,
            grades=[(str(grade), SIGNS[grade]) for grade in Grade],
            games=self.games,
            curve_width=CURVE_WIDTH,
            curve_height=CURVE_HEIGHT,
            definitions=definitions(self.layout),
            style=Markup("".join(map(asset, ("palette.css", "board.css", "report.css")))),
            script=Markup(script),
            script_hash=digest,
            data=_json({"measures": measures(self.layout), "games": self._data}),
        )

    def _line(self, position: Any, texts: Sequence[str]) -> list[tuple[str, list[int], dict[int, str]]]:
        """Text, squares and the pieces after each move of a line."""
        steps = []
        for text in texts:
            move = position.find_move(text)
            path = list(self.spec.path(position, move))
            position = position.push(move)
            steps.append((text, path, self.spec.pieces(position)))
        return steps

    def _count(self, report: GameReport, black: bool, grade: Grade) -> int:
        return sum(ply.black == black and ply.grade == grade for ply in report.plies)

    def _curve(self, report: GameReport) -> dict[str, Any]:
        """The value curve: the points of a line, and those of the marked moves."""
        points = report.curve()
        step = CURVE_WIDTH / max(1, len(points) - 1)
        dots = [(n * step, (1 - each) * CURVE_HEIGHT) for n, each in enumerate(points)]
        return {
            "line": " ".join(f"{x:.1f},{y:.1f}" for x, y in dots),
            "marks": [
                {
                    "x": round(dots[n + 1][0], 1),
                    "y": round(dots[n + 1][1], 1),
                    "grade": str(report.plies[n].grade),
                }
                for n in report.marked()
            ],
        }


def _text(report: GameReport, n: int, note: str) -> str:
    """What the page says under the board after move `n`."""
    ply: PlyReport = report.plies[n]
    sign = SIGNS[ply.grade] if ply.grade else ""
    points = black_text(ply.black_points)
    verdict = ""
    if ply.verdict is not None:
        side = "Black" if ply.black else "White"
        verdict = "Before it the tables say: "
        verdict += "drawn." if ply.verdict == "draw" else f"{_VERDICTS[ply.verdict]} for {side}."
    words = [f"{move_number(report.plies, n)} {ply.move}{sign}", points, sentence(ply), verdict, note]
    if ply.forced:
        words.insert(1, "(forced)")
    return " ".join(filter(None, words))


def _json(data: Any) -> Markup:
    """Data for a `<script>` element, which nothing in it can close."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
