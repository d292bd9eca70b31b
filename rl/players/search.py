"""Tree searches as players."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.engines import EngineSide
from ckai.rl.players.player import Side
from ckai.rl.search.inline_search import make_searcher
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants

POLICY_SIMS = 2
"""Visits that play the most likely move of the policy: the root and that move."""


@dataclass(frozen=True)
class SearchPlayer:
    """A tree search; plays the most visited move, without noise unless `constants` have some."""

    evaluator: Evaluator
    sims: int
    """Visits per hop: each hop of a capture of several is searched with as many."""
    constants: SearchConstants | None = None
    """Constants of the search; None: the defaults for the evaluator and the game."""
    tables: Tables | None = None
    """Tablebases to probe."""
    seconds: float | None = None
    """Time per move, all hops of a capture together; replaces `sims`."""
    control: TimeControl | None = None
    """Time per game; replaces `sims` and `seconds`."""
    spec: GameSpec = DEFAULT_GAME
    """The game."""

    @property
    def timed(self) -> bool:
        """See `Player`."""
        return self.seconds is not None or self.control is not None

    def searcher(self, trees: int) -> Searcher:
        """Create a searcher for `trees` games at once, by visits."""
        rules, constants = self.spec.make_rules(self.tables), self.constants
        if constants is None and not isinstance(self.evaluator, RolloutEvaluator):
            constants = SearchConstants(**self.spec.search_defaults)
        return make_searcher(
            self.evaluator, trees=trees, nodes=self.sims + 3, constants=constants, game=rules
        )

    def engine(self, **settings: Any) -> Engine:
        """Return an engine with the same search.

        Args:
            **settings: other arguments of `Engine`.
        """
        engine = Engine(
            self.evaluator, constants=self.constants, tables=self.tables, spec=self.spec, **settings
        )
        engine.limit = Limit(seconds=self.seconds) if self.timed else Limit(visits=self.sims)
        return engine

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        if self.timed:
            # Each thread of a match has a player of its own, so that one thread a search is enough.
            engine = self.engine(batches=1, threads=1)
            engine.measure()
            return EngineSide(engine, Limit(seconds=self.seconds), boards)
        return _SearchSide(self, self.searcher(boards), boards)


class _SearchSide:
    def __init__(self, player: SearchPlayer, searcher: Searcher, boards: int) -> None:
        self.player, self.searcher = player, searcher
        self.visits = np.zeros(boards, np.int32)

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        self.searcher.tree_batch.info[board]["rng"] = np.uint64(stream)
        self.searcher.set_root(board, self.player.spec.state(position))

    def actions(self, boards: Sequence[int]) -> list[int]:
        self.visits[:] = 0
        for board in boards:
            forced = int(self.searcher.root(board)["num_edges"]) == 1
            self.visits[board] = 1 if forced else self.player.sims
        self.searcher.run(self.visits)
        return [self.searcher.best(board) for board in boards]

    def play(self, board: int, action: int) -> None:
        self.searcher.play(board, action)

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass
