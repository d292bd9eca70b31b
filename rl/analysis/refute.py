"""A second opinion on a move that the analysis would call better than the one played."""

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.analysis.batch import BatchSearch
from ckai.rl.engine.root import Root
from ckai.rl.games.checkers import Checkers, pack

NODES = 100_000
"""Positions of an alpha-beta search."""
MORE = 8
"""Without alpha-beta: times the visits of a check."""


class SecondOpinion:
    """Values of positions by another search, or a longer one, than that which thinks well of them.

    With a network of integers it is an alpha-beta search, which sees every short refutation; with others a
    tree search with more visits.
    """

    def __init__(self, evaluator: Evaluator, batch: BatchSearch, visits: int) -> None:
        """Prepare the search.

        Args:
            evaluator: evaluates positions.
            batch: searches for `MORE` times `visits`, for networks that alpha-beta cannot use.
            visits: visits of a check.
        """
        self._batch, self._visits = batch, visits * MORE
        self._alpha_beta = None
        if isinstance(evaluator, IntegerEvaluator):
            self._alpha_beta = AlphaBetaSearch(evaluator, game=Checkers())

    def values(self, roots: list[Root]) -> list[float]:
        """Return the values of positions with a legal move, [-1, 1] for the side to move.

        Raises:
            InterruptedSearchError, ValueError, Exception: see `BatchSearch.search`.
        """
        if self._alpha_beta is None:
            results = self._batch.search(roots, self._visits)
            best = [(result.lines[0].value, result.value) for result in results]
            return [float(root if value is None else value) for value, root in best]
        return [
            self._alpha_beta.search(
                pack(root.position), [pack(earlier) for earlier in root.history], nodes=NODES
            ).value
            for root in roots
        ]
