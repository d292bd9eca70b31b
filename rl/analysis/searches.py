"""The searches of an analysis: a tree search of many positions at once, and deeper looks at some."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError

from ckai.datasets.tables import Tables
from ckai.game import Game, Move, Position
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.engine.alphabeta import AlphaBetaEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.engine.tree import TreeEngine

TOGETHER = 64
"""Positions searched at once."""
NODES = 500
"""Positions of an alpha-beta search for each visit of the tree search before it: at 200 visits
enough for shots of 17 plies."""
DEEP = 10
"""How many times as many positions an alpha-beta search needs to speak against a move of the book."""
CHECK, MORE = 8, 8
"""Without alpha-beta: visits of a check by those of a search, and of a second opinion by those of a check."""


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
        """Make the engines.

        Args:
            evaluator: evaluates the leaves.
            visits: visits of a search that is no check.
            tables: tablebases for the searches; None: none.
            stopped: called between searches; returns whether to stop.
        """
        self._stopped, self._visits = stopped, visits
        self._deep: dict[Position, float] = {}
        self._alpha_beta: AlphaBetaEngine | None = None
        if isinstance(evaluator, IntegerEvaluator):
            self._alpha_beta = AlphaBetaEngine(evaluator, tables=tables)
        self.has_alpha_beta = self._alpha_beta is not None
        self.check = visits if self.has_alpha_beta else visits * CHECK
        self._tree = TreeEngine(evaluator, tables=tables, nodes=self.check * MORE + 3)

    def close(self) -> None:
        """Close the engines."""
        for engine in (self._tree, self._alpha_beta):
            if engine is not None:
                engine.close()

    def forget(self) -> None:
        """Make the next searches independent of earlier ones."""
        if self._alpha_beta is not None:
            self._alpha_beta.new_game()

    def search(self, games: Sequence[Game], visits: int) -> list[SearchResult]:
        """Search positions in trees; a draw by rule at the root is not seen.

        Args:
            games: the positions with those before them, each with a legal move.
            visits: visits of each search.

        Returns:
            The results in the order of the positions, each with one line.

        Raises:
            CancelledError: `stopped` returned True.
            ValueError, Exception: see `Engine.play`.
        """
        results: list[SearchResult] = []
        size = TOGETHER if visits == self._visits else 1  # a long search fills its batches alone
        for first in range(0, len(games), size):
            self._check()
            some, limit = games[first : first + size], Limit(visits=visits)
            if size > 1:
                results += self._tree.play_many(some, limit)
            else:
                self._tree.new_game()
                results.append(self._tree.play(some[0], limit, on_result=self._check))
        return results

    def _check(self, found: SearchResult | None = None) -> None:
        if self._stopped():
            raise CancelledError

    def deep(self, position: Position) -> float:
        """Return the value of a position with a legal move by the longest search, once for all games.

        Raises:
            CancelledError: `stopped` returned True.
        """
        if position not in self._deep:
            self.forget()
            game = Game(position)
            found = self.alpha_beta(game, DEEP)[0] if self.has_alpha_beta else self.second_opinions([game])[0]
            self._deep[position] = found
        return self._deep[position]

    def alpha_beta(self, game: Game, times: int = 1) -> tuple[float, list[Move]]:
        """Return the value and the main line of a position with a legal move, where `has_alpha_beta`.

        Args:
            game: the position with those before it.
            times: how many times as many positions as usual are searched.

        Raises:
            CancelledError: `stopped` returned True.
        """
        assert self._alpha_beta is not None
        self._check()
        found = self._alpha_beta.play(game, Limit(nodes=times * NODES * self._visits))
        assert found.value is not None
        return float(found.value), found.pv

    def second_opinions(self, games: Sequence[Game]) -> list[float]:
        """Return the values of positions for the side to move by a longer tree search, without alpha-beta.

        Raises:
            CancelledError, ValueError, Exception: see `search`.
        """
        results = self.search(games, self.check * MORE)
        return [float(value) for result in results if (value := result.lines[0].value) is not None]
