"""A search in progress: what it searches, and when it ends."""

import time
from dataclasses import dataclass, field

import numpy as np

from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.result import StopReason
from ckai.rl.engine.root import Root
from ckai.rl.engine.stop import Stop
from ckai.rl.engine.tree_reader import TreeReader
from ckai.rl.games.contract import NONE
from ckai.rl.search.move_time import MoveTimer, RootLead
from ckai.rl.search.searcher import MAX_STEP_SIMULATIONS, Searcher


@dataclass
class Task:
    """The search in progress."""

    root: Root
    limit: Limit
    lines: int
    seed: int | None = None
    """Of the random choices of this move; None: the engine's own random numbers continue."""
    reuse: bool = True
    """Whether the tree or table of the search before may be used."""
    stop: Stop = field(default_factory=Stop)


class SearchRun:
    """The course of one tree search: its steps until a limit is reached.

    Attributes:
        begun: when it began, by `time.perf_counter`.
        kept: positions in the tree that earlier searches added.
    """

    def __init__(
        self, task: Task, searcher: Searcher, reader: TreeReader, *, kept: int, begun: float
    ) -> None:
        """Begin a search whose root is set.

        Args:
            task: the search.
            searcher: its tree is tree 0.
            reader: reads that tree.
            kept, begun: see the class.
        """
        self._task, self._searcher, self._reader = task, searcher, reader
        self.kept, self.begun = kept, begun
        self._clock: MoveTimer | None = None
        if task.limit.clock is not None:
            times = task.limit.move_time(len(task.root.history), searcher.time_margin)
            assert times is not None
            self._clock = MoveTimer(times, begun, int(searcher.root(0)["visits"]))

    @property
    def seconds(self) -> float:
        """Wall time so far."""
        return time.perf_counter() - self.begun

    @property
    def added(self) -> int:
        """Positions that this search added to the tree."""
        return self._reader.nodes - self.kept

    def reached(self) -> StopReason | None:
        """Return the limit that is reached, or None if the search goes on."""
        limit = self._task.limit
        if self._task.stop.is_set():
            return StopReason.STOPPED
        if limit.seconds is not None and self.seconds >= limit.seconds:
            return StopReason.SECONDS
        if self._clock is not None:
            now, visits = time.perf_counter(), int(self._searcher.root(0)["visits"])
            if self._clock.ended(now, visits, self._root_lead):
                over = now - self.begun >= self._clock.time.optimum
                return StopReason.CLOCK if over else StopReason.DECIDED
        if limit.depth is not None and self._reader.depth() >= limit.depth:
            return StopReason.DEPTH
        if limit.nodes is not None and self.added >= limit.nodes:
            return StopReason.NODES
        return None

    def _root_lead(self) -> RootLead:
        return self._reader.root_lead(self._task.root.position)

    def step(self) -> StopReason | None:
        """Search one more batch; return why the search has ended, or None if it has not."""
        searcher, limit = self._searcher, self._task.limit
        root = searcher.root(0)
        visits_before = int(root["visits"])
        max_visits = target_visits = MAX_COUNT if limit.visits is None else int(limit.visits)
        counted = visits_before + searcher.in_flight
        if limit.nodes is not None:
            # A visit adds one position at most.
            target_visits = min(max_visits, counted + limit.nodes - self.added)
        elif limit.visits is None or limit.by_time:
            target_visits = min(max_visits, counted + MAX_STEP_SIMULATIONS)
        if searcher.step(np.array([target_visits], np.int32)):
            return None
        if root["proof"] != NONE:
            return StopReason.PROVEN
        if root["visits"] >= max_visits:
            return StopReason.VISITS
        return StopReason.FULL if root["visits"] == visits_before < target_visits else None
