"""What the page gets: games, positions, moves that it can show without rules, results of searches."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ckai.cli.pages.board import measures
from ckai.cli.playing.session import outcome_text, side_of
from ckai.rl.engine.score import expected_score
from ckai.rl.games.registry import DEFAULT_GAME, game_names, get_game
from ckai.rl.games.spec import GameSpec

Word = Annotated[str, Field(max_length=200)]


class Place(BaseModel):
    """A position of a game: its first one and the moves from there."""

    model_config = ConfigDict(strict=True, extra="forbid")
    game: Word = DEFAULT_GAME.name
    start: Annotated[str, Field(max_length=2000)] = ""
    """The first position as text; empty: the usual one."""
    pieces: dict[Annotated[str, Field(pattern="^[0-9]{1,4}$")], Literal["b", "w", "B", "W"]] | None = None
    """The first position as its pieces, in place of a text, with who is to move."""
    black: bool = True
    moves: Annotated[Sequence[Word], Field(max_length=5000)] = ()


class Asked(Place):
    """A search of the page."""

    kind: Literal["play", "ask", "analyse", "explain", "inside"]
    engine: Word = ""
    """Empty: the one that explains and judges."""
    lines: Annotated[int, Field(ge=1, le=10)] = 1
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    visits: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    clock: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Seconds left of the side to move."""
    increment: Annotated[float, Field(ge=0, le=1e6)] = 0.0


def drawn_games() -> dict[str, GameSpec]:
    """Return the games that say how they are drawn, by name."""
    specs = map(get_game, game_names())
    return {spec.name: spec for spec in specs if spec.layout is not None}


def game_of(spec: GameSpec) -> dict[str, Any]:
    """Return what the page needs to know of a game."""
    layout = spec.drawn_layout()
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
        "setup": type(spec).set_up is not GameSpec.set_up,
        "rules": spec == DEFAULT_GAME,
    }


def played(games: Mapping[str, GameSpec], at: Place) -> tuple[GameSpec, Any]:
    """Return the rules and the game of a place.

    Raises:
        ValueError: a game, a position or a move that is none; says what was expected.
    """
    spec = named(games, at.game)
    if at.pieces is not None:
        first = spec.set_up({int(square): piece for square, piece in at.pieces.items()}, black=at.black)
    else:
        first = spec.read_position(at.start) if at.start else None
    game = spec.game(first)
    for move in at.moves:
        game.push(spec.read_move(game.position, move))
    return spec, game


def named(games: Mapping[str, GameSpec], name: str) -> GameSpec:
    """Return a game by its name.

    Raises:
        ValueError: there is no such game.
    """
    if name not in games:
        raise ValueError(f"expected one of the games {', '.join(games)}, found {name[:60]!r}")
    return games[name]


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
        "notices": spec.notices(game),
    }


def step_of(spec: GameSpec, position: Any, move: Any) -> dict[str, Any]:
    """Return a legal move so that a page can show and animate it without the rules.

    Returns:
        `move`, its text; `path`, its squares in order; `captures`, the squares of captured pieces in order;
        `changes`, the pieces after it by square where they differ, empty for none; `crowned`.
    """
    path = spec.path(position, move)
    old, new = spec.pieces(position), spec.pieces(position.push(move))
    changed = [square for square in {**old, **new} if old.get(square) != new.get(square)]
    return {
        "move": str(move),
        "path": list(path),
        "captures": list(spec.captures(position, move)),
        "changes": {str(square): new.get(square, "") for square in sorted(changed)},
        "crowned": len(path) > 1 and old.get(path[0]) != new.get(path[-1]),
    }


def steps_of(spec: GameSpec, position: Any, line: Any) -> list[dict[str, Any]]:
    """Return a line of moves from a position, see `step_of`."""
    steps = []
    for move in line:
        steps.append(step_of(spec, position, move))
        position = position.push(move)
    return steps


def describe(spec: GameSpec, position: Any, result: Any, lines: int = 1) -> dict[str, Any]:
    """Return a result as the page gets it; values are expected scores of the first player."""
    shown = []
    for line in result.lines[:lines]:
        value = None if line.value is None else expected_score(line.value, black=position.black)
        shown.append({"value": value, "proven": line.proven, "plies": line.plies})
        shown[-1]["pv"] = steps_of(spec, position, line.pv)
    counts = {"visits": result.sims, "nodes": result.nodes, "depth": result.depth, "seconds": result.seconds}
    return {"lines": shown, **counts}
