"""`Engine`: what chooses a move, one search at a time, within limits."""

import copy
import math
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import takewhile
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.pretrained import CKAI
from ckai.rl.engine.analysis import Analysis
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, MoveMap, SearchResult, Value
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.models.inference.evaluator import Evaluator
    from ckai.rl.games.clock import TimeControl

INTERVAL = 0.1
"""Seconds between two results of an analysis."""


class ResignsError(RuntimeError):
    """Another program resigns in place of a move."""


class Stop(threading.Event):
    """Ends a search from any thread, also one that is only about to begin. Once set, it stays set."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._ends: Callable[[], None] | None = None

    def set(self) -> None:
        """End the search soon; calling it again does nothing."""
        with self._lock:
            super().set()
            ends, self._ends = self._ends, None
            if ends is not None:
                ends()

    def attach(self, ends: Callable[[], None] | None) -> None:
        """Give the function that ends the search now in progress; it is called once, also after a `set`."""
        with self._lock:
            self._ends = ends
        if self.is_set():
            self.set()


@dataclass
class Task:
    """A search in progress, as an engine's `_search` gets it."""

    game: Any
    """The game, see `read_game`."""
    limit: Limit
    """One that the engine takes, or its own."""
    lines: int
    """Most lines in the result; 0: the move and its value are enough."""
    chance: random.Random
    """For random choices."""
    stop: Stop
    """Whether to end, and what `Stop.attach` ends a long search with."""
    seed: int | None = None
    """Of `chance`; None: these are the engine's own random numbers, which continue."""
    publish: Callable[[SearchResult], None] | None = None
    """Takes results during the search."""
    interval: float = 0.0
    """Seconds between two of these."""
    _told: float = -math.inf

    def tell(self, result: Callable[[], SearchResult]) -> None:
        """Publish the result so far, if somebody wants it now."""
        if self.publish is not None and time.perf_counter() - self._told >= self.interval:
            self._told = time.perf_counter()
            self.publish(result())


