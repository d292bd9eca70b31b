"""What the page is sent of a table and of the games."""

from typing import Any

from ckai.cli.pages.board import measures
from ckai.cli.playing.session import SIDES, Side, outcome_text, side_of
from ckai.cli.shared.output import count_text
from ckai.cli.web.pdn_tree import annotates
from ckai.cli.web.table import PLAY, Table
from ckai.cli.web.tree import step_of, steps_of
from ckai.datasets.tables import Tables
from ckai.rl.games.registry import game_names, get_game
from ckai.rl.games.spec import GameSpec

CONTROLS = ("", "1m+1s", "3m+2s", "5m+3s", "10m+5s")
"""Time controls that the page offers; the first is none."""
POINTS_DIGITS = 4


def drawn_games() -> list[GameSpec]:
    """Return the games that say how they are drawn."""
    return [spec for spec in map(get_game, game_names()) if spec.layout is not None]


def game_of(spec: GameSpec) -> dict[str, Any]:
    """Return what the page needs to know of a game."""
    layout, first = spec.drawn_layout(), spec.position()
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
        "openings": [{"name": name, "moves": " ".join(line)} for name, line in spec.named_openings.items()],
        "start": {"pieces": spec.pieces(first), "fen": spec.position_text(first), "turn": side_of(first)},
        "abilities": {"setup": _overrides(spec, "set_up"), "annotations": annotates(spec)},
    }


def _overrides(spec: GameSpec, name: str) -> bool:
    return getattr(type(spec), name) is not getattr(GameSpec, name)


def state_of(
    table: Table, tables: Tables | None, *, thinking: Side | None, analyse: dict[str, Any], nodes: bool
) -> dict[str, Any]:
    """Return all that the page shows of a table.

    Args:
        table: the table.
        tables: tablebases of its game, if any.
        thinking: the side whose player searches for its move, if any.
        analyse: what is analysed, and whether.
        nodes: whether to send the nodes of the tree; they are the larger part.
    """
    spec, node = table.spec, table.shown
    game = table.tree.game(node)
    over = table.tree.outcome(node) is not None
    outcome = table.outcome() if table.mode == PLAY else table.tree.outcome(node)
    moves = node.position.legal_moves()
    may_play = table.mode != PLAY or (
        outcome is None and node is table.current and table.seats[table.side].human
    )
    pieces = spec.pieces(node.position)
    return {
        "type": "state",
        "game": spec.name,
        "mode": table.mode,
        "tree": table.tree.key,
        "nodes": table.tree.plain() if nodes else None,
        "start": {
            "pieces": spec.pieces(table.tree.root.position),
            "fen": spec.position_text(table.tree.root.position),
        },
        "node": node.id,
        "current": table.current.id if table.mode == PLAY else node.id,
        "line": [each.id for each in [*node.path()[:-1], *_onwards(table)]],
        "turn": side_of(node.position),
        "pieces": pieces,
        "fen": spec.position_text(node.position),
        "legal": [step_of(spec, node.position, move) for move in moves] if may_play and not over else [],
        "outcome": None
        if outcome is None
        else {
            "text": outcome_text(outcome, spec),
            "result": outcome.result,
            "winner": outcome.winner,
            "reason": str(outcome.reason),
        },
        "result": table.result,
        "verdict": verdict_of(spec, tables, node.position),
        "notices": spec.notices(game),
        "opening": spec.opening_name(game),
        "players": {
            side: {"spec": seat.spec, "name": seat.name, "human": seat.human}
            for side, seat in table.seats.items()
        },
        "clocks": _clocks(table),
        "thinking": thinking,
        "resumable": table.resumable,
        "canUndo": table.can_undo,
        "canRedo": table.can_redo,
        "analyse": analyse,
        "headers": [list(pair) for pair in table.headers],
        "file": None
        if table.file is None
        else dict(zip(("name", "index", "count"), table.file, strict=True)),
        "saved": table.saved,
        "problem": table.problem or table.trouble or None,
    }


def _onwards(table: Table) -> list[Any]:
    """Return the node shown and those of the main continuation from it; in a game, up to its end."""
    nodes = [table.shown]
    while nodes[-1].children and not (table.mode == PLAY and nodes[-1] is table.current):
        nodes.append(nodes[-1].children[0])
    return nodes


def verdict_of(spec: GameSpec, tables: Tables | None, position: Any) -> dict[str, Any] | None:
    """Return what the tablebases say of a position, None where they do not have it."""
    if tables is None or not spec.supports_tables or not tables.knows(position):
        return None
    found = tables.probe(position)
    if found.value == "draw":
        return {"black": 0.5, "text": "drawn"}
    mover_wins = found.value == "win"
    first, second = spec.side_names
    black_wins = mover_wins == position.black
    length = count_text(found.plies or 0, "ply", "plies")
    return {"black": float(black_wins), "text": f"{first if black_wins else second} wins in {length}"}


def _clocks(table: Table) -> dict[str, Any] | None:
    clock = table.clock
    if clock is None:
        return None
    black, white = (round(max(0.0, clock.left(side)), 2) for side in SIDES)
    return {"control": table.control, "black": black, "white": white, "running": running_side(table)}


def running_side(table: Table) -> Side | None:
    """Return the side whose clock runs."""
    if table.clock is None:
        return None
    return next((side for side in SIDES if table.clock.sides[side].running), None)


def points_of(value: float, *, black: bool) -> float:
    """Return the expected points of Black, [0, 1], of a value in [-1, 1] for the side to move."""
    return round((1 + (value if black else -value)) / 2, POINTS_DIGITS)


def search_of(spec: GameSpec, position: Any, result: Any, lines: int) -> dict[str, Any]:
    """Return the result of a search as the page gets it.

    Args:
        spec: the game.
        position: the position searched.
        result: a `ckai.rl.engine.SearchResult`.
        lines: most lines to tell.
    """
    turn = position.black
    return {
        "visits": result.sims,
        "seconds": round(result.seconds, 3),
        "value": round(float(result.value), POINTS_DIGITS),
        "black": points_of(float(result.value), black=turn),
        "depth": result.depth,
        "proven": result.proven,
        "plies": result.plies,
        "lines": [_line(spec, position, line) for line in result.lines[:lines]],
        "priors": [
            {
                "move": str(move),
                "path": list(spec.path(position, move)),
                "prior": round(result.priors[move], POINTS_DIGITS),
                "visits": visits,
            }
            for move, visits in result.visits.items()
        ],
    }


def _line(spec: GameSpec, position: Any, line: Any) -> dict[str, Any]:
    value = None if line.value is None else round(float(line.value), POINTS_DIGITS)
    return {
        "move": str(line.move),
        "visits": line.visits,
        "prior": round(line.prior, POINTS_DIGITS),
        "value": value,
        "black": None if value is None else points_of(value, black=position.black),
        "proven": line.proven,
        "plies": line.plies,
        "pv": steps_of(spec, position, line.pv),
    }
