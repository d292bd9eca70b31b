"""The player of alpha-beta search with an integer network."""

from dataclasses import dataclass

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.engine.alphabeta import AlphaBetaEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.games.clock import TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.engines import EngineSide
from ckai.rl.players.player import Side


@dataclass(frozen=True)
class NetworkAlphaBetaPlayer:
    """Alpha-beta search with an integer network, to a time, a number of positions or a depth."""

    evaluator: IntegerEvaluator
    seconds: float | None = None
    """Time per move."""
    nodes: int | None = None
    """Positions per move."""
    depth: int | None = None
    """Plies per move."""
    control: TimeControl | None = None
    """Time per game; replaces `seconds`."""
    tables: Tables | None = None
    """Tablebases to probe."""
    spec: GameSpec = DEFAULT_GAME
    """The game."""
    threads: int = 1
    """Threads of a search within a time."""

    @property
    def timed(self) -> bool:
        """See `Player`."""
        return self.seconds is not None or self.control is not None

    def engine(self, seed: int | None = None) -> AlphaBetaEngine:
        """Return the engine that plays; the strength of one by nodes is fixed.

        Args:
            seed: see `AlphaBetaSearch`.
        """
        limit = Limit(seconds=self.seconds, nodes=self.nodes, depth=self.depth)
        return AlphaBetaEngine(
            self.evaluator,
            tables=self.tables,
            spec=self.spec,
            limit=limit,
            fixed=self.nodes is not None,
            threads=self.threads,
            seed=seed,
        )

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        engine = self.engine()
        assert engine.limit is not None
        return EngineSide(engine, engine.limit, boards)
