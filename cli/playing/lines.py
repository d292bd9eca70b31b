"""Several lines of an engine that looks for the best move alone."""

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
    most = limit.depth or MAX_DEPTH
    found: dict[Any, Line] = {}
    seconds, nodes = 0.0, 0
    result = engine.play(game, Limit(depth=1), stop=stop)
    for depth in range(1, most + 1):
        best = engine.play(game, Limit(depth=depth), stop=stop)
        seconds, nodes = seconds + best.seconds, nodes + best.nodes
        order = sorted(moves, key=lambda move: -found[move].value if move in found else 1.0)  # type: ignore[operator]
        order.sort(key=lambda move: move != best.move)
        done = {best.move: best.lines[0]}
        for move in order[1:] if depth <= DEEP else order[1 : lines + SPARE]:
            over = stop.is_set() or (limit.seconds is not None and seconds >= limit.seconds)
            if over:
                break
            done[move], taken, visited = _line_after(engine, game, move, depth - 1, stop)
            seconds, nodes = seconds + taken, nodes + visited
        else:
            over = False
        if over or (stop.is_set() and depth > 1):
            break
        found |= done
        others = sorted((found[move] for move in moves if move != best.move), key=_worth)
        result = replace(best, lines=[found[best.move], *others[: lines - 1]], seconds=seconds, nodes=nodes)
        on_result(result)
        if best.proven or (limit.seconds is not None and seconds >= limit.seconds):
            break
    return result


def _worth(line: Line) -> float:
    return -float(line.value or 0.0)


def _line_after(engine: Engine, game: Any, move: Any, depth: int, stop: Stop) -> tuple[Line, float, int]:
    """Return the line that begins with a move, with the seconds and positions of its search."""
    turn = Value.at(game.position, 0.0).turn
    game.push(move)
    try:
        outcome = game.outcome()
        if outcome is not None:
            value = 0.0 if outcome.winner is None else 1.0 if outcome.winner == turn else -1.0
            proven, plies = ("win", 1) if value > 0 else ("draw", None)
            return Line(pv=[move], value=Value(value, turn), proven=proven, plies=plies), 0.0, 0  # type: ignore[arg-type]
        found = engine.play(game, Limit(depth=max(1, depth)), stop=stop)
    finally:
        game.pop()
    line = Line(
        pv=[move, *found.pv],
        value=Value(-float(found.value or 0.0), turn),
        proven=None if found.proven is None else REVERSED[found.proven],
        plies=None if found.plies is None else found.plies + 1,
    )
    return line, found.seconds, found.nodes
