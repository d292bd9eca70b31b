"""The searches of an analysis: many positions at once, each in its own tree, and deeper looks at some."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Move
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.root import Root, forget_draw
from ckai.rl.engine.tree_reader import TreeReader, evaluate_policy
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.search.inline_search import make_searcher

TREES = 64
"""Positions searched at once."""
MAX_NODES = 400_000
"""Nodes of all trees together: with more visits there are fewer trees, and more leaves of each in a batch."""
VISITS_PER_LEAF = 32
"""Root visits that allow one more leaf of a tree in a batch."""
NODES = 500
"""Positions of an alpha-beta search for each visit of the tree search before it: at 200 visits
enough for shots of 17 plies."""
CHECK, MORE = 8, 8
"""Without alpha-beta: visits of a check by those of a search, and of a second opinion by those of a check."""


class InterruptedSearchError(Exception):
    """The search was stopped from another thread."""


class Searches:
    """Searches positions of checkers; one object a thread.

    Attributes:
        has_alpha_beta: whether alpha-beta, which sees every short refutation, can look deeper; it needs an
            integer network. It has looked as deep as it can before anything is checked.
        check: visits of a check.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        visits: int,
        *,
        tables: Tables | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Allocate the trees.

        Args:
            evaluator: evaluates the leaves.
            visits: visits of a search that is no check.
            tables: tablebases for the searches; None: none.
            stopped: called between batches; returns whether to stop.
        """
        game = Checkers().with_tables(tables)
        self._stopped, self._visits = stopped, visits
        self._alpha_beta: AlphaBetaSearch | None = None
        if isinstance(evaluator, IntegerEvaluator):
            self._alpha_beta = AlphaBetaSearch(evaluator, game=game)
        self.has_alpha_beta = self._alpha_beta is not None
        self.check = visits if self.has_alpha_beta else visits * CHECK
        nodes = (visits if self.has_alpha_beta else self.check * MORE) + 3
        self.trees = max(1, min(TREES, MAX_NODES // nodes))
        self._searcher = make_searcher(
            evaluator,
            trees=self.trees,
            nodes=nodes,
            leaves=max(1, TREES // self.trees),
            visits_per_leaf=VISITS_PER_LEAF,
            game=game,
        )
        policy = partial(evaluate_policy, evaluator)
        self._readers = [TreeReader(self._searcher, tables, policy, t) for t in range(self.trees)]

    def close(self) -> None:
        """Free what the searcher holds."""
        self._searcher.close()

    def forget(self) -> None:
        """Make the next searches independent of earlier ones."""
        if self._alpha_beta is not None:
            self._alpha_beta.forget()

    def search(self, roots: Sequence[Root], visits: int) -> list[SearchResult]:
        """Search positions in trees; a draw by rule at the root is not seen, see `forget_draw`.

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
        searcher, results = self._searcher, []
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
        for root, reader in zip(roots, self._readers, strict=False):
            reader.root_changed()
            results.append(
                reader.result(root.position, 1, seconds=0.0, nodes=reader.nodes, evaluations=0, reason=None)
            )
        return results

    def alpha_beta(self, root: Root) -> tuple[float, list[Move]]:
        """Return the value and the main line of a position with a legal move, where `has_alpha_beta`.

        A draw by rule at the root is not seen, see `Root.undrawn`.

        Raises:
            InterruptedSearchError: `stopped` returned True.
        """
        assert self._alpha_beta is not None
        if self._stopped():
            raise InterruptedSearchError
        root = root.undrawn()
        history = [pack(earlier) for earlier in root.history]
        found = self._alpha_beta.search(pack(root.position), history, nodes=NODES * self._visits)
        actions: Any = found.pv or (found.action,)
        return found.value, whole_moves(root.position, actions)

    def second_opinions(self, roots: Sequence[Root]) -> list[float]:
        """Return the values of positions for the side to move by a longer tree search, without alpha-beta.

        Raises:
            InterruptedSearchError, ValueError, Exception: see `search`.
        """
        results = self.search(roots, self.check * MORE)
        return [float(value) for result in results if (value := result.best.value) is not None]
