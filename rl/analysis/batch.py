"""Searches of many positions at once, each in a tree of its own, with shared batches of the network."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.root import Root, forget_draw
from ckai.rl.engine.tree_reader import TreeReader, evaluate_policy
from ckai.rl.games.checkers import Checkers
from ckai.rl.search.inline_search import make_searcher

TREES = 64
"""Positions searched at once."""
MAX_NODES = 400_000
"""Nodes of all trees together: with more visits there are fewer trees, and more leaves of each in a batch."""
VISITS_PER_LEAF = 32
"""Root visits that allow one more leaf of a tree in a batch."""


class InterruptedSearchError(Exception):
    """The search was stopped from another thread."""


class BatchSearch:
    """Searches positions of checkers side by side; one object a thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        max_visits: int,
        *,
        tables: Tables | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Allocate the trees.

        Args:
            evaluator: evaluates the leaves.
            max_visits: most visits of a search.
            tables: tablebases for the search; None: none.
            stopped: called between batches; returns whether to stop.
        """
        nodes = max_visits + 3
        self.trees = max(1, min(TREES, MAX_NODES // nodes))
        self._stopped = stopped
        self._searcher = make_searcher(
            evaluator,
            trees=self.trees,
            nodes=nodes,
            leaves=max(1, TREES // self.trees),
            visits_per_leaf=VISITS_PER_LEAF,
            game=Checkers().with_tables(tables),
        )
        policy = partial(evaluate_policy, evaluator)
        self._readers = [TreeReader(self._searcher, tables, policy, t) for t in range(self.trees)]

    def search(self, roots: Sequence[Root], visits: int) -> list[SearchResult]:
        """Search positions; a draw by rule at the root is not seen, see `forget_draw`.

        Args:
            roots: the positions, each with a legal move.
            visits: visits of each search.

        Returns:
            The results in the order of the positions, each with one line.

        Raises:
            InterruptedSearchError: `stopped` returned True.
            ValueError, Exception: see `Searcher.step`.
        """
        results: list[SearchResult] = []
        for first in range(0, len(roots), self.trees):
            results += self._search_some(roots[first : first + self.trees], visits)
        return results

    def _search_some(self, roots: Sequence[Root], visits: int) -> list[SearchResult]:
        searcher = self._searcher
        targets = np.zeros(self.trees, np.int32)
        targets[: len(roots)] = visits
        for t, root in enumerate(roots):
            root.set_in(searcher, t)
            forget_draw(searcher, t, root)
        with one_torch_thread():
            while searcher.step(targets):
                if self._stopped():
                    searcher.flush()
                    raise InterruptedSearchError
        return [self._read(t, root.position) for t, root in enumerate(roots)]

    def _read(self, t: int, here: Position) -> SearchResult:
        reader = self._readers[t]
        reader.root_changed()
        return reader.result(here, 1, seconds=0.0, nodes=reader.nodes, evaluations=0, reason=None)

    def close(self) -> None:
        """Free what the searcher holds."""
        self._searcher.close()
