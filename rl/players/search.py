"""Tree searches as players."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.player import ActionFigures, Side
from ckai.rl.search.batch_sizing import SIZES
from ckai.rl.search.inline_search import make_searcher, measured_batch_sizer
from ckai.rl.search.move_time import MoveTime, MoveTimer, move_time
from ckai.rl.search.searcher import MAX_STEP_SIMULATIONS, Searcher
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
    """Time per move, all hops of a capture together; replaces `sims`. Batches in flight are completed."""
    control: TimeControl | None = None
    """Time per game; replaces `sims` and `seconds`."""
    spec: GameSpec = DEFAULT_GAME
    """The game."""

    @property
    def timed(self) -> bool:
        """See `Player`."""
        return self.seconds is not None or self.control is not None

    def searcher(self, trees: int) -> Searcher:
        """Create a searcher for `trees` games at once."""
        rules, constants = self.spec.make_rules(self.tables), self.constants
        if constants is None and not isinstance(self.evaluator, RolloutEvaluator):
            constants = SearchConstants(**self.spec.search_defaults)
        if self.timed:
            searcher = make_searcher(
                self.evaluator,
                trees=trees,
                nodes=None,
                leaves=max(SIZES),
                constants=constants,
                game=rules,
            )
            searcher.batch_sizer = measured_batch_sizer(self.evaluator, rules)
            return searcher
        return make_searcher(
            self.evaluator, trees=trees, nodes=self.sims + 3, constants=constants, game=rules
        )

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _SearchSide(self, self.searcher(boards), boards)


class _SearchSide:
    def __init__(self, player: SearchPlayer, searcher: Searcher, boards: int) -> None:
        self.player, self.searcher = player, searcher
        self.visits = np.zeros(boards, np.int32)
        self.clocks: list[Clock | None] = [None] * boards
        self.plies = [0] * boards
        self.until: list[MoveTime | None] = [None] * boards
        """By time: when the time of the move in progress ends; None before its first hop."""
        self.stopped = threading.Event()

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        self.until[board], self.clocks[board], self.plies[board] = None, clock, 0
        self.searcher.tree_batch.info[board]["rng"] = np.uint64(stream)
        self.searcher.set_root(board, self.player.spec.state(position))

    def actions(self, boards: Sequence[int]) -> list[int]:
        self.stopped.clear()
        if not self.player.timed:
            self.visits[:] = 0
            for board in boards:
                self.visits[board] = 1 if self._forced(board) else self.player.sims
            while self.searcher.step(self.visits) and not self.stopped.is_set():
                pass
            self.searcher.flush()
        else:
            for board in boards:
                self._search_by_time(board)
        return [self.searcher.best(board) for board in boards]

    def play(self, board: int, action: int) -> None:
        self.searcher.play(board, action)
        if self.searcher.root(board)["sign"] < 0:  # the turn has passed: the move is complete
            self.until[board] = None
            self.plies[board] += 1

    def stop(self) -> None:
        self.stopped.set()

    def figures(self, board: int) -> list[ActionFigures]:
        return [
            ActionFigures(
                int(edge["action"]),
                int(edge["visits"]),
                float(edge["value_sum"]) / int(edge["visits"]) if edge["visits"] else None,
                float(edge["prior"]),
            )
            for edge in self.searcher.root_edges(board)
        ]

    def close(self) -> None:
        pass

    def _forced(self, board: int) -> bool:
        return int(self.searcher.root(board)["num_edges"]) == 1

    def _search_by_time(self, board: int) -> None:
        """Search for one hop in what is left of the time of the move."""
        searcher, begun = self.searcher, time.perf_counter()
        until = self.until[board]
        if until is None:
            spare = self._time_of_move(board)
            until = self.until[board] = MoveTime(begun + spare.optimum, begun + spare.maximum)
        self.visits[:] = 0
        self.visits[board] = 1
        searcher.run(self.visits)  # the root is evaluated under any limit
        if self._forced(board):
            return
        left = MoveTime(max(0.0, until.optimum - begun), max(0.0, until.maximum - begun))
        by_clock = self.clocks[board] is not None
        thinking = MoveTimer(left, begun, int(searcher.root(board)["visits"]), early=by_clock)
        max_visits = np.iinfo(np.int32).max
        while not self.stopped.is_set():
            visits = int(searcher.root(board)["visits"])
            if thinking.ended(time.perf_counter(), visits, lambda: searcher.root_lead(board)):
                break
            self.visits[board] = min(max_visits, visits + searcher.in_flight + MAX_STEP_SIMULATIONS)
            if not searcher.step(self.visits) and searcher.root(board)["visits"] == visits:
                break
        searcher.flush()

    def _time_of_move(self, board: int) -> MoveTime:
        clock, margin = self.clocks[board], self.searcher.time_margin
        if clock is None:
            seconds = self.player.seconds
            assert seconds is not None, "a player with a time control was given no clock"
            return MoveTime(seconds, seconds)
        return move_time(clock.left, clock.control.increment, clock.moves, self.plies[board], margin)
