"""What the page gets: games, positions, moves that it can show without rules, results of searches."""

from typing import Any

from ckai.cli.pages.report import measures
from ckai.cli.playing.sides import outcome_text, side_of
from ckai.datasets.settings import setting, settings
from ckai.rl.analysis.report import expected_score
from ckai.rl.games.registry import DEFAULT_GAME, game_names, get_game
from ckai.rl.games.spec import GameSpec


@settings
class Asked:
    """A position, and what the page asks about it."""

    game: str = setting(default=DEFAULT_GAME.name, help="Its game")
    start: str = setting(default="", help="First position as text; empty: the usual one")
    pieces: dict[str, str] | None = setting(default=None, help="First position as its pieces, by square")
    black: bool = setting(default=True, help="Whether Black is to move there")
    moves: tuple[str, ...] = setting(default=(), help="Moves from there")
    kind: str = setting(default="", help="One of `KINDS` of searches")
    engine: str = setting(default="", help="Engine; empty: the one that explains and judges")
    lines: int = setting(default=1, ge=1, le=10, help="Lines")
    seconds: float | None = setting(default=None, gt=0, help="Time of the search")
    visits: int | None = setting(default=None, gt=0, help="Visits of the search")
    clock: float | None = setting(default=None, ge=0, help="Seconds left of the side to move")
    increment: float = setting(default=0.0, ge=0, help="Seconds added for each move")
    mistake: str = setting(default="", help="Mistake of the puzzle that a move answers")
    first: bool = setting(default=False, help="Whether this is the first answer, which counts")


def all_games() -> list[GameSpec]:
    """Return the games."""
    return [get_game(name) for name in game_names()]


def game_of(spec: GameSpec) -> dict[str, Any]:
    """Return what the page needs to know of a game."""
    layout = spec.layout
    return {
        "name": spec.name,
        "title": spec.title or spec.name,
        "sideNames": list(spec.side_names),
        "turnable": spec.turnable,
        "kings": spec.kings,
        "layout": measures(layout) | {"cells": layout.squares},
        "columnLabels": list(spec.column_labels),
        "columnMoves": spec.num_actions == layout.columns,
        "pieceLetters": dict(spec.piece_letters),
        "openings": {name: list(line) for name, line in spec.named_openings.items()},
        "rules": spec == DEFAULT_GAME,
    }


def played(asked: Asked) -> tuple[GameSpec, Any]:
    """Return the rules and the game of a position."""
    spec = get_game(asked.game)
    if asked.pieces is not None:
        first = spec.set_up({int(square): piece for square, piece in asked.pieces.items()}, black=asked.black)
    else:
        first = spec.read_position(asked.start) if asked.start else None
    game = spec.game(first)
    for move in asked.moves:
        game.push(spec.read_move(game.position, move))
    return spec, game


def look(spec: GameSpec, game: Any) -> dict[str, Any]:
    """Return what the page shows of the position of a game: text, pieces, legal moves, how the game ended."""
    position, outcome = game.position, game.outcome()
    over = outcome and {
        "text": outcome_text(outcome, spec),
        "result": outcome.result,
        "winner": outcome.winner,
    }
    return {
        "fen": spec.position_text(position),
        "turn": side_of(position),
        "pieces": spec.pieces(position),
        "legal": [] if over else [step_of(spec, position, move) for move in position.legal_moves()],
        "outcome": over,
    }


def step_of(spec: GameSpec, position: Any, move: Any) -> dict[str, Any]:
    """Return a legal move so that a page can show and animate it without the rules.

    Returns:
        `move`, its text; `path`, its squares in order; `changes`, the pieces after it by square where they
        differ, empty for none.
    """
    path = spec.path(position, move)
    old, new = spec.pieces(position), spec.pieces(position.push(move))
    changed = [square for square in {**old, **new} if old.get(square) != new.get(square)]
    return {
        "move": str(move),
        "path": list(path),
        "changes": {str(square): new.get(square, "") for square in sorted(changed)},
    }


def steps_of(spec: GameSpec, position: Any, line: Any) -> list[dict[str, Any]]:
    """Return a line of moves from a position, see `step_of`."""
    steps = []
    for move in line:
        steps.append(step_of(spec, position, move))
        position = position.push(move)
    return steps


def describe(spec: GameSpec, position: Any, result: Any) -> dict[str, Any]:
    """Return a result as the page gets it; values are expected scores of the first player."""
    shown = []
    for line in result.lines:
        value = None if line.value is None else expected_score(line.value, black=position.black)
        shown.append({"value": value, "proven": line.proven, "plies": line.plies})
        shown[-1]["pv"] = steps_of(spec, position, line.pv)
    counts = {"visits": result.sims, "nodes": result.nodes, "depth": result.depth, "seconds": result.seconds}
    return {"lines": shown, **counts}
