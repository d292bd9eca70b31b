"""`AlphaBetaThinker`: alpha-beta search with an integer network."""

import time

from ckai.datasets.tables import Tables
from ckai.game import Game, Position
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Proof
from ckai.rl.games.checkers import pack
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.move_time import move_time
from ckai.rl.thinkers.thinker import Interrupt, Publish, Report, max_seconds, undrawn


class AlphaBetaThinker:
    """Alpha-beta search; its table is kept from one search to the next."""

    def __init__(
        self,
        evaluator: IntegerEvaluator,
        *,
        tables: Tables | None = None,
        limit: Limit | None = None,
        fixed: bool = False,
        threads: int = 1,
    ) -> None:
        """Allocate the table.

        Args:
            evaluator: the network.
            tables: probed in the search.
            limit: see `Thinker`.
            fixed: whether the strength is fixed, so that every search has `limit`.
            threads: threads of a search by time.
        """
        self.limit, self.fixed = limit, fixed
        self._search = AlphaBetaSearch(evaluator, game=DEFAULT_GAME.make_rules(tables), threads=threads)

    def think(self, game: Game, limit: Limit, publish: Publish, interrupt: Interrupt) -> Report:
        """See `Thinker`."""
        begun = time.perf_counter()
        plies = len(game.moves)
        if self.fixed and self.limit is not None:
            limit = self.limit
        game = undrawn(game)
        position, search = game.position, self._search
        seconds, soft_seconds, depth = max_seconds(limit, plies), None, limit.depth
        if limit.clock is not None:
            soft_seconds = move_time(limit.clock, limit.increment, limit.remaining_moves, plies).optimum
            if len(position.legal_moves()) == 1:
                depth = 1

        def on_depth(result: AlphaBetaResult) -> None:
            if interrupt.asked:  # maybe before the search had begun
                search.stop()
            publish(_report(result, position, time.perf_counter() - begun))

        interrupt.attach(search.stop)
        result = search.search(
            pack(position),
            [pack(earlier) for earlier in game.positions[:-1]],
            seconds=seconds,
            soft_seconds=soft_seconds,
            nodes=limit.nodes,
            depth=depth,
            on_depth=on_depth,
        )
        return _report(result, position, time.perf_counter() - begun)

    def forget(self) -> None:
        """See `Thinker`."""
        self._search.forget()

    def close(self) -> None:
        """See `Thinker`."""


def _report(result: AlphaBetaResult, position: Position, seconds: float) -> Report:
    proven: Proof | None = None if result.plies is None else "win" if result.value > 0 else "loss"
    return Report(
        pv=whole_moves(position, result.pv),
        value=result.value,
        proven=proven,
        plies=result.plies,
        depth=result.depth,
        nodes=result.nodes,
        seconds=seconds,
    )