class Engine(ABC):
    """Chooses moves in positions of one game, one search at a time.

    `stop` and `close` may be called from any thread, other methods only while no search is in progress. An
    engine of your own implements `_search`.

    Attributes:
        name: what it is called in messages and PDN headers.
        spec: the game.
        default_limit: the limit of its moves where none is given and it has no `limit`.
        control: the time of each of its games, as part of its text; None: none.
        takes: the fields of a `Limit` that it can honour.
        evaluator: the network, or what stands in its place; None: it has none.

    Args:
        seed: seed of its random choices; None: random.
    """

    name: str = "engine"
    spec: GameSpec = DEFAULT_GAME
    default_limit: Limit = Limit()
    control: "TimeControl | None" = None
    takes: frozenset[str] = frozenset()
    evaluator: "Evaluator | None" = None
    _limit: Limit | None = None

    def __init__(self, *, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._changed = threading.Condition()
        self._stop: Stop | None = None
        """Of the search in progress."""
        self._closed = False

    @staticmethod
    def load(
        text: str | PathLike[str] = CKAI,
        *,
        evaluator: str = "auto",
        tables: Tables | int | None = None,
        seed: int | None = None,
        game: GameSpec = DEFAULT_GAME,
        threads: int | None = None,
    ) -> "Engine":
        """Load an engine by its text, as `ckai match` takes it.

        Args:
            text: a checkpoint, a run folder, `ckai` (the network installed with ckai), `alphabeta:ckai@50ms`,
                `level:7`, `hub:COMMAND@1s`; see `ckai.rl.engine.text`. The limit of its moves follows the @.
            evaluator: the backend of a network, see `load_evaluator`: `auto`, the fastest on this machine.
            tables: tablebases, or their number of pieces (see `Tables.open`); None or 0: none.
            seed: seed of its random choices; None: random.
            game: the game.
            threads: of an alpha-beta search by time, None: one per core; in a match the threads that call the
                network at the same time.

        Raises:
            ValueError: the text names no engine, a limit, game or backend that it does not have, or a file
                that is no checkpoint of this game; or there are no such tables.
            ProgramError: another program cannot be started.
        """
        loading = import_module("ckai.rl.engine.loading")  # it imports the engines, which derive from this
        opened = Tables.open(tables) if tables and isinstance(tables, int) else tables or None
        engine: Engine = loading.load_engine(str(text), evaluator, opened, seed, game, threads)
        return engine

    @abstractmethod
    def _search(self, task: Task) -> Any:
        """Search, and return a `SearchResult`, or the move alone."""

    def _search_many(self, tasks: Sequence[Task]) -> list[Any]:
        """Search several games under one limit and one `Stop`; see `_search`."""
        return [self._search(task) for task in tasks]

    def _open(self, of: Any = None) -> None:  # noqa: B027  (most keep nothing)
        """Make a memory that changes with searches; as the twin of another engine, one of its own."""

    def _forget(self, game: Any = None) -> None:  # noqa: B027
        """Drop what is kept from earlier searches, or only what `play_many` keeps of a game."""

    def _release(self) -> None:  # noqa: B027
        """Free what the engine holds."""

    def _spoiled(self) -> None:
        """Drop what a search has left that failed."""
        self._forget()

    @property
    def limit(self) -> Limit | None:
        """The limit of its moves where none is given; None: `default_limit`.

        Raises:
            ValueError: set to one that it cannot honour.
        """
        return self._limit

    @limit.setter
    def limit(self, limit: Limit | None) -> None:
        self._limit = None if limit is None else self._checked(limit)

    @property
    def by_time(self) -> bool:
        """Whether its moves depend on time, so that a match plays one game at a time in each thread."""
        timed = (self.limit or self.default_limit).given & {"seconds", "clock"}
        return bool(timed) or self.control is not None

    def _checked(self, limit: Limit) -> Limit:
        if not isinstance(limit, Limit):
            raise TypeError(f"expected a Limit, such as Limit(visits=400), found {limit!r}")
        if not limit.given <= self.takes:
            takes = ", ".join(sorted(self.takes)) or "none, as it has its own"
            raise ValueError(f"{self.name}: expected a limit of {takes}, found {limit!r}")
        return limit

    # --- closing and stopping -----------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{', closed' if self._closed else ''}>"

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search in progress, and free the memory, the threads, and the network or program.

        Afterwards everything but `close`, `stop` and `repr` raises an error. Closing again does nothing.
        """
        with self._changed:
            if not self._closed:
                self._closed = True
                self.stop()
                self._changed.wait_for(lambda: self._stop is None)
                self._release()

    def stop(self) -> None:
        """End the search in progress soon; it returns its result so far. Does nothing if there is none.

        May be called from any thread. To end a search that may not have begun, give it a `Stop`.
        """
        with self._changed:
            if self._stop is not None:
                self._stop.set()

    def twin(self) -> Self:
        """Return another engine like this one, for another thread; a network is shared."""
        with self._changed:  # a twin may take over what only one can have
            self._check_open()
            twin = copy.copy(self)
            Engine.__init__(twin)
            twin._open(self)
        return twin

    def new_game(self, game: Any = None) -> None:
        """Drop what is kept from earlier searches, so that the next one does not depend on them.

        Args:
            game: a game of `play_many` that is over, to drop what is kept of it alone; None: all.
        """
        with self._changed:
            self._check_idle()
            self._forget(game)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the engine is closed; load another one")

    def _check_idle(self) -> None:
        self._check_open()
        if self._stop is not None:
            raise RuntimeError("the engine is searching; stop that search first, or use another engine")

    # --- search, analysis ---------------------------------------------------------------------------

    def play(
        self,
        game: Any,
        limit: Limit | None = None,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        history: Sequence[Any] = (),
        lines: int = 1,
        stop: Stop | None = None,
        on_result: Callable[[SearchResult], None] | None = None,
        interval: float = INTERVAL,
    ) -> SearchResult:
        """Choose a move; `search` is the same.

        Args:
            game: a game (`ckai.game.Game`), whose earlier positions count for repetitions; or a position, or
                the text of one, such as a FEN. At most two moves after the last search, its subtree is kept.
            limit: when the search ends; None: the engine's own limit.
            sims, seconds: in place of `Limit(visits=sims, seconds=seconds)`.
            history: earlier positions of a position or FEN, oldest first.
            lines: most lines in the result; the search does not depend on it. 0: the move and its value,
                without the figures of other moves.
            stop: ends the search from another thread, also before it has begun.
            on_result: called with results during the search.
            interval: seconds between two of these, 0 or more; the first comes as soon as possible.

        Raises:
            ValueError: there is no legal move, the engine cannot honour the limit, it is given twice, or a
                text cannot be read.
            RuntimeError: the engine is closed, or searching.
            ProgramError: another program ends, takes too long or plays an illegal move.
            ResignsError: another program resigns.

        Example:
            >>> engine = Engine.load("uniform")
            >>> result = engine.play("B:W18:B14,1", Limit(visits=50), lines=2)
            >>> [(str(line.move), line.proven) for line in result.lines]
            [('14x23', 'win')]
            >>> result.visits["14x23"], result.reason
            (0, <StopReason.PROVEN: 'proven'>)
        """
        if sims is not None or seconds is not None:
            if limit is not None:
                raise ValueError("expected a limit, or sims and seconds, found both")
            limit = Limit(visits=sims, seconds=seconds)
        more = {"stop": stop or Stop(), "publish": on_result, "interval": interval}
        task = self._task(game, limit, lines, history, **more)
        self._begin(task.stop)
        return self._run(task.stop, lambda: [self._search(task)])[0]

    search = play

    def play_many(
        self,
        games: Sequence[Any],
        limit: Limit | None = None,
        *,
        seeds: Sequence[int] | None = None,
        lines: int = 1,
    ) -> list[SearchResult]:
        """Choose a move in each of several games, as `play` does; a network evaluates positions together.

        Args:
            games, lines: see `play`. An engine knows a game that it has played before by its identity, and
                keeps its subtree. `stop` ends the search of all.
            limit: of each move; None: the engine's own.
            seeds: of the random choices of each move; None: the engine's own random numbers continue.
        """
        given: Sequence[int | None] = seeds or [None] * len(games)
        stop, each = Stop(), zip(games, given, strict=True)
        tasks = [self._task(game, limit, lines, stop=stop, seed=seed) for game, seed in each]
        self._begin(stop)
        return self._run(stop, lambda: self._search_many(tasks) if tasks else [])

    def analysis(
        self,
        game: Any,
        limit: Limit | None = None,
        *,
        lines: int = 1,
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search in a thread of its own, and read results during the search.

        Args:
            game, lines, interval: see `play`.
            limit: when the search ends; None: when it is stopped, the root is proven or the tree is full. An
                engine that takes no time has its own limit.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     with engine.analysis(Position.start(), lines=3) as analysis:
            ...         for result in analysis:
            ...             if result.sims >= 1000:
            ...                 break
            ...     final = analysis.wait()
            >>> len(final.lines), final.sims >= 1000, str(final.reason)
            (3, True, 'stopped')
        """
        task = self._task(game, limit or Limit(), lines, stop=(stop := Stop()), interval=interval)
        self._begin(stop)

        def work(publish: Callable[[SearchResult], None]) -> SearchResult:
            task.publish = publish
            return self._run(stop, lambda: [self._search(task)])[0]

        return Analysis(work, stop.set)

    def policy(self, position: Any) -> SearchResult:
        """Evaluate a position, or the text of one, with the network alone.

        Returns:
            The value for the side to move, and as `priors` the probability of every legal move (of a capture
            of several hops, the product over the hops), the highest first.

        Raises:
            ValueError: see `play`; or the network's answer has another shape, or numbers that are not finite.
            RuntimeError: the engine is closed, or has no network.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     engine.policy("B:W32:B1").priors
            MoveMap({'1-5': 0.5, '1-6': 0.5})
        """
        from ckai.rl.evaluators.move_priors import move_priors

        self._check_open()
        if self.evaluator is None:
            raise RuntimeError(f"expected an engine with a network, found {self.name}")
        here = read_game(position, (), self.spec).position
        priors, value = move_priors(self.evaluator, here, self.spec)
        priors = dict(sorted(priors.items(), key=lambda each: -each[1]))
        lines = [Line(pv=[move], prior=prior) for move, prior in priors.items()]
        return SearchResult(lines=lines, value=Value.at(here, value), priors=MoveMap(priors))

    # --- one search at a time -----------------------------------------------------------------------

    def _task(
        self, game: Any, limit: Limit | None, lines: int, history: Sequence[Any] = (), **more: Any
    ) -> Task:
        """Check the arguments of a search; `more` are other fields of a `Task`."""
        if limit is None or not (self._checked(limit).given or "seconds" in self.takes):
            limit = self.limit or self.default_limit
        if not hasattr(lines, "__index__") or lines < 0:
            raise ValueError(f"expected an integer lines >= 0, found {lines!r}")
        if not more.get("interval", 0.0) >= 0:
            raise ValueError(f"expected interval >= 0, found {more['interval']!r}")
        chance = self._random if (seed := more.get("seed")) is None else random.Random(seed)
        return Task(read_game(game, history, self.spec), limit, lines, chance, **more)

    def _begin(self, stop: Stop) -> None:
        """Mark the engine as searching; `_run` must follow."""
        with self._changed:
            self._check_idle()
            self._stop = stop

    def _run(self, stop: Stop, work: Callable[[], list[Any]]) -> list[SearchResult]:
        """Return what a search finds; then the engine is idle again."""
        begun = time.perf_counter()
        try:
            found = work()
        except BaseException:
            stop.attach(None)  # what it ends may go now
            self._spoiled()
            raise
        finally:
            stop.attach(None)
            with self._changed:
                self._stop = None
                self._changed.notify_all()
        seconds = time.perf_counter() - begun
        return [
            each if isinstance(each, SearchResult) else SearchResult(lines=[Line(pv=[each])], seconds=seconds)
            for each in found
        ]


def read_game(place: Any, history: Sequence[Any], spec: GameSpec) -> Any:
    """Return the game to search, see `ckai.rl.games.spec`; of positions, it has no moves.

    The history sets the halfmove clock of a FEN without H. No search sees at its root that a rule has drawn
    the game there: then the game begins again at its position, as other programs may continue.

    Raises:
        ValueError: the side to move has no legal move, or a text cannot be read.
        TypeError: it is no game, position or text.
    """
    game = place
    if not hasattr(place, "moves"):
        here, *earlier = (spec.read_position(p) if isinstance(p, str) else p for p in (place, *history))
        if not hasattr(here, "legal_moves"):
            raise TypeError(f"expected a game, a position or the text of one (a FEN), found {place!r}")
        if isinstance(here, Position):
            quiet = takewhile(lambda each: _men(each) == _men(here), reversed(earlier))
            here = replace(here, halfmove_clock=max(len(list(quiet)), here.halfmove_clock))
        game = spec.game(here)
        game.positions = [*earlier, here]
    here = game.position
    if not here.legal_moves():
        raise ValueError(f"{spec.position_text(here)}: the side to move has no legal move, the game is over")
    usual = spec.game(here)  # its limits hold for every search
    usual.positions = game.positions
    if usual.outcome() is None:
        return game
    return spec.game(replace(here, halfmove_clock=0) if isinstance(here, Position) else here)


def _men(position: Position) -> list[str]:
    """Return what only captures and moves of men change: the men, and the numbers of kings."""
    return sorted(p if p.isupper() else f"{p}{square}" for square, p in position.pieces().items())
