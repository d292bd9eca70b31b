"""`TreeThinker`: tree search with a network."""

from ckai.game import Game
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.thinkers.thinker import Interrupt, Publish, Report

INTERVAL = 0.05
"""Seconds between two results."""


class TreeThinker:
    """An engine; the next search of the same game keeps the subtree of its position."""

    def __init__(self, engine: Engine, limit: Limit | None = None) -> None:
        """Take over an engine, which `close` closes; for `limit` see `Thinker`."""
        self.engine, self.limit = engine, limit

    def think(self, game: Game, limit: Limit, publish: Publish, interrupt: Interrupt) -> Report:
        """See `Thinker`."""
        with self.engine.analysis(
            game.position, limit, history=game.positions[:-1], interval=INTERVAL
        ) as analysis:
            interrupt.attach(analysis.stop)
            for result in analysis:
                if result.reason is None:
                    publish(_report(result))
            return _report(analysis.wait())

    def forget(self) -> None:
        """See `Thinker`."""
        self.engine.forget()

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
