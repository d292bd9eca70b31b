"""`TreeThinker`: tree search with a network."""

from ckai.game import Game, Position
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.thinkers.thinker import Interrupt, Publish, Report, max_seconds

INTERVAL = 0.05
"""Seconds between two results."""
REUSE_SECONDS = 0.6e-6
"""Most seconds that the next search needs per position of the tree that it takes over."""


class TreeThinker:
    """An engine; the next search of the same game keeps the subtree of its position."""

    fixed = False

    def __init__(self, engine: Engine, limit: Limit | None = None) -> None:
        """Take over an engine, which `close` closes; for `limit` see `Thinker`."""
        self.engine, self.limit = engine, limit
        self._searched: list[Position] = []
        self._kept = 0
        """Most positions that the tree may hold."""

    def think(self, game: Game, limit: Limit, publish: Publish, interrupt: Interrupt) -> Report:
        """See `Thinker`."""
        self._forget_what_takes_too_long(game, limit)
        with self.engine.analysis(
            game.position, limit, history=game.positions[:-1], interval=INTERVAL
        ) as analysis:
            interrupt.attach(analysis.stop)
            for result in analysis:
                if result.reason is None:
                    publish(_report(result))
            last = analysis.wait()
        # A visit adds one position at most.
        self._searched, self._kept = list(game.positions), last.sims
        return _report(last)

    def _forget_what_takes_too_long(self, game: Game, limit: Limit) -> None:
        """Drop the tree if taking over the part of it below a move could use up the time of this one."""
        if game.positions == self._searched:
            return  # nothing has to be moved
        seconds = max_seconds(limit, len(game.moves))
        if seconds is not None and self._kept * REUSE_SECONDS > seconds / 2:
            self.forget()

    def forget(self) -> None:
        """See `Thinker`."""
        self.engine.forget()
        self._searched, self._kept = [], 0

    def close(self) -> None:
        """See `Thinker`."""
        self.engine.close()


def _report(result: SearchResult) -> Report:
    best = result.lines[0]
    return Report(
        pv=result.pv,
        value=float(result.value if result.proven or best.value is None else best.value),
        proven=result.proven or best.proven,
        plies=result.plies if result.proven else best.plies,
        depth=max(result.depth, 1),
        nodes=result.nodes,
        seconds=result.seconds,
    )
