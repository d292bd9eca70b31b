"""`Engine`: what chooses a move, one search at a time, within limits; and `SearchResult`, its answer."""

import atexit
import copy
import math
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import UserDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import import_module
from itertools import takewhile
from os import PathLike
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast

from ckai.datasets.tables import Tables
from ckai.game import Move, Position
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import JoinableThread
from ckai.models.pretrained import CKAI
from ckai.rl.engine.limit import Limit, Proof
from ckai.rl.evaluators.loading import move_priors
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

INTERVAL = 0.1
"""Seconds between two results that a search publishes."""
Turn: TypeAlias = Literal["black", "white"]
T = TypeVar("T")


class Value(float):
    """A value in [-1, 1] for the side to move, `turn`: +1 it wins, 0 a draw, -1 it loses.

    Example:
        >>> value = Value(0.25, "white")
        >>> value, value.white(), value.black()
        (0.25, 0.25, -0.25)
    """

    turn: Turn

    def __new__(cls, value: float, turn: Turn) -> "Value":
        """See the class."""
        self = super().__new__(cls, value)
        self.turn = turn
        return self

    @classmethod
    def at(cls, position: Any, value: float) -> "Value":
        """Return a value for the side to move in a position."""
        return cls(value, "black" if position.black else "white")

    def __reduce__(self) -> tuple[type["Value"], tuple[float, Turn]]:
        return Value, (float(self), self.turn)

    def black(self) -> float:
        """Return the value for Black."""
        return float(self) if self.turn == "black" else 0.0 - self

    def white(self) -> float:
        """Return the value for White."""
        return 0.0 - self.black()


class MoveMap(UserDict[Move, T]):
    """An ordered mapping from moves; a look-up takes a `Move` or its text (`str(move)`)."""

    def __getitem__(self, move: Move | str) -> T:
        return {str(m): item for m, item in self.items()}[move] if isinstance(move, str) else self.data[move]

    def __contains__(self, move: object) -> bool:
        return move in self.data or move in set(map(str, self))


class StopReason(StrEnum):
    """Why a search ended: which field of its `Limit` was reached, or what else ended it."""

    VISITS = "visits"
    SECONDS = "seconds"
    """The time is used up; with a clock, the share of this move, or more could not change the move."""
    DEPTH = "depth"
    NODES = "nodes"
    PROVEN = "proven"
    FULL = "full"
    """The tree has no room for another position, and may not grow."""
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A move and the moves expected to follow; values and proofs are for the side that plays it."""

    pv: list[Move]
    """The principal variation, this move first."""
    value: Value | None = None
    """The move's mean value, +1, 0 or -1 if it is proven; None without visits."""
    visits: int = 0
    proven: Proof | None = None
    plies: int | None = None
    """Plies from the root to the end of a proven win or loss, else None."""

    @property
    def move(self) -> Move:
        """The first move of the line."""
        return self.pv[0]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The result of a search, or its result so far; values and proofs are for the side to move.

    The first line has the move to play, with the proof of the root, and its value where the move has none.
    Mappings are in the order of visit counts, the move to play first.
    """

    lines: list[Line]
    """The best lines, best first: as many as were asked for, or as many as there are legal moves."""
    value: Value | None = None
    """Of the root, as of a `Line`; None from an engine without values."""
    visits: MoveMap[int] = field(default_factory=MoveMap)
    """Visit count of every legal move; empty without a tree, as the next one."""
    priors: MoveMap[float] = field(default_factory=MoveMap)
    """The network's probability of every legal move, 0 to 1; for several hops the product of theirs."""
    sims: int = 0
    """Visits at the root, those kept from an earlier search included."""
    seconds: float = 0.0
    """Wall time of this call."""
    nodes: int = 0
    """Positions that this search added to the tree, or that alpha-beta visited."""
    depth: int = 0
    """Plies from the root to the deepest position in the tree; of alpha-beta, the last complete depth."""
    reason: StopReason | None = None
    """Why the search ended; None while it is running."""
    proven: Proof | None = None
    plies: int | None = None
    """Of the root, as of a `Line`."""
    proofs: MoveMap[tuple[Proof, int | None]] = field(default_factory=MoveMap)
    """Result of every proven move, and the plies to the end of a win or a loss (None for a draw)."""

    def __post_init__(self) -> None:
        proof: dict[str, Any] = {"proven": self.proven, "plies": self.plies} if self.proven else {}
        if proof or self.lines[0].value is None:
            self.lines[0] = replace(self.lines[0], value=self.value, **proof)

    @property
    def move(self) -> Move:
        """The move to play; its `str` names every square, `11x18x25`."""
        return self.pv[0]

    @property
    def pv(self) -> list[Move]:
        """The principal variation: the moves expected, `move` first."""
        return self.lines[0].pv

    def __repr__(self) -> str:
        proof = f", proven={self.proven!r}, plies={self.plies}" if self.proven else ""
        value = "" if self.value is None else f"{self.value:+.3f} for {self.value.turn} in "
        effort = f"{self.sims} visits" if self.sims else f"{self.depth} plies"
        return f"<SearchResult {value}{effort}{proof}: {' '.join(map(str, self.pv))}>"


