"""`Group`: the games that one thread of self-play plays, with their trees and their batch of leaves.

Also what the settings of self-play are in the search: constants, rules of play, memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.evaluators.calling import evaluate_into, no_edge_error, non_finite_error
from ckai.rl.games.contract import as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import allocate_trees, tree_batch_bytes
from ckai.rl.search.batch import set_root_state
from ckai.rl.search.inline_search import InlineNetwork, evaluate_slots, inline_network
from ckai.rl.search.selection import ALPHAZERO_C_BASE, GUMBEL, PUCT, SearchConstants
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.recording import (
    FINISHED,
    IDLE,
    NO_EDGE,
    NOT_FINITE,
    PlayRules,
    advance,
    begin_record,
    make_records,
)
from ckai.rl.selfplay.rows import PLAYER_NAME, FinishedGame, copy_game


def search_constants(config: SelfPlayConfig) -> SearchConstants:
    """Return the constants of a full search."""
    return SearchConstants(
        c_init=config.c_puct,
        c_base=ALPHAZERO_C_BASE,
        noise_alpha=config.noise_alpha,
        noise_epsilon=config.noise_epsilon,
        root_rule=GUMBEL if config.root_rule == "gumbel" else PUCT,
        c_scale=config.gumbel_scale,
    )


def play_rules(config: SelfPlayConfig) -> PlayRules:
    """Return how moves are chosen and games end."""
    return PlayRules(
        visits=config.sims,
        full_search_prob=config.full_search_prob,
        fast_visits=min(config.fast_visits, config.sims),
        temperature=max(config.temperature, 1e-6),
        temperature_plies=config.temperature_plies,
        temperature_halflife=config.temperature_halflife,
        max_plies=config.max_plies,
        resign=config.resign,
        resign_disabled_prob=config.resign_disabled_prob,
    )


def search_rules(config: SelfPlayConfig, spec: GameSpec, tables: Tables | None = None) -> Any:
    """Return the game's rules with the draw limit of the settings and, if given, tablebases."""
    return spec.make_rules(tables, halfmove_limit=config.halfmove_limit)


def memory(config: SelfPlayConfig, spec: GameSpec = DEFAULT_GAME) -> int:
    """Return the memory in bytes of the trees and records of a run."""
    rules = search_rules(config, spec)
    group_size = config.group_size
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


