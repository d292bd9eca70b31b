"""A group of games that share a batch: what one thread of self-play works on."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.cache import WAYS, CachedEvaluator
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.contract import as_state
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import allocate_trees
from ckai.rl.search.batch import play_root_action
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.recording import FINISHED, IDLE, PLAYING, advance, start_game, make_records
from ckai.rl.selfplay.rows import FinishedGame, copy_game, with_table_results
from ckai.rl.selfplay.setup import play_rules, search_constants, search_rules
from ckai.rl.selfplay.snapshots import GameSnapshot

if TYPE_CHECKING:
    from ckai.rl.selfplay.config import SelfPlayConfig
    from ckai.rl.selfplay.progress import SelfPlayCounts


class Group:
    """Games that share a batch: one tree_batch, and what the games have written down."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: "SelfPlayConfig",
        spec: GameSpec,
        pool: Pool | None,
        tables: Tables | None,
        numbers: list[int],
        seed: int,
        starts: Callable[[int], Any],
        unfinished: Mapping[int, GameSnapshot],
    ) -> None:
        self.pool = pool if pool is not None and pool.generations else None
        self.spec, self.seed, self.starts, self.unfinished = spec, seed, starts, unfinished
        self.evaluator: Evaluator = evaluator
        self.cache: CachedEvaluator | None = None
        if config.cache_positions:
            share = config.cache_positions // config.group_count
            self.evaluator = self.cache = CachedEvaluator(evaluator, max(WAYS, share), spec.rules)
        trees = min(-(-config.in_flight // config.group_count), len(numbers))
        self.game = search_rules(config, spec, tables)
        self.truth = tables if config.tables_mode == "label" else None
        self.tree_batch = allocate_trees(self.game, trees, config.tree_nodes, config.leaves)
        self.records = make_records(self.game, trees, config.max_plies)
        batch = trees * config.leaves
        self.logits, self.values = (
            np.zeros((batch, self.game.NUM_ACTIONS), np.float32),
            np.zeros(batch, np.float32),
        )
        self.constants, self.rules = search_constants(config), play_rules(config)
        self.fast = self.constants._replace(noise_epsilon=0.0, gumbel_noise=0.0, root_temperature=1.0)
        self.opponents = np.zeros(trees, np.int64)
        """[T] which evaluator evaluates for the opponent in each tree."""
        self.waiting = iter(numbers)
        self.slots: int = 0
        self.simulations: int = 0
        self.hits: int = 0
        for t in range(trees):
            self.start(t)

    def start(self, t: int) -> None:
        """Begin the next game in tree `t`, or go on with it where it was left."""
        number = next(self.waiting, None)
        if number is None:
            self.records.games[t]["status"] = IDLE
            return
        left = self.unfinished.get(number)
        if left is None:
            state = self.spec.state(self.starts(number))
        else:
            state = as_state(left.rows[0]["state"])
        stream = np.uint64(seed_stream(self.seed, number))
        first = tuple(np.int64(word) for word in state)
        start_game(self.game, self.tree_batch, self.records, self.rules, t, number, first, stream)
        seat = self.pool.opponent(number) if self.pool else None
        if seat is not None:
            self.records.games[t]["opponent"] = 1 if seat.first else 2
            self.opponents[t] = seat.opponent
        if left is not None:
            self.restore(t, left)

    def restore(self, t: int, left: GameSnapshot) -> None:
        """Bring the game that has begun in tree `t` to where it was left."""
        records = self.records
        for row in left.rows:
            play_root_action(self.game, self.tree_batch, t, int(row["action"]))
        n, v, last = len(left.rows), len(left.counts), left.rows[-1]
        records.rows[t, :n], records.counts[t, :v] = left.rows, left.counts
        passed = int(self.tree_batch.nodes[t, 0]["sign"]) < 0
        here = records.games[t]
        here["rows"], here["counts"] = n, v
        here["side"] = int(last["side"]) ^ passed
        here["ply"] = int(last["ply"]) + passed
        here["hop"] = 0 if passed else int(last["hop"]) + 1
        here["resigner"] = self._would_have_resigned(left.rows)
        self.tree_batch.info[t]["rng"] = left.rng

    def _would_have_resigned(self, rows: NDArray[Any]) -> int:
        """See `recording.GAME`."""
        if not self.rules.resign:
            return 0
        where = (rows["q"].astype(np.float64) <= -self.rules.resign) & (rows["hop"] == 0)
        where[0] = False
        return int(rows["side"][where.argmax()]) + 1 if where.any() else 0

    def snapshots(self) -> list[GameSnapshot]:
        """Copies of the games that have begun and not ended."""
        games = []
        begun = (self.records.games["status"] == PLAYING) & (self.records.games["rows"] > 0)
        for t in np.flatnonzero(begun).tolist():
            game = copy_game(self.records, t, self.spec)
            games.append(
                GameSnapshot(game.number, game.rows, game.counts, int(self.tree_batch.info[t]["rng"]))
            )
        return games

    def named(self, game: FinishedGame) -> FinishedGame:
        """The game with the name of the opponent, if there was one."""
        seat = self.pool.opponent(game.number) if self.pool else None
        if self.pool is None or seat is None or not len(game.rows):
            return game
        first = game.rows[0]["state"]
        black = self.spec.position(as_state(first)).black == seat.first
        name = self.pool.name(seat)
        return replace(game, black=name) if black else replace(game, white=name)

    def evaluate(self, slots: int) -> None:
        """Evaluate the batch, each leaf by the network of the side that its tree is searched for."""
        f = self.tree_batch
        if self.pool is None:
            evaluate_into(self.evaluator, f.boards[:slots], self.logits[:slots], self.values[:slots])
            return
        trees = f.slots["tree"][:slots]
        games = self.records.games[trees]
        players = np.where(games["opponent"] == games["side"] + 1, self.opponents[trees], -1)
        for player in np.unique(players).tolist():
            evaluator = self.evaluator if player < 0 else self.pool.evaluators[player]
            mine = np.flatnonzero(players == player)
            logits, values = self.logits[mine], self.values[mine]
            evaluate_into(evaluator, f.boards[mine], logits, values)
            self.logits[mine], self.values[mine] = logits, values

    def step(self, on_game: Callable[[FinishedGame], None], progress: "SelfPlayCounts") -> bool:
        """Search up to the next batch, and evaluate it. Returns whether there is more to do."""
        slots, finished = advance(
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
        if slots < 0:
            raise non_finite_error(self.evaluator)
        self.slots = slots
        if finished:
            for t in np.flatnonzero(self.records.games["status"] == FINISHED).tolist():
                game = self.named(copy_game(self.records, t, self.spec))
                on_game(game if self.truth is None else with_table_results(game, self.truth))
                self.start(t)
        if slots:
            self.evaluate(slots)
            progress.evaluations += slots
            if self.cache:
                progress.cache_hits += self.cache.hits - self.hits
                self.hits = self.cache.hits
        simulations = int(self.tree_batch.info["simulations"].sum())
        progress.simulations += simulations - self.simulations
        self.simulations = simulations
        return bool(slots or finished)