Publish: TypeAlias = Callable[[SearchResult], Any]


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
            if self._ends is not None:
                self._ends()
            self._ends = None

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
    limit: Limit
    """One that the engine takes, or its own."""
    lines: int
    """Most lines in the result; 0: the move and its value are enough."""
    chance: random.Random
    stop: Stop
    seed: int | None = None
    """Of `chance`; None: these are the engine's own random numbers, which continue."""
    publish: Publish | None = None
    _told: float = -math.inf

    def tell(self, result: Callable[[], SearchResult]) -> None:
        """Publish the result so far, if somebody wants it now."""
        if self.publish is not None and time.perf_counter() - self._told >= INTERVAL:
            self._told = time.perf_counter()
            self.publish(result())


class Analysis:
    """The results of a running search, made by `Engine.analysis`.

    A loop or `next` reads the newest result; the last one has the reason why the search ended. Leaving the
    loop or the `with` block stops the search and waits for its end. What it raised is raised there, or by
    `next` or `wait`.

    Attributes:
        stop: ends the search soon, from any thread; its last result can still be read.
    """

    def __init__(self, work: Callable[[Publish], SearchResult], stop: Callable[[], Any]) -> None:
        self.stop = stop
        self._changed = threading.Condition()
        self._fresh: SearchResult | None = None
        """The newest result; None if it was read already."""
        self._final: Future[SearchResult] = Future()
        self._thread = JoinableThread(target=self._run, args=(work,), name="ckai-analysis", daemon=True)
        atexit.register(self._end)  # a thread at work during exit may abort the process
        self._thread.start()

    def wait(self) -> SearchResult:
        """Wait until the search has ended and return its last result."""
        self._thread.join()
        return self._final.result()

    def __next__(self) -> SearchResult:
        with self._changed:
            self._changed.wait_for(lambda: self._fresh is not None or self._final.done())
            result, self._fresh = self._fresh, None
        if result is None:
            self._final.result()  # raises what the search raised
            raise StopIteration
        return result

    def __iter__(self) -> Iterator[SearchResult]:
        try:
            while (result := next(self, None)) is not None:
                yield result
        finally:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._end()
        if kind is None:
            self.wait()

    def _end(self) -> None:
        self.stop()
        self._thread.join()

    def _run(self, work: Callable[[Publish], SearchResult]) -> None:
        try:
            self._publish(final := work(self._publish))
            self._final.set_result(final)
        except BaseException as error:
            self._final.set_exception(error)
        atexit.unregister(self._end)
        with self._changed:
            self._changed.notify_all()

    def _publish(self, result: SearchResult) -> None:
        with self._changed:
            self._fresh = result
            self._changed.notify_all()


