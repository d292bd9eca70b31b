"""What the requests of all tabs share: the games, the engines, the one search."""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from ckai.cli.playing.sides import judge_of, load_engine
from ckai.cli.shared.found import NO_NETWORK, networks_in, short_name
from ckai.cli.web.rules import all_games
from ckai.models.pretrained import CKAI, SMALL
from ckai.rl.engine.base import Engine, Stop
from ckai.rl.engine.limit import FULL_STRENGTH_SECONDS, LEVEL, EngineText
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

KINDS = ("play", "ask", "explain", "learn", "inside", "analyse")
"""Kinds of searches: what goes first. An analysis gives way to everything, also to a newer one."""


class Player(NamedTuple):
    """Somebody to play against or to analyse with, as the page gets it."""

    game: str
    spec: str
    """The text of an engine, see `Engine.load`."""
    name: str
    group: str
    note: str = ""
    level: int | None = None


@dataclass(order=True)
class Search:
    """A search that waits for its turn, runs or has ended."""

    order: tuple[int, int]
    """Of two searches the lower one goes first."""
    work: Callable[["Search"], Any] = field(compare=False)
    """Searches with `stop`, in the thread of searches; an analysis that is `interrupted` is called again."""
    tell: Callable[[dict[str, Any]], Any] = field(compare=False)
    """Takes an answer before the last one; may be called from any thread."""
    found: "asyncio.Future[Any]" = field(compare=False)
    """What `work` returns in the end, or its error; cancelled if nobody wants it any more."""
    stop: Stop = field(compare=False, default_factory=Stop)
    interrupted: bool = field(compare=False, default=False)

    def end(self, *, cancel: bool = False) -> None:
        """End the search soon, with its result so far or without one."""
        if cancel:
            self.found.cancel()
        with suppress(Exception):  # of a program that has died: its search ends with that error
            self.stop.set()


class Searches:
    """Runs searches one at a time in `thread`; its methods are for the thread of the server."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "ckai-board-search")
        self._numbers = count()
        self._waiting: asyncio.PriorityQueue[Search] = asyncio.PriorityQueue()
        self._running: Search | None = None

    def submit(self, kind: str, work: Callable[[Search], Any], tell: Callable[..., Any]) -> Search:
        """Put a search in its place; an analysis that runs gives way to it."""
        last, number = KINDS[-1], next(self._numbers)
        order = (KINDS.index(kind), -number if kind == last else number)
        search = Search(order, work, tell, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(search)
        if self._running is not None and KINDS[self._running.order[0]] == last:
            self._running.interrupted = True
            self._running.end()
        return search

    async def run(self) -> None:
        """Run what is submitted."""
        while search := await self._waiting.get():
            if search.found.done():
                continue
            self._running = search
            run = asyncio.get_running_loop().run_in_executor(self.thread, search.work, search)
            await asyncio.wait([run])
            self._running, error = None, run.exception()
            if search.found.done():
                continue
            if error:
                search.found.set_exception(error)
            elif search.interrupted:
                search.tell({"waiting": "Another search comes first …"})
                search.stop, search.interrupted = Stop(), False
                self._waiting.put_nowait(search)
            else:
                search.found.set_result(run.result())

    async def close(self, seconds: float = 2.0) -> None:
        """End the search that runs, and wait for that, but not longer than `seconds`; drop what waits."""
        if self._running is not None:
            self._running.end(cancel=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self.thread.shutdown, cancel_futures=True), seconds)


class Server:
    """Holds no games: a page has its own, and says in every request which position it means.

    The page cannot name files and programs of its own as engines: only what is found here, what comes with
    ckai and what was given when the server began.

    `given` are the texts of engines given on the command line.
    """

    def __init__(self, given: Sequence[str] = ()) -> None:
        self.chance, self.searches = random.Random(), Searches()
        self._given = [EngineText.read(text) for text in given]
        self._engines: dict[tuple[str, str], Engine] = {}
        """Those that were asked for, by game and text."""

    async def __aenter__(self) -> None:
        self._runner = asyncio.create_task(self.searches.run())

    async def __aexit__(self, *error: object) -> None:
        self._runner.cancel()
        await self.searches.close()
        while self._engines:
            self._engines.popitem()[1].close()

    @cached_property
    def players(self) -> list[Player]:
        """Players and analysts; for the thread of searches, as importing what they need takes seconds."""
        from ckai.rl.engine.loading import game_of

        main, limit = DEFAULT_GAME.name, FULL_STRENGTH_SECONDS
        note = f"tree search, {limit:g} s a move"
        found = [
            *level_players(),
            Player(main, judge_of(DEFAULT_GAME), "Alpha-beta, ckai", "engine", "the strongest; 1 s a move"),
            *(
                Player(game, f"{name}@{limit:g}s", str(name), "network", note)
                for name, game in [*networks_in(), (CKAI, main), (SMALL, main)]
            ),
        ]
        for spec in all_games():
            found.append(Player(spec.name, "rollout@1000", "Random playouts", "search", "1,000 a move"))
            if spec.solver:
                found.append(Player(spec.name, "perfect", "Perfect play", "other"))
        for given in self._given:
            game = main
            with suppress(ValueError):  # the error comes when the player is to move
                game = game_of([given.text]) or main
            found.append(Player(game, given.text, short_name(given.text), "other", "given at the start"))
        return found

    def engine(self, text: str, spec: GameSpec, tell: Callable[[dict[str, Any]], Any]) -> Engine:
        """Return an engine by its text, loaded; of an empty one the engine that judges a game."""
        mine = [each for each in self.players if each.game == spec.name]
        text, asked = text or judge_of(spec), text
        player, names = EngineText.read(text), {EngineText.read(each.spec).who for each in mine}
        if asked and player.who not in names and player.who not in NO_NETWORK:
            raise ValueError(
                f"expected one of {', '.join(sorted(names))}, found {player.who[:60]!r}; others are given "
                "when the server begins: ckai board --engine SPEC"
            )
        if player.limit is not None and player.limit.clock is not None:
            raise ValueError(f"{text[:60]}: expected one clock for both sides; give it as the game's")
        if (spec.name, text) not in self._engines:
            tell({"waiting": "Loading the engine …"})
            self._engines[spec.name, text] = load_engine(text, spec)
        return self._engines[spec.name, text]


def level_players() -> list[Player]:
    """Return the levels of play as players."""
    from ckai.rl.engine.alphabeta import FULL_LEVEL, describe_level

    levels = [(n, *describe_level(n)) for n in range(1, FULL_LEVEL + 1)]
    return [
        Player(DEFAULT_GAME.name, f"{LEVEL}{n}", f"Level {n}, {name}", "level", note, n)
        for n, name, note in levels
    ]
