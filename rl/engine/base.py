"""`AnyEngine`: what chooses a move, one search at a time, within limits."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from ckai.game import Position
from ckai.rl.engine.analysis import Analysis, Publish
from ckai.rl.engine.limit import DEFAULT_VISITS, EngineError, Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.root import Root
from ckai.rl.engine.stop import Stop
from ckai.rl.engine.task import Task
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

INTERVAL = 0.1
"""Seconds between two results of an analysis."""
Place: TypeAlias = Position | str | Any
"""A position, in checkers also as a FEN; or a game with its moves (`ckai.game.Game`), for its position."""


class AnyEngine(ABC):
    """Chooses moves in positions of one game: by tree search, by alpha-beta, or as a player of matches does.

    It runs one search at a time. `stop` and `close` may be called from any thread, other methods only while
    no search is in progress; they stop one that was begun by `ponder`.
    """

    spec: GameSpec = DEFAULT_GAME
    """The game."""
    limit: Limit | None = None
    """The limit of the player's spec, None if that has none."""
    default_limit: Limit = Limit(visits=DEFAULT_VISITS)
    """The limit of a search where neither is given."""
    fixed = False
    """Whether it moves by a limit of its own, whatever a search is given: its strength is fixed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._task: Task | None = None
        self._pondering: Analysis | None = None
        self._closed = False

    # --- what each kind does ------------------------------------------------------------------------

    @abstractmethod
    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        """Run a search, passing intermediate results to `publish`."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop what is kept from earlier searches."""

    @abstractmethod
    def _release(self) -> None:
        """Free what the engine holds."""

    def _spoiled(self) -> None:
        """Drop what a search has left that failed."""
        self._forget()

    # --- closing and stopping -----------------------------------------------------------------------

    def __enter__(self) -> Self:
        with self._changed:
            self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search in progress, and free the memory, the threads and an evaluator made by `load`.

        Afterwards everything but `close`, `stop` and `repr` raises `EngineError`. Closing again does nothing.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if self._task is not None:
                self._task.stop.set()
            self._changed.wait_for(lambda: self._task is None)
            self._end_pondering()
            self._release()

    def stop(self) -> None:
        """End the search in progress soon; it returns its result so far. Does nothing if there is none.

        May be called from any thread. To end a search that may not have begun, give it a `Stop`.
        """
        with self._changed:
            if self._task is not None:
                self._task.stop.set()

    def reseed(self, seed: int | None) -> None:  # noqa: B027
        """Begin random choices of moves about as good anew, in an engine that has them, as alpha-beta has.

        Args:
            seed: their seed; None: the same moves every time.
        """

    def forget(self) -> None:
        """Drop what is kept from earlier searches, so that the next one does not depend on them.

        Raises:
            EngineError: the engine is closed, or searching.
        """
        with self._changed:
            self._make_idle()
            self._forget()

    # --- search, analysis ---------------------------------------------------------------------------

    def search(
        self,
        position: Place,
        limit: Limit | None = None,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        history: Sequence[Position | str] = (),
        multipv: int = 1,
        stop: Stop | None = None,
        on_result: Callable[[SearchResult], None] | None = None,
        interval: float = INTERVAL,
    ) -> SearchResult:
        """Search a position.

        Args:
            position: a position or a FEN; or a game, whose earlier positions count for repetitions. If it is
                at most two moves after the last one searched, its subtree is kept.
            limit: when the search ends; by default that of the player's spec, or `default_limit`: after 400
                visits, in alpha-beta after 0.1 s.
            sims, seconds: short for `Limit(visits=sims, seconds=seconds)`, instead of `limit`. Visits that
                were kept do not count: 400 and then 10 at the same position make 410; call `forget` between
                them to compare limits.
            history: earlier positions of the game, oldest first, for repetitions. They also set the halfmove
                clock of a FEN without H.
            multipv: number of lines in the result, 1 or more; the search does not depend on it.
            stop: ends the search from another thread, also before it has begun.
            on_result: called with results during the search.
            interval: seconds between two of these, 0 or more; the first comes as soon as possible.

        Returns:
            The result, its values for the side to move in `position`.

        Raises:
            ValueError: there is no legal move, a limit is out of range, or a limit is given twice.
            PositionError: a FEN cannot be read.
            EngineError: the engine is closed, or searching.

        Example:
            >>> from ckai.rl import Engine
            >>> engine = Engine.load("uniform")
            >>> result = engine.search("B:W18:B14,1", sims=50, multipv=2)
            >>> [(str(line.move), line.proven) for line in result.lines]
            [('14x23', 'win')]
            >>> result.sims, result.reason
            (1, <StopReason.PROVEN: 'proven'>)
        """
        if limit is None:
            limit = Limit(visits=sims, seconds=seconds)
            if sims is None and seconds is None:
                limit = self.limit or self.default_limit
        elif sims is not None or seconds is not None:
            raise ValueError("expected a limit, or sims and seconds, found both")
        _check_interval(interval)
        return self._run(self._begin(position, limit, history, multipv, stop=stop), on_result, interval)

    def analysis(
        self,
        position: Place,
        limit: Limit | None = None,
        *,
        multipv: int = 1,
        history: Sequence[Position | str] = (),
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search a position in a thread of its own and read the results during the search.

        Args:
            position, multipv, history, interval: see `search`.
            limit: when the search ends; None: when it is stopped, the root is proven or the tree is full.

        Returns:
            The search in progress.

        Raises:
            ValueError, PositionError, EngineError: see `search`.

        Example:
            >>> from ckai.rl import Engine
            >>> with Engine.load("uniform") as engine:
            ...     with engine.analysis(Position.start(), multipv=3) as analysis:
            ...         for result in analysis:
            ...             if result.sims >= 1000:
            ...                 break
            ...     final = analysis.wait()
            >>> len(final.lines), final.sims >= 1000, str(final.reason)
            (3, True, 'stopped')
        """
        return self._analyse((position, limit or Limit(), history, multipv), interval)

    def ponder(
        self,
        position: Place,
        *,
        history: Sequence[Position | str] = (),
        multipv: int = 1,
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search on the opponent's time, until the next search, `stop` or `close`.

        Args:
            position: the position in which the opponent is to move, or the one after the expected reply. The
                next search of this game takes over what it needs of the tree: the part below the reply that
                was played, or nothing if the expected reply was not.
            history, multipv, interval: see `search`.

        Returns:
            The search in progress. An error in it does not spoil the next search.

        Raises:
            ValueError, PositionError, EngineError: see `search`.

        Example:
            >>> from ckai.rl import Engine
            >>> with Engine.load("uniform") as engine:
            ...     position = Position.start().push("11-15")
            ...     pondering = engine.ponder(position)
            ...     expected = next(pondering).move
            ...     result = engine.search(position.push(expected), seconds=0.01)
            >>> str(pondering.wait().reason), result.sims > result.evaluations
            ('stopped', True)
        """
        self._pondering = self._analyse((position, Limit(), history, multipv), interval, gives_way=True)
        return self._pondering

    # --- one search at a time -----------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; load another one")

    def _make_idle(self) -> None:
        """Stop a search on the opponent's time; raise an error if there is another search."""
        if self._task is not None and self._task.gives_way:
            self._task.stop.set()
            self._changed.wait_for(lambda: self._task is None)
        self._check_open()
        if self._task is not None:
            raise EngineError("the engine is searching; stop that search first, or use another engine")
        self._end_pondering()

    def _end_pondering(self) -> None:
        """Wait for the thread of a search on the opponent's time, which has ended."""
        if self._pondering is not None:
            self._pondering.join()

    def _begin(
        self,
        position: Place,
        limit: Limit,
        history: Sequence[Position | str],
        multipv: int,
        *,
        gives_way: bool = False,
        stop: Stop | None = None,
    ) -> Task:
        """Check the arguments of a search and mark the engine as searching; `_run` must follow."""
        if not hasattr(multipv, "__index__") or multipv < 1:
            raise ValueError(f"expected an integer multipv >= 1, found {multipv!r}")
        with self._changed:
            self._make_idle()
            root = Root.read(position, history, self.spec)
            self._task = Task(root, limit, multipv, gives_way, stop or Stop())
            return self._task

    def _analyse(self, search: tuple[Any, ...], interval: float, gives_way: bool = False) -> Analysis:
        """Run a search, given as the arguments of `_begin`, in a thread of its own."""
        _check_interval(interval)
        task = self._begin(*search, gives_way=gives_way)
        return Analysis(lambda publish: self._run(task, publish, interval), task.stop.set)

    def _run(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        """Run the search of `_begin`, passing intermediate results to `publish`."""
        try:
            return self._search(task, publish, interval)
        except BaseException:
            self._spoiled()
            raise
        finally:
            task.stop.attach(None)
            with self._changed:
                self._task = None
                self._changed.notify_all()


def _check_interval(interval: float) -> None:
    if not interval >= 0:
        raise ValueError(f"expected interval >= 0, found {interval!r}")