class Engine(ABC):
    """Chooses moves in positions of one game, `spec`, one search at a time.

    `stop` and `close` may be called from any thread, other methods only while no search is in progress. An
    engine of your own implements `_search`. `seed` is of its random choices; None: random.

    Attributes:
        name: what it is called in messages and PDN headers.
        default_limit: the limit of its moves where none is given and it has no `limit`.
        takes: the fields of a `Limit` that it can honour.
        evaluator: the network, or what stands in its place; None: it has none.
    """

    name: str = "engine"
    spec: GameSpec = DEFAULT_GAME
    default_limit: Limit = Limit()
    takes: frozenset[str] = frozenset()
    evaluator: Evaluator | None = None
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
            text: such as a checkpoint, a run folder, `ckai`, `alphabeta:ckai@50ms`, `level:7`; see
                `ckai.rl.engine.limit.PLAYER_FORMS`.
            evaluator: the backend of a network, see `load_evaluator`.
            tables: tablebases, or their number of pieces (see `Tables.open`); None or 0: none.
            seed, game: see `Engine`.
            threads: of an alpha-beta search by time, None: one per core; in a match the threads that call the
                network at the same time.

        Raises:
            ValueError: the text names no engine, or a limit, file, game, backend or tables that do not fit.
            ProgramError: another program cannot be started.
        """
        loading = import_module("ckai.rl.engine.loading")  # it imports the engines, which derive from this
        opened = Tables.open(tables) if tables and isinstance(tables, int) else tables or None
        return cast(Engine, loading.load_engine(str(text), evaluator, opened, seed, game, threads))

    @abstractmethod
    def _search(self, task: Task) -> Any:
        """Search, and return a `SearchResult`, or the move alone."""

    def _search_many(self, tasks: Sequence[Task]) -> list[Any]:
        """Search several games under one limit and one `Stop`; see `_search`."""
        return [self._search(task) for task in tasks]

    def _open(self, of: Any = None) -> None:  # noqa: B027  (most keep nothing)
        """Make a memory that changes with searches; as the twin of another engine, one of its own."""

    def _forget(self, game: Any = None) -> None:  # noqa: B027
        """Drop what searches have left, also one that failed, or only what `play_many` keeps of a game."""

    def _release(self) -> None:  # noqa: B027
        """Free what the engine holds."""

    @property
    def limit(self) -> Limit | None:
        """The limit of its moves where none is given, of a match a game's clock; None: `default_limit`."""
        return self._limit

    @limit.setter
    def limit(self, limit: Limit | None) -> None:
        self._limit = None if limit is None else self._checked(limit)

    @property
    def by_time(self) -> bool:
        """Whether its moves depend on time, so that a match plays one game at a time in each thread."""
        return bool((self.limit or self.default_limit).given & {"seconds", "clock"})

    def _checked(self, limit: Limit) -> Limit:
        if not isinstance(limit, Limit):
            raise TypeError(f"expected a Limit, such as Limit(visits=400), found {limit!r}")
        if not limit.given <= self.takes:
            takes = ", ".join(sorted(self.takes)) or "none, as it has its own"
            raise ValueError(f"{self.name}: expected a limit of {takes}, found {limit!r}")
        return limit

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{', closed' if self._closed else ''}>"

    def __enter__(self) -> Self:
        self._check()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search, and free what the engine holds; only `close`, `stop` and `repr` still work."""
        with self._changed:
            if not self._closed:
                self._closed = True
                self.stop()
                self._changed.wait_for(lambda: self._stop is None)
                self._release()

    def stop(self) -> None:
        """End the search in progress, if any, soon; one that may not have begun is ended by a `Stop`."""
        with self._changed:
            if self._stop is not None:
                self._stop.set()

    def twin(self) -> Self:
        """Return another engine like this one, for another thread; a network is shared."""
        with self._changed:  # a twin may take over what only one can have
            self._check()
            twin = copy.copy(self)
            Engine.__init__(twin)
            twin._open(self)
        return twin

    def new_game(self, game: Any = None) -> None:
        """Drop what is kept from earlier searches; of `game` alone, if it is one of `play_many`."""
        with self._changed:
            self._check(idle=True)
            self._forget(game)

    def _check(self, *, idle: bool = False) -> None:
        if self._closed:
            raise RuntimeError("the engine is closed; load another one")
        if idle and self._stop is not None:
            raise RuntimeError("the engine is searching; stop that search first, or use another engine")

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
        on_result: Publish | None = None,
    ) -> SearchResult:
        """Choose a move; `search` is the same.

        Args:
            game: a game (`ckai.game.Game`), whose earlier positions count for repetitions; or a position, or
                the text of one, such as a FEN. At most two moves after the last search, its subtree is kept.
            limit: when the search ends; None: the engine's own limit.
            sims, seconds: in place of `Limit(visits=sims, seconds=seconds)`.
            history: earlier positions of a position or FEN, oldest first.
            lines: most lines in the result; a tree search does not depend on it. 0: the move and its value.
            stop: ends the search from another thread, also before it has begun.
            on_result: called with results during the search, at most ten times a second.

        Raises:
            ValueError: there is no legal move, the engine cannot honour the limit, or a text cannot be read.
            RuntimeError: the engine is closed, or searching.
            ProgramError: another program ends, takes too long or plays an illegal move.
            ResignsError: another program resigns.
        """
        if sims is not None or seconds is not None:
            if limit is not None:
                raise ValueError("expected a limit, or sims and seconds, found both")
            limit = Limit(visits=sims, seconds=seconds)
        stop = stop or Stop()
        task = self._task(game, limit, lines, history, stop=stop, publish=on_result)
        self._begin(stop)
        return self._run([task], stop)[0]

    search = play

    def play_many(
        self, games: Sequence[Any], limit: Limit | None = None, lines: int = 1, seeds: Sequence[int] = ()
    ) -> list[SearchResult]:
        """Choose a move in each of several games, as `play` does; a network evaluates positions together.

        Args:
            games, limit, lines: see `play`. An engine knows a game that it has played before by its identity,
                and keeps its subtree. `stop` ends the search of all.
            seeds: of the random choices of each move; none: the engine's own random numbers continue.
        """
        stop, each = Stop(), zip(games, cast(Any, seeds) or [None] * len(games), strict=True)
        tasks = [self._task(game, limit, lines, stop=stop, seed=seed) for game, seed in each]
        self._begin(stop)
        return self._run(tasks, stop, many=True)

    def analysis(self, game: Any, limit: Limit | None = None, *, lines: int = 1) -> Analysis:
        """Search in a thread of its own, and read results during the search; see `play`.

        Without a limit an engine that takes `seconds` searches until it is stopped or has nothing left to do.
        """
        task = self._task(game, limit or Limit(), lines, stop=Stop())
        self._begin(task.stop)

        def work(publish: Publish) -> SearchResult:
            task.publish = publish
            return self._run([task], task.stop)[0]

        return Analysis(work, task.stop.set)

    def policy(self, position: Any) -> SearchResult:
        """Return what the network alone says of a position, or the text of one, the likeliest move first.

        Its `priors` begin with the highest. A RuntimeError says that there is no network.
        """
        self._check()
        if self.evaluator is None:
            raise RuntimeError(f"expected an engine with a network, found {self.name}")
        here = read_game(position, (), self.spec).position
        found, value = move_priors(self.evaluator, here, self.spec)
        priors = MoveMap({move: found[move] for move in sorted(found, key=found.__getitem__, reverse=True)})
        lines = [Line(pv=[move]) for move in priors]
        return SearchResult(lines=lines, value=Value.at(here, value), priors=priors)

    def _task(self, game: Any, limit: Limit | None, lines: int, history: Any = (), **more: Any) -> Task:
        if limit is None or not (self._checked(limit).given or "seconds" in self.takes):
            limit = self.limit or self.default_limit
        chance = self._random if (seed := more.get("seed")) is None else random.Random(seed)
        return Task(read_game(game, history, self.spec), limit, lines, chance, **more)

    def _begin(self, stop: Stop) -> None:
        """Mark the engine as searching, until `_run` has ended."""
        with self._changed:
            self._check(idle=True)
            self._stop = stop

    def _run(self, tasks: Sequence[Task], stop: Stop, *, many: bool = False) -> list[SearchResult]:
        """Return what the searches find; then the engine is idle again."""
        begun = time.perf_counter()
        try:
            found = self._search_many(tasks) if many and tasks else [self._search(task) for task in tasks]
        except BaseException:
            stop.attach(None)  # what it ends may go now
            self._forget()
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
    """

    def men(position: Position) -> list[str]:  # and the number of kings: what a quiet move leaves
        return sorted(p if p.isupper() else f"{p}{square}" for square, p in position.pieces().items())

    game = place
    if not hasattr(place, "moves"):
        here, *earlier = (spec.read_position(p) if isinstance(p, str) else p for p in (place, *history))
        if not hasattr(here, "legal_moves"):
            raise TypeError(f"expected a game, a position or the text of one (a FEN), found {place!r}")
        if isinstance(here, Position):
            quiet = takewhile(lambda each: men(each) == men(here), reversed(earlier))
            here = replace(here, halfmove_clock=max(len(list(quiet)), here.halfmove_clock))
        game = spec.game(here)
        game.positions = [*earlier, here]
    if not (here := game.position).legal_moves():
        raise ValueError(f"{spec.position_text(here)}: the side to move has no legal move, the game is over")
    usual = spec.game(here)  # its limits hold for every search
    usual.positions = game.positions
    if usual.outcome() is None:
        return game
    return spec.game(replace(here, halfmove_clock=0) if isinstance(here, Position) else here)