class Group:
    """Games played at the same time by one thread, one per tree, with one batch of leaves."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: SelfPlayConfig,
        spec: GameSpec,
        trees: int,
        take: Callable[[], int | None],
        starts: Callable[[int], Any],
        *,
        seed: int,
        tables: Tables | None = None,
        pool: Pool | None = None,
        name: str = PLAYER_NAME,
    ) -> None:
        """Allocate the trees and start the first games.

        Args:
            evaluator: evaluates the leaves.
            config: the settings.
            spec: the game.
            trees: T, most games at the same time.
            take: returns the number of the next game to play, None if there will be none.
            starts: first position of a game by its number.
            seed: of the run.
            tables: tablebases; None: none.
            pool: past networks as opponents; None: none.
            name: name of the network in PDN.
        """
        self.evaluator, self.spec, self.name = evaluator, spec, name
        self.pool = pool if pool is not None and pool.generations else None
        self.take, self.seed, self.starts = take, seed, starts
        self.inline: InlineNetwork | None = None
        """The integer network that the kernels evaluate."""
        if isinstance(evaluator, IntegerEvaluator) and self.pool is None:
            self.inline = inline_network(evaluator, spec.rules)
        self.game = search_rules(config, spec, tables)
        self.constants, self.rules = search_constants(config), play_rules(config)
        # Under GUMBEL the noise is what draws the action: without it all games would be one.
        self.fast = self.constants._replace(noise_epsilon=0.0)
        """Constants of searches that are not full."""
        self.tree_batch = allocate_trees(self.game, trees, config.tree_nodes, 1, transpositions=True)
        self.records = make_records(self.game, trees, config.max_plies)
        self.opponents = np.zeros(trees, np.int64)
        """[T] index in the pool of the opponent in each tree."""
        self.logits = np.zeros((trees, self.game.NUM_ACTIONS), np.float32)
        self.values = np.zeros(trees, np.float32)
        self._advance: Any = None
        self.slots: int = 0
        """Leaves in the batch."""
        self.simulations: int = 0
        """Simulations that `progress` has counted."""
        for t in range(trees):
            self.start(t)

    def start(self, t: int) -> None:
        """Start the next game in tree `t`, if there is one."""
        number = self.take()
        if number is None:
            self.records.games[t]["status"] = IDLE
            return
        state = self.spec.state(self.starts(number))
        self.tree_batch.info[t]["rng"] = seed_stream(self.seed, number)
        set_root_state(self.game, self.tree_batch, t, state, np.zeros((0, len(state)), np.int64))
        begin_record(self.records, t, number)
        resigns, searches = np.random.default_rng((self.seed, number, 1)).random(2)
        self.records.games[t]["resign_disabled"] = resigns < self.rules.resign_disabled_prob
        self.records.games[t]["full"] = searches < self.rules.full_search_prob
        opponent = self.pool.opponent(number) if self.pool else None
        if opponent is not None:
            self.records.games[t]["opponent"] = 1 if opponent.moves_first else 2
            self.opponents[t] = opponent.index

    def with_player_names(self, game: FinishedGame) -> FinishedGame:
        """Return the game with the names of the networks that played it."""
        game = replace(game, black=self.name, white=self.name)
        opponent = self.pool.opponent(game.number) if self.pool else None
        if self.pool is None or opponent is None or not len(game.rows):
            return game
        first = game.rows[0]["state"]
        black = self.spec.position(as_state(first)).black == opponent.moves_first
        name = self.pool.name(opponent)
        return replace(game, black=name) if black else replace(game, white=name)

    def evaluate(self) -> None:
        """Evaluate the batch; each tree is searched with the network of the side to move at its root."""
        n = self.slots
        boards, logits, values = self.tree_batch.boards[:n], self.logits[:n], self.values[:n]
        if self.inline is not None:
            evaluate_slots(self.inline, self.tree_batch, n, self.logits, self.values)
            return
        if self.pool is None:
            evaluate_into(self.evaluator, boards, logits, values)
            return
        trees = self.tree_batch.slots["tree"][:n]
        games = self.records.games[trees]
        players = np.where(games["opponent"] == games["side"] + 1, self.opponents[trees], -1)
        for player in np.unique(players).tolist():
            evaluator = self.evaluator if player < 0 else self.pool.evaluators[player]
            rows = np.flatnonzero(players == player)
            some_logits, some_values = logits[rows], values[rows]
            evaluate_into(evaluator, boards[rows], some_logits, some_values)
            logits[rows], values[rows] = some_logits, some_values

    def step(self, on_game: Callable[[FinishedGame], None], progress: SelfPlayCounts) -> bool:
        """Play and search until the next batch is full, and evaluate it.

        Args:
            on_game: called with each finished game.
            progress: counts that are increased.

        Returns:
            Whether any game is still in progress.

        Raises:
            ValueError: the evaluator answered with another shape, or with numbers that are not finite; or a
                tree has a node without an edge to follow.
        """
        arguments = (
            self.game,
            self.tree_batch,
            self.records,
            self.constants,
            self.fast,
            self.rules,
            self.slots,
            self.logits,
            self.values,
        )
        if self._advance is None:
            self._advance = compile_for(advance, *arguments)
        slots, finished, simulations = self._advance(*arguments)
        if slots == NOT_FINITE:
            raise non_finite_error(self.evaluator)
        if slots == NO_EDGE:
            raise no_edge_error(self.evaluator)
        self.slots = slots
        if finished:
            for t in np.flatnonzero(self.records.games["status"] == FINISHED).tolist():
                on_game(self.with_player_names(copy_game(self.records, t, self.spec)))
                self.start(t)
        if slots:
            self.evaluate()
            progress.evaluations += slots
        progress.simulations += simulations - self.simulations
        self.simulations = simulations
        return bool(slots or finished)
