"""`Group`: the games that one thread of self-play plays, with their trees and their batch of leaves.

Also what the settings of self-play are in the search: constants, rules of play, memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Evaluator, non_finite_error
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import allocate_trees, tree_batch_bytes
from ckai.rl.search.batch import set_root_state
from ckai.rl.search.inline_search import InlineNetwork, evaluate_slots, inline_network
from ckai.rl.search.selection import ALPHAZERO_C_BASE, SearchConstants
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.pool import Pool, player_name
from ckai.rl.selfplay.recording import (
    FINISHED,
    IDLE,
    NOT_FINITE,
    PLAYING,
    PlayRules,
    advance,
    begin_record,
    make_records,
)
from ckai.rl.selfplay.rows import FinishedGame, copy_game


def memory(config: SelfPlayConfig, spec: GameSpec = DEFAULT_GAME) -> int:
    """Return the memory in bytes of the trees and records of a run."""
    rules, group_size = spec.make_rules(), config.group_size
    records = make_records(rules, 1, config.max_plies)
    trees = tree_batch_bytes(rules, group_size, config.tree_nodes, 1, transpositions=True)
    return config.group_count * (trees + group_size * (records.rows.nbytes + records.counts.nbytes))


@dataclass
class SelfPlayCounts:
    """What self-play has done so far; may be read at any time, from any thread."""

    games: int = 0
    """Games finished."""
    rows: int = 0
    """Rows of these games, one per hop."""
    evaluations: int = 0
    """Positions evaluated."""
    simulations: int = 0
    """Simulations of all searches, those that ended in a proven position included."""


class Player(NamedTuple):
    """The networks that play."""

    evaluator: Evaluator
    """The newest network."""
    network: int = 0
    """Its number in the run."""
    pool: Pool | None = None
    """Past networks as opponents; None: none."""

    def close(self) -> None:
        """Close the evaluators."""
        for evaluator in (self.evaluator, *(self.pool.evaluators.values() if self.pool else ())):
            evaluator.close()


class Group:
    """Games played at the same time by one thread, one per tree, with one batch of leaves."""

    def __init__(
        self,
        player: Player,
        config: SelfPlayConfig,
        spec: GameSpec,
        trees: int,
        take: Callable[[], int | None],
        starts: Callable[[int], Any],
        *,
        seed: int,
        tables: Tables | None = None,
    ) -> None:
        """Allocate the trees and start the first games.

        Args:
            player, config, spec, seed, tables: see `play_games`.
            trees: T, most games at the same time.
            take: returns the number of the next game to play, None if there is none.
            starts: first position of a game by its number.
        """
        self.config, self.spec, self.take, self.seed, self.starts = config, spec, take, seed, starts
        self.game = spec.make_rules(tables)
        self.constants = SearchConstants(
            config.c_puct, ALPHAZERO_C_BASE, config.noise_alpha, config.noise_epsilon
        )
        self.rules = PlayRules(*(getattr(config, name) for name in PlayRules._fields))
        self.tree_batch = allocate_trees(self.game, trees, config.tree_nodes, 1, transpositions=True)
        self.records = make_records(self.game, trees, config.max_plies)
        self.opponents = np.zeros(trees, np.int64)
        """[T] network that is the opponent in each tree whose game has one."""
        self.played: list[list[tuple[int, int]]] = [[] for _ in range(trees)]
        """[T] first row that each network has played in the game, and its number."""
        self.logits = np.zeros((trees, self.game.NUM_ACTIONS), np.float32)
        self.values = np.zeros(trees, np.float32)
        self._advance: Any = None
        self.slots: int = 0
        """Leaves in the batch."""
        self.simulations: int = 0
        """Simulations that `progress` has counted."""
        self._set(player)
        self.idle = True
        """Whether a tree may be without a game."""
        self.begin_games()

    def _set(self, player: Player) -> None:
        self.player, self.evaluator = player, player.evaluator
        self.pool = player.pool if player.pool is not None and player.pool.evaluators else None
        self.inline: InlineNetwork | None = None
        """The integer network that the kernels evaluate."""
        if isinstance(self.evaluator, IntegerEvaluator) and self.pool is None:
            self.inline = inline_network(self.evaluator, self.spec.rules)

    def change(self, player: Player) -> None:
        """Play on with other networks: the games in progress too, each from its next move.

        A game whose opponent is none of them is played on by the newest network alone.
        """
        self._set(player)
        games = self.records.games
        there = list(self.pool.evaluators) if self.pool else []
        games["opponent"][~np.isin(self.opponents, there)] = 0
        for t in np.flatnonzero(games["status"] == PLAYING).tolist():
            self.played[t].append((int(games[t]["rows"]), player.network))

    def begin_games(self) -> None:
        """Begin a game in every tree that is without one, as long as there are numbers."""
        if self.idle:
            self.idle = False
            for t in np.flatnonzero(self.records.games["status"] == IDLE).tolist():
                self.start(t)
                if self.idle:
                    return

    def start(self, t: int) -> None:
        """Start the next game in tree `t`, if there is one."""
        number = self.take()
        if number is None:
            self.records.games[t]["status"], self.idle = IDLE, True
            return
        state = self.spec.state(self.starts(number))
        self.tree_batch.info[t]["rng"] = seed_stream(self.seed, number)
        set_root_state(self.game, self.tree_batch, t, state, np.zeros((0, len(state)), np.int64))
        begin_record(self.records, t, number)
        drawn = np.random.default_rng((self.seed, number, 1)).random()
        self.records.games[t]["resign_disabled"] = drawn < self.config.resign_disabled_prob
        self.played[t] = [(0, self.player.network)]
        opponent = self.pool.opponent(number) if self.pool else None
        if opponent is not None:
            self.records.games[t]["opponent"] = 1 if opponent.moves_first else 2
            self.opponents[t] = opponent.network

    def finished(self, t: int) -> FinishedGame:
        """Return the game of tree `t` with the networks that played it."""
        opponent = int(self.records.games[t]["opponent"])
        newest, past = player_name(self.player.network), player_name(int(self.opponents[t]))
        names = (past if opponent == 1 else newest, past if opponent == 2 else newest)
        return copy_game(self.records, t, self.spec, names, self.played[t])

    def evaluate(self) -> None:
        """Evaluate the batch; each tree is searched with the network of the side to move at its root."""
        n = self.slots
        boards, logits, values = self.tree_batch.boards[:n], self.logits[:n], self.values[:n]
        if self.inline is not None:
            evaluate_slots(self.inline, self.game, self.tree_batch, n, self.logits, self.values)
            return
        if self.pool is None:
            self.evaluator.evaluate(boards, logits, values)
            return
        trees = self.tree_batch.slots["tree"][:n]
        games = self.records.games[trees]
        networks = np.where(games["opponent"] == games["side"] + 1, self.opponents[trees], -1)
        for network in np.unique(networks).tolist():
            evaluator = self.evaluator if network < 0 else self.pool.evaluators[network]
            rows = np.flatnonzero(networks == network)
            some_logits, some_values = logits[rows], values[rows]
            evaluator.evaluate(boards[rows], some_logits, some_values)
            logits[rows], values[rows] = some_logits, some_values

    def step(self, on_game: Callable[[FinishedGame], None], progress: SelfPlayCounts) -> bool:
        """Play and search until the next batch is full, and evaluate it.

        Returns whether any game is still in progress. A ValueError says that the evaluator answered with
        another shape, or with numbers that are not finite.
        """
        state = (self.game, self.tree_batch, self.records, self.constants, self.rules)
        arguments = (*state, self.slots, self.logits, self.values)
        if self._advance is None:
            self._advance = compile_for(advance, *arguments)
        slots, finished, simulations = self._advance(*arguments)
        if slots == NOT_FINITE:
            raise non_finite_error(self.evaluator)
        self.slots = slots
        if finished:
            for t in np.flatnonzero(self.records.games["status"] == FINISHED).tolist():
                on_game(self.finished(t))
                self.start(t)
        if slots:
            self.evaluate()
            progress.evaluations += slots
        progress.simulations += simulations - self.simulations
        self.simulations = simulations
        return bool(slots or finished)
