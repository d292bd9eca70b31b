"""`ckai mcp`: tools for language models, so that none has to invent a move, by the Model Context Protocol."""

import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field, ValidationError

from ckai.cli.shared.output import error_text
from ckai.models.pretrained import CKAI

if TYPE_CHECKING:
    from ckai.game import Game
    from ckai.rl import Engine, SearchResult

MOST = 400
"""Most characters of an error."""
INSTRUCTIONS = (
    "Checkers is 8x8 English draughts here: squares 1 to 32, Black starts on 1 to 12 and moves first, "
    "captures are compulsory. Take moves from legal_moves and play them with make_move. No tool remembers "
    "anything: pass on the pdn of the last answer, or its fen, which knows no repetitions. Scores are what "
    "Black can expect: 1 Black wins, 0 White wins."
)
Place = Annotated[
    str, Field(description="A FEN, or a game as PDN, which stands for its last position; empty: the start")
]
Text = Annotated[str, Field(description="A legal move there, such as 11-15 or 22x15")]
Pdn = Annotated[str, Field(description="A game as PDN")]


class Tools:
    """The tools: each public method is one, and its docstring is what a model reads of it."""

    def __init__(self, load: "Callable[[], Engine]") -> None:
        self._engine, self._lock = cache(load), threading.Lock()

    def legal_moves(self, position: Place = "") -> dict[str, Any]:
        """List the legal moves of a position, and say whose turn it is or how the game ended."""
        return _look(_read(position))

    def make_move(self, move: Text, position: Place = "") -> dict[str, Any]:
        """Play a move; return the position after it as FEN, the game as PDN, and the legal replies."""
        game = _read(position)
        return {"move": str(game.push(move)), **_look(game)}

    def evaluate(self, position: Place = "", lines: Annotated[int, Field(ge=1, le=10)] = 3) -> dict[str, Any]:
        """Search a position for the best move, the score that Black can expect, and the best lines."""
        from ckai.cli.playing.explain import LINE_PLIES
        from ckai.rl.analysis.report import expected_score

        game = _read(position)
        result = self._search(game, lines)

        def score(value: float | None) -> float | None:
            return None if value is None else round(expected_score(value, black=game.position.black), 3)

        found = [
            {"moves": " ".join(map(str, line.pv[:LINE_PLIES])), "score": score(line.value)}
            for line in result.lines
        ]
        return {"best": str(result.move), "score": score(result.value), "lines": found, **_look(game)}

    def explain(self, move: Text, position: Place = "") -> str:
        """Explain a move in sentences: what it costs, what is better, threats and shots."""
        from ckai.cli.playing.explain import Explainer
        from ckai.rl.games.registry import DEFAULT_GAME

        game = _read(position)
        lines = Explainer(DEFAULT_GAME, self._search).explain(game, game.position.find_move(move))
        return "\n".join(lines or ["The engine has no values to explain it with."])

    def analyse(self, pdn: Pdn) -> dict[str, Any]:
        """Analyse a game: both accuracies in percent, and PDN with scores, mistakes and better lines."""
        from ckai.pdn import read_one, write_game
        from ckai.rl.analysis import Analyst, annotate
        from ckai.rl.evaluators.loading import load_evaluator

        game = read_one(pdn)
        with self._lock:
            engine = self._engine()
            analyst = Analyst(engine.evaluator or load_evaluator(CKAI))
            report = analyst.analyze(game.play(), game.result)
            analyst.close()
        found = {"black": report.accuracy(True), "white": report.accuracy(False)}
        accuracy = {side: each if each is None else round(each, 1) for side, each in found.items()}
        return {"accuracy": accuracy, "pdn": write_game(annotate(game, report, engine.name))}

    def board(self, position: Place = "") -> str:
        """Draw a position as SVG, with the last move of a game."""
        return _read(position)._repr_svg_()

    def _search(self, game: "Game", lines: int) -> "SearchResult":
        if (over := game.outcome()) is not None:
            raise ValueError(f"expected a game in progress, found one that is over: {over}")
        with self._lock:
            return self._engine().play(game, lines=lines)


def _read(text: str) -> "Game":
    """Return the game of a FEN or of PDN."""
    from ckai.game import Game, Position
    from ckai.game.text import FEN_TAG

    text = text.strip()
    tag = FEN_TAG.match(text)
    if text.lstrip("\"'")[:2].upper() in ("B:", "W:") or (tag and tag.end() == len(text)):
        return Game(Position.from_fen(text))
    return Game.from_pdn(text) if text else Game()


def _look(game: "Game") -> dict[str, Any]:
    outcome = game.outcome()
    return {
        "turn": str(game.turn),
        "legal_moves": [] if outcome else [str(move) for move in game.legal_moves()],
        "outcome": str(outcome) if outcome else None,
        "fen": game.position.fen,
        "pdn": game.to_pdn(),
    }


def make_server(load: "Callable[[], Engine]") -> Any:
    """Return a server of the official SDK that has the tools, see `Tools`.

    Raises:
        BackendError: the SDK is not installed.
    """
    from ckai.game.text import printable
    from ckai.models.inference.evaluator import import_extra

    sdk, errors = (import_extra(f"mcp.server.mcpserver{part}", "mcp") for part in ("", ".exceptions"))

    class Server(sdk.MCPServer):  # type: ignore[misc, name-defined]
        """Its errors are one line each."""

        async def call_tool(self, *given: Any, **named: Any) -> Any:
            try:
                return await super().call_tool(*given, **named)
            except errors.ToolError as error:
                text = error_text(cause := error.__cause__ or error)
                if isinstance(cause, ValidationError):
                    first = cause.errors()[0]
                    text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
                raise errors.ToolError(printable(text, MOST)) from None

    tools = Tools(load)
    server = Server("ckai", version=version("ckai"), instructions=INSTRUCTIONS, log_level="ERROR")
    for tool in (tools.legal_moves, tools.make_move, tools.evaluate, tools.analyse):
        server.add_tool(tool)
    for text in (tools.explain, tools.board):
        server.add_tool(text, structured_output=False)
    return server


@click.command("mcp")
def command() -> None:
    """Serve language models by the Model Context Protocol (MCP) on standard input and output.

    Its tools list legal moves, make a move, evaluate a position, explain a move, analyse a game and draw the
    board. They search by alpha-beta with the installed network, for a second. Add the command `ckai mcp` to
    a client.
    """
    from ckai.cli.playing.sides import judge_of, load_engine
    from ckai.rl.games.registry import DEFAULT_GAME

    server = make_server(lambda: load_engine(judge_of(DEFAULT_GAME), DEFAULT_GAME))
    if sys.stdin.isatty():
        click.echo("waiting for a client on standard input; Ctrl-C ends", err=True)
    server.run()
