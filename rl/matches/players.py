"""Players of matches, which choose actions (hops) for several boards at once."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.factory import make_searcher, measured_pacing
from ckai.rl.search.pacing import SIZES
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants

POLICY_SIMS = 2
"""Visits that play the most likely move of the policy: the root and that move."""


class ActionFigures(NamedTuple):
    """An action at the root of a search."""

    action: int
    visits: int
    value: float | None
    """Mean value for the side that plays it, [-1, 1]; None without visits."""
    prior: float


class Side(Protocol):
    """A player's state on its boards; `play` passes it every action of both sides."""

    def start(self, board: int, position: Any, stream: int) -> None:
        """Start a game on a board; `stream` seeds its random choices."""

    def actions(self, boards: Sequence[int]) -> list[int]:
        """Return the action for each of these boards, where the player is to move."""

    def play(self, board: int, action: int) -> None:
        """Apply an action of either side."""

    def stop(self) -> None:
        """Make `actions` return soon; may be called from any thread. Players that cannot do it do nothing."""

    def figures(self, board: int) -> list["ActionFigures"]:
        """Return what the last search of a board says of its actions; empty if there was no tree search."""

    def close(self) -> None:
        """Release all resources."""


class Player(Protocol):
    """A player of matches."""

    @property
    def timed(self) -> bool:
        """Whether the player moves by time, so that each thread plays one board at a time."""

    def sit(self, boards: int) -> Side:
        """Create the state for `boards` boards; called once per thread of a match."""


@dataclass(frozen=True)
class SearchPlayer:
    """A tree search; plays the most visited move, without noise or temperature."""

    evaluator: Evaluator
    sims: int
    """Visits per hop: each hop of a capture of several is searched with as many."""
    constants: SearchConstants | None = None
    """Constants of the search; None: the defaults for the evaluator."""
    tables: Tables | None = None
    """Tablebases to probe."""
    seconds: float | None = None
    """Time per move, all hops of a capture together; replaces `sims`. Batches in flight are completed."""
    spec: GameSpec = DEFAULT_GAME
    """The game."""

    @property
    def timed(self) -> bool:
        """See `Player`."""
        return self.seconds is not None

    def searcher(self, trees: int) -> Searcher:
        """Create a searcher for `trees` games at once."""
        rules = self.spec.make_rules(self.tables)
        if self.seconds is not None:
            searcher = make_searcher(
                self.evaluator,
                trees=trees,
                nodes=max(LEAST_TIMED_NODES, int(TIMED_NODES_PER_SECOND * self.seconds)),
                leaves=max(SIZES),
                constants=self.constants,
                game=rules,
            )
            searcher.pacing = measured_pacing(self.evaluator, rules)
            return searcher
        return make_searcher(
            self.evaluator, trees=trees, nodes=self.sims + 3, constants=self.constants, game=rules
        )

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _SearchSide(self, self.searcher(boards), boards)


LEAST_TIMED_NODES, TIMED_NODES_PER_SECOND = 100_000, 300_000
"""Capacity of a tree for a search by time: more than any evaluator reaches, with what earlier moves leave."""


