"""`Engine`: what chooses a move, one search at a time, within limits."""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.pretrained import CKAI
from ckai.rl.engine.analysis import Analysis, Publish
from ckai.rl.engine.forms import DEFAULT_VISITS
from ckai.rl.engine.limit import EngineError, Limit
from ckai.rl.engine.result import Line, Policy, SearchResult
from ckai.rl.engine.root import Root, read_position
from ckai.rl.engine.stop import Stop
from ckai.rl.engine.task import Task
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.models.inference.evaluator import Evaluator
    from ckai.rl.games.clock import TimeControl

INTERVAL = 0.1
"""Seconds between two results of an analysis."""
Result = TypeVar("Result")
Place: TypeAlias = Position | str | Any
"""A position, in checkers also as a FEN; or a game with its moves (`ckai.game.Game`), for its position."""


class ResignsError(RuntimeError):
    """Another program resigns in place of a move."""


class Engine(ABC):
    """Chooses moves in positions of one game: by tree search, by alpha-beta, as another program does.

    It runs one search at a time. `stop` and `close` may be called from any thread, other methods only while
    no search is in progress.

    Attributes:
        name: what it is called in messages and PDN headers.
        spec: the game.
        limit: the limit of its moves where none is given; None: `default_limit`.
        control: the time of each of its games, as part of its text; None: none.
        takes: the fields of a `Limit` that it can honour.

    Example:
        >>> from ckai.game import Game
        >>> from ckai.rl import Engine, Limit
        >>> with Engine.load("rollout") as engine:
        ...     game = Game()
        ...     for _ in range(3):
        ...         move = game.push(engine.play(game, Limit(visits=50)).move)
        >>> len(game.moves)
        3
    """

    name: str = "engine"
    spec: GameSpec = DEFAULT_GAME
    limit: Limit | None = None
    default_limit: Limit = Limit(visits=DEFAULT_VISITS)
    control: "TimeControl | None" = None
    takes: frozenset[str] = frozenset()
    boards = 1
    """Games at once for which `play_many` sets memory aside; with more it begins their trees anew."""
    evaluator: "Evaluator | None" = None
    """The network, or what stands in its place; None: it has none."""

    def __init__(self, *, seed: int | None = None) -> None:
        """Prepare an engine.

        Args:
            seed: seed of its random choices; None: random.
        """
        self._random = random.Random(seed)
        self._changed = threading.Condition()
        self._task: Task | None = None
        self._closed = False

    @classmethod
    def load(
        cls,
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
                `level:7`, `hub:COMMAND@1s`; `ckai.rl.engine.forms` lists all. What follows the @ is the limit
                of its moves.
            evaluator: the backend of a network, see `load_evaluator`: `auto`, the fastest on this machine.
            tables: tablebases, or their number of pieces (see `Tables.open`); None or 0: none.
            seed: seed of its random choices; None: random.
            game: the game.
            threads: threads of an alpha-beta search by time, None: one per core; or threads of a match that
                call the network at the same time.

        Raises:
            EngineTextError: the text names no engine, a limit that this engine does not have, or a game that
                it does not play.
            CheckpointError: the file is not a checkpoint of this game.
            TableError: there are no such tables.
            ProgramError: another program cannot be started.
            ValueError: there is no such backend, or it is not available on this machine.
        """
        loading = import_module("ckai.rl.engine.loading")  # it imports the engines, which derive from this
        opened = Tables.open(tables) if tables and isinstance(tables, int) else tables or None
        engine: Engine = loading.load_engine(
            str(text), evaluator=evaluator, tables=opened, seed=seed, game=game, threads=threads
        )
        return engine

    @property
    def by_time(self) -> bool:
        """Whether its moves depend on time, so that a match plays one game at a time in each thread."""
        return self.control is not None or (self.limit or self.default_limit).by_time

    # --- what each kind does ------------------------------------------------------------------------

    @abstractmethod
    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        """Run a search, passing intermediate results to `publish`."""

    @abstractmethod
    def _copy(self) -> "Engine":
        """Return another engine of the same kind for one thread; a network is shared."""

    def _forget(self) -> None:  # noqa: B027  (most keep nothing)
        """Drop what is kept from earlier searches."""

    def _release(self) -> None:  # noqa: B027
        """Free what the engine holds."""

    def _spoiled(self) -> None:
        """Drop what a search has left that failed."""
        self._forget()

    def twin(self, boards: int = 1) -> "Engine":
        """Return another engine like this one, for another thread; a network is shared.

        Args:
            boards: most games that it plays at once by `play_many`.
        """
        twin = self._copy()
        twin.boards = boards
        twin.name, twin.spec, twin.limit = self.name, self.spec, self.limit
        twin.control, twin.takes = self.control, self.takes
        return twin

    # --- closing and stopping -----------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}{', closed' if self._closed else ''}>"

    def __enter__(self) -> Self:
        with self._changed:
            self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search in progress, and free the memory, the threads, and the network or program.

        Afterwards everything but `close`, `stop` and `repr` raises `EngineError`. Closing again does nothing.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if self._task is not None:
                self._task.stop.set()
            self._changed.wait_for(lambda: self._task is None)
            self._release()

    def stop(self) -> None:
        """End the search in progress soon; it returns its result so far. Does nothing if there is none.

        May be called from any thread. To end a search that may not have begun, give it a `Stop`.
        """
        with self._changed:
            if self._task is not None:
                self._task.stop.set()

    def new_game(self, game: Any = None) -> None:
        """Drop what is kept from earlier searches, so that the next one does not depend on them.

        Args:
            game: a game of `play_many` that is over, to drop what is kept of it alone; None: all.

        Raises:
            EngineError: the engine is closed, or searching.
        """
        with self._changed:
            self._check_idle()
            if game is None:
                self._forget()

    # --- search, analysis ---------------------------------------------------------------------------

    def honours(self, limit: Limit) -> bool:
        """Return whether the engine takes every limit that is set."""
        return limit.given <= self.takes

    def play(
        self,
        game: Place,
        limit: Limit | None = None,
        *,
        history: Sequence[Position | str] = (),
        lines: int = 1,
        seed: int | None = None,
        reuse: bool = True,
        stop: Stop | None = None,
        on_result: Callable[[SearchResult], None] | None = None,
        interval: float = INTERVAL,
    ) -> SearchResult:
        """Choose a move.

        Args:
            game: a game, whose earlier positions count for repetitions; or a position or a FEN. If it is at
                most two moves after the last one searched, its subtree is kept.
            limit: when the search ends; None: the engine's own limit.
            history: earlier positions of a position or FEN, oldest first, for repetitions. They also set the
                halfmove clock of a FEN without H.
            lines: number of lines in the result, 1 or more; the search does not depend on it.
            seed: seed of the random choices of this move; None: the engine's own random numbers continue.
            reuse: keep what earlier searches found, as `Limit.visits` says; False: begin anew.
            stop: ends the search from another thread, also before it has begun.
            on_result: called with results during the search.
            interval: seconds between two of these, 0 or more; the first comes as soon as possible.

        Returns:
            The result, its values for the side to move.

        Raises:
            ValueError: there is no legal move, or the engine cannot honour the limit.
            PositionError: a FEN cannot be read.
            EngineError: the engine is closed, or searching.
            ProgramError: another program ends, takes too long or plays an illegal move.
            ResignsError: another program resigns.

        Example:
            >>> from ckai.rl import Engine
            >>> engine = Engine.load("uniform")
            >>> result = engine.play("B:W18:B14,1", Limit(visits=50), lines=2)
            >>> [(str(line.move), line.proven) for line in result.lines]
            [('14x23', 'win')]
            >>> result.visits["14x23"], result.reason
            (0, <StopReason.PROVEN: 'proven'>)
        """
        _check_interval(interval)
        task = self._begin(game, self._limit(limit), history, lines, seed, reuse, stop)
        return self._run(task, on_result, interval)

    def play_many(
        self, games: Sequence[Any], limit: Limit | None = None, *, seeds: Sequence[int] | None = None
    ) -> list[SearchResult]:
        """Choose a move in each of several games; one with a network evaluates their positions together.

        Args:
            games: games, each with a legal move. An engine knows a game that it has played before by its
                identity, and keeps its subtree.
            limit: of each move; None: the engine's own.
            seeds: of the random choices of each move; None: the engine's own random numbers continue.

        Returns:
            The results in the order of the games. Those of searches together have one line of one move.

        Raises:
            ValueError, EngineError, ProgramError, ResignsError: see `play`.
        """
        given: Sequence[int | None] = seeds or [None] * len(games)
        return [self.play(game, limit, seed=seed) for game, seed in zip(games, given, strict=True)]

    def search(
        self,
        position: Place,
        limit: Limit | None = None,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        **settings: Any,
    ) -> SearchResult:
        """Search a position: `play` with `Limit(visits=sims, seconds=seconds)`.

        Raises:
            ValueError: a limit is given twice; others see `play`.
        """
        if sims is not None or seconds is not None:
            if limit is not None:
                raise ValueError("expected a limit, or sims and seconds, found both")
            limit = Limit(visits=sims, seconds=seconds)
        return self.play(position, limit, **settings)

    def analysis(
        self,
        game: Place,
        limit: Limit | None = None,
        *,
        lines: int = 1,
        history: Sequence[Position | str] = (),
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search a position in a thread of its own and read the results during the search.

        Args:
            game, lines, history, interval: see `play`.
            limit: when the search ends; None: when it is stopped, the root is proven or the tree is full.

        Returns:
            The search in progress.

        Raises:
            ValueError, PositionError, EngineError: see `play`.

        Example:
            >>> from ckai.rl import Engine
            >>> with Engine.load("uniform") as engine:
            ...     with engine.analysis(Position.start(), lines=3) as analysis:
            ...         for result in analysis:
            ...             if result.sims >= 1000:
            ...                 break
            ...     final = analysis.wait()
            >>> len(final.lines), final.sims >= 1000, str(final.reason)
            (3, True, 'stopped')
        """
        _check_interval(interval)
        task = self._begin(game, self._limit(limit or Limit()), history, lines)
        return Analysis(lambda publish: self._run(task, publish, interval), task.stop.set)

    def policy(self, position: Position | str) -> Policy:
        """Evaluate a position with the network alone, without a search.

        Args:
            position: a `Position` or a FEN.

        Returns:
            The probability of every legal move (of a capture of several hops, the product over the hops) and
            the value for the side to move.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: the FEN cannot be read.
            EngineError: the engine is closed, or has no network.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     engine.policy("B:W32:B1").moves
            MoveMap({'1-5': 0.5, '1-6': 0.5})
        """
        from ckai.rl.engine.tree_reader import evaluate_policy

        with self._changed:
            self._check_open()
        if self.evaluator is None:
            raise EngineError(f"expected an engine with a network, found {self.name}")
        return evaluate_policy(self.evaluator, Root.read(read_position(position)).position)

    # --- one search at a time -----------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; load another one")

    def _check_idle(self) -> None:
        self._check_open()
        if self._task is not None:
            raise EngineError("the engine is searching; stop that search first, or use another engine")

    def _limit(self, limit: Limit | None) -> Limit:
        """Return a limit that the engine can honour, its own for None."""
        if limit is None or (limit == Limit() and not self.takes):
            return self.limit or self.default_limit
        if not isinstance(limit, Limit):
            raise TypeError(f"expected a Limit, such as Limit(visits=400), found {limit!r}")
        if not self.honours(limit):
            takes = ", ".join(sorted(self.takes)) or "none, as it has its own"
            raise ValueError(f"{self.name}: expected a limit of {takes}, found {limit!r}")
        return limit

    def _begin(
        self,
        game: Place,
        limit: Limit,
        history: Sequence[Position | str],
        lines: int,
        seed: int | None = None,
        reuse: bool = True,
        stop: Stop | None = None,
    ) -> Task:
        """Check the arguments of a search and mark the engine as searching; `_run` must follow."""
        if not hasattr(lines, "__index__") or lines < 1:
            raise ValueError(f"expected an integer lines >= 1, found {lines!r}")
        with self._changed:
            self._check_idle()
            root = Root.read(game, history, self.spec)
            self._task = Task(root, limit, lines, seed, reuse, stop or Stop())
            return self._task

    def _run(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        """Run the search of `_begin`, passing intermediate results to `publish`."""
        return self._guarded(task, lambda: self._search(task, publish, interval))

    def _guarded(self, task: Task, work: Callable[[], Result]) -> Result:
        """Return what `work` finds; then the engine is idle again."""
        try:
            return work()
        except BaseException:
            task.stop.attach(None)  # what it ends may go now
            self._spoiled()
            raise
        finally:
            task.stop.attach(None)
            with self._changed:
                self._task = None
                self._changed.notify_all()


class MoveEngine(Engine):
    """An engine that says nothing but its move; subclasses implement `_choose`."""

    default_limit = Limit()
    by_time = False

    @abstractmethod
    def _choose(self, game: Any, limit: Limit, chance: random.Random, stop: Stop) -> Any:
        """Return the move to play.

        Args:
            game: the game; its position has a legal move.
            limit: one that the engine takes, or its own.
            chance: for random choices.
            stop: attached to what ends a long search.
        """

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        begun, root = time.perf_counter(), task.root.undrawn()
        limit = task.limit if task.limit.given else self.limit or self.default_limit
        if not task.reuse:
            self._forget()
        chance = self._random if task.seed is None else random.Random(task.seed)
        move = self._choose(root.game or self.spec.game(root.position), limit, chance, task.stop)
        return SearchResult(lines=[Line(pv=[move])], seconds=time.perf_counter() - begun)


def _check_interval(interval: float) -> None:
    if not interval >= 0:
        raise ValueError(f"expected interval >= 0, found {interval!r}")
