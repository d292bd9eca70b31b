"""Single questions to a search: a hint, the values of a game, what a move was worth, what experts played."""

import asyncio
from typing import Any

from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.opponent import Reply
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.state import points_of
from ckai.cli.web.tab_session import TabSession
from ckai.cli.web.table import ActionError
from ckai.cli.web.tree import Node, step_of

HINT_SECONDS = 0.7
"""Time of the search for a hint, and for the answer to a draw."""
EXPLAIN_VISITS = 400
CURVE_VISITS = 100
"""Visits of each position of a curve, if the page does not say how many."""
LOOK_VISITS = 800


def _require_moves(node: Node) -> None:
    if not node.position.legal_moves():
        raise ActionError("the game is over here")


async def judge(session: TabSession, node: Node) -> Any:
    """Return the result of a short search at a node.

    Raises:
        ActionError: the game is over there.
    """
    _require_moves(node)
    search, game = session.searcher(), session.table.tree.game(node)
    return await session.ask(lambda job: search(job, game, seconds=HINT_SECONDS))


async def hint(session: TabSession, node: Node) -> dict[str, Any]:
    """Return a good move at a node, see `ckai.cli.web.tree.step_of`, Black's expected points, and a text."""
    spec, result = session.table.spec, await judge(session, node)
    text = Reply(result.move, result).evaluation(spec.side_names)
    points = points_of(float(result.value), black=node.position.black)
    return step_of(spec, node.position, result.move) | {"black": points, "text": text}


async def curve(session: TabSession, nodes: list[Node], visits: int) -> None:
    """Search nodes one after the other and tell the tab their values while they come."""
    tree, search = session.table.tree, session.searcher()
    left = list(nodes)

    def work(job: Job) -> None:
        while left and not job.interrupted:
            node = left[0]
            outcome = tree.outcome(node)
            if outcome is None:
                result = search(job, tree.game(node), visits=visits)
                if job.interrupted:
                    return
                points = points_of(float(result.value), black=node.position.black)
            else:
                points = {"black": 1.0, "white": 0.0}.get(outcome.winner or "", 0.5)
            left.pop(0)
            session.server.call_soon_threadsafe(on_value, node, points, len(left))

    def on_value(node: Node, points: float, rest: int) -> None:
        node.black = points
        if session.table.tree is tree:
            session.push({"type": "values", "points": [{"node": node.id, "black": points}], "left": rest})

    try:
        await session.ask(work, Priority.CURVE, preemptible=True)
    except (ActionError, ValueError, OSError, RuntimeError) as error:
        if str(error) != "stopped":
            session.push({"type": "status", "text": str(error), "ready": True})
    if left:
        session.push({"type": "values", "points": [], "left": 0})


async def look(session: TabSession, node: Node, player: str | None, visits: int) -> dict[str, Any]:
    """Return what a network sees at a node, and how a search grows from it, see
    `ckai.cli.web.inside.look_inside`.

    Raises:
        ActionError: the game is over there, or there is no such network.
    """
    _require_moves(node)
    server, spec, name = session.server, session.table.spec, player or session.analyst
    game = session.table.tree.game(node)

    def work(job: Job) -> dict[str, Any]:
        from ckai.cli.web.inside import look_inside

        source, analyst = server.load_analyst(name, spec)
        seen = look_inside(spec, game, source, analyst, visits, job)
        return {"player": source, **seen}

    return {"node": node.id, "game": spec.name, **await session.ask(work)}


async def experts(session: TabSession, node: Node) -> dict[str, Any]:
    """Return what was played at a node in the data set at hand."""
    data, spec = session.server.experts, session.table.spec
    moves = node.position.legal_moves()
    if data is None or not spec.supports_experts or not moves:
        return {"source": None, "total": 0, "rows": []}
    found = await asyncio.to_thread(data.played, node.position.board, moves)
    rows = [
        {
            "move": str(each.moves[0]),
            "moves": [str(move) for move in each.moves],
            "times": each.times,
            "score": each.score,
        }
        for each in found
    ]
    return {"source": data.path.name, "total": sum(each.times for each in found), "rows": rows}


async def explain(session: TabSession, node: Node) -> dict[str, Any]:
    """Return lines of text about the move that led to a node.

    Raises:
        ActionError: there was no move.
    """
    table, search = session.table, session.searcher()
    spec, data = table.spec, session.server.experts
    if node.parent is None:
        raise ActionError("expected a move to explain, found the first position")
    game, move = table.tree.game(node.parent), node.move

    def work(job: Job) -> list[str]:
        def replied(game: Any, lines: int) -> Reply:
            if job.interrupted:
                raise ActionError("stopped")
            result = search(job, game, lines=lines, visits=EXPLAIN_VISITS)
            return Reply(result.move, result)

        return Explainer(spec, replied, data).explain(game, move)

    return {"lines": await session.ask(work)}
