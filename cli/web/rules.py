"""What the page gets: games, positions, moves that it can show without rules, results of searches."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ckai.cli.pages.board import measures
from ckai.cli.playing.session import outcome_text, side_of
from ckai.rl.engine.score import expected_score
from ckai.rl.games.registry import DEFAULT_GAME, game_names, get_game
from ckai.rl.games.spec import GameSpec

DIGITS = 4
"""Of values and shares."""
Text = Annotated[str, Field(max_length=2000)]
Word = Annotated[str, Field(max_length=200)]


class Placed(BaseModel):
    """A position as its pieces."""

    model_config = ConfigDict(strict=True, extra="forbid")
    pieces: Annotated[
        dict[Annotated[str, Field(pattern="^[0-9]{1,4}$")], Literal["b", "w", "B", "W"]],
        Field(max_length=1000),
    ]
    turn: Literal["black", "white"]


Start = Placed | Text
Moves = Annotated[Sequence[Word], Field(max_length=5000)]


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


def played(spec: GameSpec, start: Start, moves: Sequence[str]) -> Any:
    """Return a game.

    Args:
        spec: its rules.
        start: the first position as text or as pieces; empty: the usual one.
        moves: as texts.

    Raises:
        ValueError: a position or a move that the rules exclude; says what was expected.
    """
    if isinstance(start, Placed):
        pieces = {int(square): piece for square, piece in start.pieces.items()}
        first = spec.set_up(pieces, black=start.turn == "black")
    else:
        first = spec.read_position(start) if start else None
    game = spec.game(first)
    for move in moves:
        game.push(spec.read_move(game.position, move))
    return game


def look(spec: GameSpec, game: Any) -> dict[str, Any]:
    """Return what the page shows of the position of a game: text, pieces, legal moves, how the game ended."""
    position, outcome = game.position, game.outcome()
    return {
        "fen": spec.position_text(position),
        "turn": side_of(position),
        "pieces": spec.pieces(position),
        "legal": [] if outcome else [step_of(spec, position, move) for move in position.legal_moves()],
        "outcome": None
        if outcome is None
        else {"text": outcome_text(outcome, spec), "result": outcome.result, "winner": outcome.winner},
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


def describe(spec: GameSpec, position: Any, result: Any, lines: int) -> dict[str, Any]:
    """Return a result as the page gets it; values are expected scores of the first player."""

    def score(value: float | None) -> float | None:
        return None if value is None else round(expected_score(value, black=position.black), DIGITS)

    return {
        "move": str(result.move),
        "value": score(result.value),
        "visits": result.sims,
        "nodes": result.nodes,
        "depth": result.depth,
        "seconds": round(result.seconds, 3),
        "lines": [
            {
                "value": score(line.value),
                "proven": line.proven,
                "plies": line.plies,
                "pv": steps_of(spec, position, line.pv),
            }
            for line in result.lines[:lines]
        ],
        "priors": [
            {"move": str(move), "prior": round(result.priors[move], DIGITS), "visits": visits}
            for move, visits in result.visits.items()
        ],
    }