class _SearchSide:
    def __init__(self, player: SearchPlayer, searcher: Searcher, boards: int) -> None:
        self.player, self.searcher = player, searcher
        self.visits = np.zeros(boards, np.int32)
        self.until: list[float | None] = [None] * boards
        """By time: when the time of the move in progress ends; None before its first hop."""
        self.stopped = threading.Event()

    def start(self, board: int, position: Any, stream: int) -> None:
        self.until[board] = None
        self.searcher.tree_batch.info[board]["rng"] = np.uint64(stream)
        self.searcher.set_root(board, self.player.spec.state(position))

    def actions(self, boards: Sequence[int]) -> list[int]:
        self.stopped.clear()
        if self.player.seconds is None:
            self.visits[:] = 0
            for board in boards:
                self.visits[board] = 1 if self._forced(board) else self.player.sims
            while self.searcher.step(self.visits) and not self.stopped.is_set():
                pass
            self.searcher.flush()
        else:
            for board in boards:
                self._search_by_time(board, self.player.seconds)
        return [self.searcher.best(board) for board in boards]

    def play(self, board: int, action: int) -> None:
        self.searcher.play(board, action)
        if self.searcher.root(board)["sign"] < 0:  # the turn has passed: the move is complete
            self.until[board] = None

    def stop(self) -> None:
        self.stopped.set()

    def figures(self, board: int) -> list[ActionFigures]:
        root = self.searcher.root(board)
        first = int(root["first_edge"])
        return [
            ActionFigures(
                int(edge["action"]),
                int(edge["visits"]),
                float(edge["value_sum"]) / int(edge["visits"]) if edge["visits"] else None,
                float(edge["prior"]),
            )
            for edge in self.searcher.tree_batch.edges[board][first : first + int(root["num_edges"])]
        ]

    def close(self) -> None:
        pass

    def _forced(self, board: int) -> bool:
        return int(self.searcher.root(board)["num_edges"]) == 1

    def _search_by_time(self, board: int, seconds: float) -> None:
        """Search for one hop in what is left of the time of the move."""
        until = self.until[board]
        if until is None:
            until = self.until[board] = time.perf_counter() + seconds
        self.visits[:] = 0
        self.visits[board] = 1
        self.searcher.run(self.visits)  # the root is evaluated under any limit
        if not self._forced(board):
            self.visits[board] = np.iinfo(np.int32).max
            while time.perf_counter() < until and self.searcher.step(self.visits):
                if self.stopped.is_set():
                    break
            self.searcher.flush()


class MoveSide(ABC):
    """A side that chooses whole moves, one board at a time; subclasses implement `choose`."""

    def __init__(self, boards: int, spec: GameSpec = DEFAULT_GAME) -> None:
        self.spec = spec
        self.games = [spec.game(spec.position()) for _ in range(boards)]
        self.hops: list[list[int]] = [[] for _ in range(boards)]
        self.plans: list[list[int]] = [[] for _ in range(boards)]
        self.random = [np.random.default_rng(0) for _ in range(boards)]

    @abstractmethod
    def choose(self, game: Any, random: np.random.Generator) -> Any:
        """Return the move to play."""

    def start(self, board: int, position: Any, stream: int) -> None:
        """See `Side`."""
        self.games[board] = self.spec.game(position)
        self.hops[board], self.plans[board] = [], []
        self.random[board] = np.random.default_rng(stream)

    def actions(self, boards: Sequence[int]) -> list[int]:
        """See `Side`."""
        for board in boards:
            if not self.plans[board]:
                self.plans[board] = list(self.choose(self.games[board], self.random[board]).actions)
        return [self.plans[board][0] for board in boards]

    def play(self, board: int, action: int) -> None:
        """See `Side`."""
        self.plans[board] = self.plans[board][1:]
        self.hops[board].append(action)
        game = self.games[board]
        whole = game.position.move_of(self.hops[board])
        if whole is not None:
            game.push(whole)
            self.hops[board] = []

    def stop(self) -> None:
        """See `Side`."""
        return

    def figures(self, board: int) -> list[ActionFigures]:
        """See `Side`."""
        return []

    def close(self) -> None:
        """See `Side`."""
        self.games.clear()


class _RandomSide(MoveSide):
    def choose(self, game: Any, random: np.random.Generator) -> Any:
        moves = game.position.legal_moves()
        return moves[random.integers(len(moves))]


@dataclass(frozen=True)
class RandomPlayer:
    """Plays a random legal move, uniformly distributed."""

    spec: GameSpec = DEFAULT_GAME
    timed = False

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _RandomSide(boards, self.spec)


class _PerfectSide(MoveSide):
    def choose(self, game: Any, random: np.random.Generator) -> Any:
        moves = game.position.legal_moves()
        values = [self.spec.solve(game.position.push(move)) for move in moves]
        best = [move for move, value in zip(moves, values, strict=True) if value == min(values)]
        return best[random.integers(len(best))]


@dataclass(frozen=True)
class PerfectPlayer:
    """Plays a random optimal move, in games small enough to solve."""

    spec: GameSpec
    timed = False

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _PerfectSide(boards, self.spec)
