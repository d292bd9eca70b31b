"""Several lines of an engine that looks for the best move alone."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ckai.rl.engine.alphabeta import AlphaBetaEngine
from ckai.rl.engine.base import Engine, Stop
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import REVERSED, Line, SearchResult, Value

DEEP = 8
"""Plies up to which every move is searched; beyond, those that are among the best."""
SPARE = 2
"""Moves searched beyond the lines that are shown, so that a better one is noticed."""
MAX_DEPTH = 99


def search_lines(
    engine: Engine,
    game: Any,
    limit: Limit | None,
    lines: int,
    stop: Stop,
    on_result: Callable[[SearchResult], None] = lambda result: None,
) -> SearchResult:
    """Search for the best lines of a position, see `Engine.play`.

    Alpha-beta looks for the best move alone, so its other lines are searched depth by depth after each move.
    """
    moves = game.position.legal_moves()
    if not isinstance(engine, AlphaBetaEngine) or min(lines, len(moves)) == 1:
        return engine.play(game, limit, lines=lines, stop=stop, on_result=on_result)
    limit = limit or engine.limit or engine.default_limit
    begun, nodes = time.perf_counter(), 0
    result = engine.play(game, Limit(depth=1), stop=stop)
    found: dict[Any, Line] = {}

    def by_value(move: Any) -> float:
        return -float(found[move].value or 0.0) if move in found else -1.0

    for depth in range(1, (limit.depth or MAX_DEPTH) + 1):
        best = engine.play(game, Limit(depth=depth), stop=stop)
        done, nodes = {best.move: best.lines[0]}, nodes + best.nodes
        others = sorted((move for move in moves if move != best.move), key=by_value)
        for move in others if depth <= DEEP else others[: lines + SPARE - 1]:
            if depth > 1 and _over(stop, limit, begun):
                return result
            done[move], searched = _line_after(engine, game, move, depth - 1, stop)
            nodes += searched
        if depth > 1 and stop.is_set():
            return result
        found |= done
        shown = [found[best.move], *(found[move] for move in sorted(others, key=by_value)[: lines - 1])]
        result = replace(best, lines=shown, seconds=time.perf_counter() - begun, nodes=nodes)
        on_result(result)
        if best.proven or _over(stop, limit, begun):
            break
    return result


def _over(stop: Stop, limit: Limit, begun: float) -> bool:
    return stop.is_set() or (limit.seconds is not None and time.perf_counter() - begun >= limit.seconds)


def _line_after(engine: Engine, game: Any, move: Any, depth: int, stop: Stop) -> tuple[Line, int]:
    """Return the line that begins with a move, and the positions of its search."""
    turn = Value.at(game.position, 0.0).turn
    game.push(move)
    try:
        outcome = game.outcome()
        if outcome is not None:
            won = outcome.winner == turn
            value = Value(0.0 if outcome.winner is None else 1.0 if won else -1.0, turn)
            return Line(pv=[move], value=value, proven="win" if won else "draw", plies=int(won) or None), 0
        found = engine.play(game, Limit(depth=max(1, depth)), stop=stop)
    finally:
        game.pop()
    line = Line(
        pv=[move, *found.pv],
        value=Value(-float(found.value or 0.0), turn),
        proven=None if found.proven is None else REVERSED[found.proven],
        plies=None if found.plies is None else found.plies + 1,
    )
    return line, found.nodes
