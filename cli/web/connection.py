"""The WebSocket of a tab: what it asks for, and the answers: moves, lines, explanations, a look inside."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from starlette.websockets import WebSocket, WebSocketDisconnect

from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.puzzles import Judge, task
from ckai.cli.playing.saved import list_games, saved_games
from ckai.cli.playing.sides import choose_move
from ckai.cli.shared.output import error_text
from ckai.cli.web import files
from ckai.cli.web.rules import Asked, describe, look, played
from ckai.cli.web.server import KINDS, Search, Server
from ckai.rl.analysis import mistakes
from ckai.rl.analysis.report import expected_score
from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def answer(server: Server, asked: Asked, search: Search) -> dict[str, Any]:
    """Search, and return the last answer, see `describe`; also `text`, `resigns`, or what `_inside` adds."""
    spec, game = played(asked)
    if asked.kind not in ("explain", "learn") and (over := game.outcome()) is not None:
        raise ValueError(f"expected a position with a legal move, but the game is over: {over}")
    engine = server.engine(asked.engine, spec, search.tell)
    if asked.kind == "explain":
        if not asked.moves:
            raise ValueError("expected a move to explain, found the first position")
        move = game.pop()
        explainer = Explainer(spec, lambda game, lines: engine.play(game, lines=lines, stop=search.stop))
        return {"text": explainer.explain(game, move)}
    if asked.kind == "learn":
        return _learn(game, engine, asked, search)
    if asked.kind == "inside":
        return _inside(spec, game, engine, asked, search)
    if asked.kind == "play":
        search.tell({"begun": True})  # its clock does not run while it is loaded or waits for others
        left = asked.clock
        clock = None if left is None else Limit(clock=max(0.01, left), increment=asked.increment)
        try:
            result = choose_move(engine, game, clock, server.chance, search.stop)
        except ResignsError:
            return {"resigns": True}
        return describe(spec, game.position, result)

    def tell(result: Any) -> None:
        search.tell(describe(spec, game.position, result))

    limit = Limit(seconds=asked.seconds, visits=asked.visits)
    result = engine.play(game, limit, lines=asked.lines, stop=search.stop, on_result=tell)
    return describe(spec, game.position, result)


def _learn(game: Any, engine: Engine, asked: Asked, search: Search) -> dict[str, Any]:
    """Judge a move as the answer to a puzzle, and note the first one; without a move, show the solution.

    Returns:
        `right`, and sentences as `text`.
    """
    move = game.pop() if asked.moves else None
    wanted = game.position, asked.mistake
    puzzle = next((each for each in mistakes.load() if mistakes.key(each) == wanted), None)
    if puzzle is None:
        raise ValueError(f"{mistakes.MISTAKES}: expected this puzzle, found it no more; choose Next")
    judge = Judge(puzzle, lambda game: engine.play(game, stop=search.stop))
    right = move is not None and judge.right(move)
    text = judge.solution() if right or move is None else judge.refutation(move)
    if asked.first and not search.stop.is_set():
        mistakes.answer(puzzle, right)
    return {"right": right, "text": text}


def _puzzles() -> dict[str, Any]:
    """Return the puzzles `due`, how many are `known`, and the date on which the `next` one is due."""
    known = mistakes.load() if mistakes.MISTAKES.exists() else []
    due = [
        {
            "event": each.header("Event"),
            "start": DEFAULT_GAME.position_text(each.start),
            "mistake": str(mistakes.played(each).move),
            "task": task(each),
        }
        for each in known
        if mistakes.is_due(each)
    ]
    return {"due": due, "known": len(known), "next": mistakes.next_due(known)}


def _inside(spec: GameSpec, game: Any, engine: Engine, asked: Asked, search: Search) -> dict[str, Any]:
    """Return what a network sees of a position, and what a search with it makes of that.

    Returns:
        `priors` and `shares`, the probability of every move at first sight, and its share of the visits;
        `encoding` and `planes`, by name the values of the squares in order; `before`, the expected score of
        the first player at first sight.
    """
    import torch  # here, so that the page is served before it is loaded

    from ckai.models.checkpoint import load_network
    from ckai.models.inference.threads import one_torch_thread

    engine.new_game()
    result, position = engine.play(game, sims=asked.visits, stop=search.stop), game.position
    total = max(1, sum(result.visits.values()))
    found = describe(spec, position, result)
    found["priors"] = {str(move): prior for move, prior in result.priors.items()}
    found["shares"] = {str(move): number / total for move, number in result.visits.items()}
    network = load_network(asked.engine.partition("@")[0], spec.name)
    encoded = torch.from_numpy(spec.encoded(position)).unsqueeze(0)
    board, jumper = encoded[:, : spec.board_bytes], encoded[:, spec.board_bytes]
    clock = encoded[:, spec.board_bytes + 1].to(torch.int16)
    with torch.inference_mode(), one_torch_thread():
        planes = network.encode(board, jumper, clock, torch.float32)[0].flatten(1).numpy()
        before = expected_score(float(network(board, jumper, clock)[1][0]), black=position.black)
    names = network.encode.NAMES or [f"plane {n + 1}" for n in range(len(planes))]
    values = np.round(planes[:, np.argsort(spec.view(position))], 3).tolist()
    found["planes"] = dict(zip(names, values, strict=True))
    return found | {"encoding": network.encode.VERSION, "before": before}


EXPECTED_ERRORS = (ValueError, OSError, RuntimeError, NotImplementedError)
"""Errors that people can do something about; others are logged."""
_LOG = logging.getLogger("ckai.board")


def _players(server: Server) -> dict[str, Any]:
    """Return who can play and analyse; once that is known, load what the first analysis needs."""
    if "players" not in vars(server):  # later nobody waits for the search that runs
        server.searches.thread.submit(lambda: server.players).result()
        server.searches.thread.submit(server.engine, "", DEFAULT_GAME, dict)
    return {"players": [each._asdict() for each in server.players]}


REQUESTS: dict[str, Callable[..., dict[str, Any]]] = {
    "players": _players,
    "legal": lambda server, **place: look(*played(Asked(**place))),
    "save": lambda server, game, **file: {"name": files.save(**file)},
    "puzzles": lambda server: _puzzles(),
    "games": lambda server: {"rows": saved_games()},
    "game": lambda server, **which: files.saved_game(**which),
    "pdn": lambda server, text: {"rows": list_games(text.encode())},
    "read": lambda server, text: files.read_tree(text.encode()),
}
"""What answers each request that is no search; its arguments are the fields."""


class Connection:
    """Answers the messages of one WebSocket; a slow tab misses results between the newest ones.

    A message is a JSON object: `id`, `kind` and the fields of a request or of a search. Its answers have the
    `id` too, and the last one is `final`, maybe with an `error`. The kinds `now` and `stop` end the search
    with that id, with its result so far or without one.
    """

    def __init__(self, socket: WebSocket, server: Server) -> None:
        self._socket, self._server = socket, server
        self._searches: dict[int, Search] = {}
        self._news: dict[Any, dict[str, Any]] = {}
        """The newest answer to each message that has not been sent."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Serve the tab until it goes; then its searches end."""
        await self._socket.accept()
        writer = asyncio.create_task(self._write())
        try:
            while (frame := await self._socket.receive())["type"] != "websocket.disconnect":
                self._take(frame.get("text") or "")
        finally:
            writer.cancel()
            for search in self._searches.values():
                search.end(cancel=True)

    async def _write(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was sent
            while await self._changed.wait():
                self._changed.clear()
                while self._news:
                    number = next(iter(self._news))
                    await self._socket.send_text(json.dumps({"id": number, **self._news.pop(number)}))

    def _tell(self, number: Any, answer: dict[str, Any]) -> None:
        self._news[number] = answer
        self._changed.set()

    def _take(self, text: str) -> None:
        number = None
        try:
            fields = json.loads(text)
            number, kind = int(fields.pop("id")), str(fields.pop("kind"))
            if kind not in ("now", "stop"):
                self._begin(number, kind, fields).add_done_callback(partial(self._finish, number))
            elif search := self._searches.get(number):
                search.end(cancel=kind == "stop")
        except Exception as error:
            self._tell(number, {"error": refusal(error), "final": True})

    def _begin(self, number: int, kind: str, fields: dict[str, Any]) -> "asyncio.Future[Any]":
        server, loop = self._server, asyncio.get_running_loop()
        if kind in REQUESTS:
            return loop.run_in_executor(None, partial(REQUESTS[kind], server, **fields))
        if kind not in KINDS:
            raise ValueError(f"expected one of {', '.join((*REQUESTS, *KINDS))}, found {kind[:60]!r}")
        asked = Asked(kind=kind, **fields)

        def work(search: Search) -> Any:
            return answer(server, asked, search)

        def tell(answer: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(self._tell, number, answer)

        search = self._searches[number] = server.searches.submit(kind, work, tell)
        return search.found

    def _finish(self, number: int, found: "asyncio.Future[Any]") -> None:
        self._searches.pop(number, None)
        if not found.cancelled():
            error = found.exception()
            self._tell(number, ({"error": refusal(error)} if error else found.result()) | {"final": True})


def refusal(error: Any) -> str:
    """Return an error as one line."""
    if not isinstance(error, EXPECTED_ERRORS):
        _LOG.error("a request failed", exc_info=error)
    return error_text(error)
