"""Deeper values of positions: alpha-beta where the network allows it, else a longer tree search."""

from dataclasses import dataclass
from typing import Any

from ckai.datasets.tables import Tables
from ckai.game import Move
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.analysis.batch import BatchSearch
from ckai.rl.engine.root import Root
from ckai.rl.games.checkers import Checkers, pack

NODES = 40
"""Positions of an alpha-beta search for each visit of the tree search that it stands beside."""
MORE = 8
"""Without alpha-beta: times the visits of a check, for a second opinion."""


@dataclass(frozen=True)
class Deeper:
    """The value of a position by a deeper search."""

    value: float
    """For the side to move, [-1, 1]."""
    line: list[Move]
    """The main line, its first move the best one."""


class AlphaBetaValues:
    """Values of positions by alpha-beta, which sees every short refutation; one object a thread.

    Args:
        evaluator: the network.
        tables: tablebases for the search; None: none.
    """

    def __init__(self, evaluator: IntegerEvaluator, tables: Tables | None = None) -> None:
        self._search = AlphaBetaSearch(evaluator, game=Checkers().with_tables(tables))

    def forget(self) -> None:
        """Make the next searches independent of earlier ones."""
        self._search.forget()

    def deeper(self, root: Root, visits: int) -> Deeper:
        """Search a position that has a legal move, at most at the cost of a tree search of `visits`."""
        history = [pack(earlier) for earlier in root.history]
        found = self._search.search(pack(root.position), history, nodes=NODES * visits)
        actions: Any = found.pv or (found.action,)
        return Deeper(found.value, whole_moves(root.position, actions))


class SecondOpinion:
    """Values of positions by another search, or a longer one, than that which thinks well of them."""

    def __init__(self, alpha_beta: AlphaBetaValues | None, batch: BatchSearch, visits: int) -> None:
        """Prepare the search.

        Args:
            alpha_beta: the other search; None: a longer one.
            batch: searches for `MORE` times `visits`, without `alpha_beta`.
            visits: visits of a check.
        """
        self._alpha_beta, self._batch, self._visits = alpha_beta, batch, visits

    def values(self, roots: list[Root]) -> list[float]:
        """Return the values of positions with a legal move, [-1, 1] for the side to move.

        Raises:
            InterruptedSearchError, ValueError, Exception: see `BatchSearch.search`.
        """
        if self._alpha_beta is not None:
            return [self._alpha_beta.deeper(root, self._visits).value for root in roots]
        results = self._batch.search(roots, self._visits * MORE)
        return [float(value) for result in results if (value := result.best.value) is not None]


def alpha_beta_values(evaluator: Evaluator, tables: Tables | None) -> AlphaBetaValues | None:
    """Return alpha-beta with an integer network, None with another one."""
    return AlphaBetaValues(evaluator, tables) if isinstance(evaluator, IntegerEvaluator) else None
