"""The page of an analysis: every game with its board, value curve, moves and critical positions.

Boards of all pages share files: `board.js` draws, `board.css` styles, `palette.css` has the colours.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from ckai.game.svg import CELL, MARGIN, RADIUS, Layout, piece_shapes
from ckai.pdn import PdnGame
from ckai.rl.analysis.annotation import black_text, sentence, strip
from ckai.rl.analysis.report import SIGNS, GameReport, Grade, move_number, score_help
from ckai.rl.games.spec import GameSpec

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


CURVE_WIDTH, CURVE_HEIGHT = 600, 120
"""Of a value curve."""
_VERDICTS = {"win": "won", "draw": "drawn", "loss": "lost"}


class ReportPage:
    """Collects analysed games and writes them as one page without links to other files.

    `facts` are names and values to print under the title, such as the network and the settings.
    """

    def __init__(self, spec: GameSpec, title: str, facts: Sequence[tuple[str, str]]) -> None:
        self.spec, self.title, self.facts = spec, title, facts
        self.games: list[dict[str, Any]] = []
        self._data: list[dict[str, Any]] = []

    def add(self, game: PdnGame, report: GameReport) -> None:
        """Add a game."""
        layout, positions = self.spec.layout, game.play().positions
        notes = [" ".join(each.comments) for each in strip(game).moves]
        paths = [list(self.spec.path(p, each.move)) for p, each in zip(positions, game.moves, strict=False)]
        pieces = [self.spec.pieces(position) for position in positions]
        listed, critical = [], []
        lines: dict[int, list[list[Any]]] = {}
        for n, ply in enumerate(report.plies):
            number, sign = move_number(report.plies, n), SIGNS[ply.grade] if ply.grade else ""
            shown = {"ply": n + 1, "move": ply.move, "grade": str(ply.grade or ""), "sign": sign}
            listed.append(shown | {"number": number if ply.black or n == 0 else ""})
            if ply.grade is None:
                continue
            lines[n + 1] = self._line(positions[n], ply.line)
            told = {"number": number, "text": sentence(ply), "line": " ".join(ply.line)}
            critical.append(shown | told)
        marks = [[sum(ply.black == side and ply.grade == g for ply in report.plies) for g in Grade]
                 for side in (True, False)]  # fmt: skip
        self.games.append(
            {
                "number": len(self.games),
                "black": game.header("Black") or "?",
                "white": game.header("White") or "?",
                "result": report.result or "*",
                "event": " · ".join(filter(None, map(game.header, ("Event", "Site", "Date", "Round")))),
                "accuracy": [report.accuracy(side) for side in (True, False)],
                "marks": marks,
                "theory": report.theory,
                "problem": "" if game.problem is None else str(game.problem),
                "moves": listed,
                "critical": critical,
                "curve": _curve(report),
            }
        )
        self._data.append(
            {
                "positions": [letters(layout, each) for each in pieces],
                "paths": [[], *paths],
                "texts": ["", *(_text(report, n, note) for n, note in enumerate(notes))],
                "lines": lines,
            }
        )

    def html(self, players: Sequence[Mapping[str, Any]]) -> str:
        """Return the page; `players` are from `player_rows`."""
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
            definitions=definitions(),
            style=Markup("".join(map(asset, ("palette.css", "board.css", "report.css")))),
            script=Markup(script),
            script_hash=digest,
            data=_json({"measures": measures(self.spec.layout), "games": self._data}),
        )

    def _line(self, position: Any, texts: Sequence[str]) -> list[list[Any]]:
        """Text, letters of the position after it and squares of each move of a line."""
        steps = []
        for text in texts:
            move = position.find_move(text)
            path = list(self.spec.path(position, move))
            position = position.push(move)
            steps.append([text, letters(self.spec.layout, self.spec.pieces(position)), path])
        return steps


def _curve(report: GameReport) -> dict[str, Any]:
    """The value curve: the points of a line, and those of the marked moves."""
    points = report.curve()
    step = CURVE_WIDTH / max(1, len(points) - 1)
    dots = [(round(n * step, 1), round((1 - each) * CURVE_HEIGHT, 1)) for n, each in enumerate(points)]
    marks = [(*dots[n + 1], str(report.plies[n].grade)) for n in report.marked()]
    return {
        "line": " ".join(f"{x:.1f},{y:.1f}" for x, y in dots),
        "marks": [{"x": x, "y": y, "grade": grade} for x, y, grade in marks],
    }


def _text(report: GameReport, n: int, note: str) -> str:
    """What the page says under the board after move `n`."""
    ply = report.plies[n]
    verdict = ""
    if ply.verdict is not None:
        side = "" if ply.verdict == "draw" else f" for {'Black' if ply.black else 'White'}"
        verdict = f"Before it the tables say: {_VERDICTS[ply.verdict]}{side}."
    words = [f"{move_number(report.plies, n)} {ply.move}{SIGNS[ply.grade] if ply.grade else ''}"]
    words += ["(forced)" if ply.forced else "", black_text(ply.black_points), sentence(ply), verdict, note]
    return " ".join(filter(None, words))


def _json(data: Any) -> Markup:
    """Data for a `<script>` element, which nothing in it can close."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
