"""The player of alpha-beta search with an integer network."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.player import MoveSide, Side
from ckai.rl.search.move_time import move_time


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

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _Side(self, boards)


class _Side(MoveSide):
    def __init__(self, player: NetworkAlphaBetaPlayer, boards: int) -> None:
        super().__init__(boards, player.spec)
        self.player = player
        rules = player.spec.make_rules(player.tables)
        self.search = AlphaBetaSearch(player.evaluator, game=rules, threads=player.threads)

    def stop(self) -> None:
        self.search.stop()

    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        player, spec = self.player, self.player.spec
        if len(moves := game.position.legal_moves()) == 1:
            return moves[0]
        seconds, soft_seconds = player.seconds, None
        if clock is not None:
            times = move_time(clock.left, clock.control.increment, clock.moves, len(game.positions) - 1)
            seconds, soft_seconds = times.maximum, times.optimum
        history = [spec.state(position) for position in game.positions[:-1]]
        result = self.search.search(
            spec.state(game.position),
            history,
            seconds=seconds,
            soft_seconds=soft_seconds,
            nodes=player.nodes,
            depth=player.depth,
        )
        return whole_moves(game.position, result.pv)[0]
