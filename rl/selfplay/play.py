"""Self-play: plays many games at once, so that the network evaluates large batches.

The games are divided into groups. Each group has one batch of trees, one batch of leaves and one thread:
while one group waits for the network, the others search, in kernels that release the GIL. A group's games,
their random streams and its batches depend on the settings and the seed alone, not on the timing of the
threads.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, repeat
from operator import length_hint
from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.split import seed_stream
from ckai.datasets.tables import Tables
from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Evaluator, non_finite_error
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import run_all, use_one_torch_thread
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import allocate_trees, tree_batch_bytes
from ckai.rl.search.batch import set_root_state
from ckai.rl.search.inline_search import InlineNetwork, evaluate_slots, inline_network
from ckai.rl.search.selection import ALPHAZERO_C_BASE, SearchConstants
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig, StartConfig
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
from ckai.rl.selfplay.shards import FinishedGame, copy_game, to_table

IDLE_SECONDS = 0.1
"""Time after which a group that has nothing to play asks for numbers again."""


class Starts:
    """The starting position of every game, the initial one or an opening: `starts(number)`.

    It depends on the seed and the number of the game alone.
    """

    def __init__(self, config: StartConfig, seed: int, spec: GameSpec = DEFAULT_GAME) -> None:
        """Compute the openings if they are needed."""
        self.config, self.seed, self.spec = config, seed, spec
        self.openings = spec.openings(config.opening_plies) if config.opening_share else ()

    def __call__(self, number: int) -> Any:
        """Return the starting position of game `number`."""
        rng = np.random.default_rng(seed_stream(self.seed, number))
        if rng.random() < self.config.opening_share:
            return self.openings[int(rng.integers(len(self.openings)))]
        return self.spec.position()


class Opponent(NamedTuple):
    """The past network in one game."""

    network: int
    """Its number: the generation that trained it, 0 for the first one."""
    moves_first: bool
    """Whether it plays the first player."""


class Pool(NamedTuple):
    """The past networks that play one side in a share of the games, each side searching with its own network.

    Which games have an opponent, which one and on which side depends on the seed and the number of the game
    alone. Only the moves of the newest network have policy targets.
    """

    config: PoolConfig
    seed: int
    evaluators: Mapping[int, Evaluator]
    """By their numbers, oldest first."""

    def opponent(self, number: int) -> Opponent | None:
        """Return the opponent in game `number`, or None if the newest network plays both sides."""
        if not self.evaluators or not self.config.share:
            return None
        rng = np.random.default_rng(seed_stream(self.seed, number))
        if rng.random() >= self.config.share:
            return None
        networks = list(self.evaluators)
        return Opponent(networks[int(rng.integers(len(networks)))], bool(rng.integers(2)))


def player_name(generation: int) -> str:
    """Return the player name in PDN of the network that was trained in a generation; 0: the first one."""
    return f"ckai generation {generation}"


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
        self.pool = player.pool
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


class Numbers:
    """Numbers of games, handed out as boards are free; called by the threads of all groups."""

    def __init__(
        self,
        sources: Sequence[Iterator[int]],
        most: int,
        *,
        others: Callable[[], int] = lambda: 0,
        endless: bool = False,
    ) -> None:
        """Begin.

        Args:
            sources: the numbers of each group; groups may share an iterator.
            most: how many are handed out in all, or until `renew`.
            others: returns the number of games that others have played in place of these.
            endless: whether a group that got None asks again.
        """
        self.sources, self.endless = sources, endless
        self._most, self._others, self._lock = most, others, threading.Lock()
        self.renew()

    @classmethod
    def fixed(
        cls,
        numbers: Iterable[int],
        groups: int,
        have: Collection[int] = (),
        others: Callable[[], int] = lambda: 0,
    ) -> "Numbers":
        """Return some numbers, without those of games that were played before.

        Of N groups, group g plays those at g, g + N, g + 2 N, ... No more are begun than are missing, so
        every game that was begun counts.
        """
        missing = [number for number in numbers if number not in have]
        sources = [iter(missing[group::groups]) for group in range(groups)]
        return cls(sources, len(missing), others=others)

    @classmethod
    def counting(cls, groups: int, most: int) -> "Numbers":
        """Return the numbers from 0 on, of which `most` are handed out between two calls of `renew`."""
        return cls([count()] * groups, most, endless=True)

    def renew(self) -> None:
        """Hand out as many again, as there is a new network."""
        self._left = self._most

    def take(self, group: int) -> int | None:
        """Return the number of the next game of a group; None: there is none."""
        with self._lock:
            number = next(self.sources[group], None) if self._left > self._others() else None
            self._left -= number is not None
            return number


def play_games(
    evaluator: Evaluator | Callable[[], Player],
    config: SelfPlayConfig,
    numbers: Sequence[int] | Numbers,
    *,
    seed: int,
    on_game: Callable[[FinishedGame], None],
    spec: GameSpec = DEFAULT_GAME,
    starts: Callable[[int], Any] | None = None,
    progress: SelfPlayCounts | None = None,
    stop: threading.Event | None = None,
) -> SelfPlayCounts:
    """Play games of self-play and pass each to a callback as it ends.

    Args:
        evaluator: evaluates the leaves; called by several threads. Or a function that returns who plays:
            it is asked before every batch, and games in progress continue with the networks that it returns
            then. Those that no group plays with any more are closed, the last ones by the caller.
        config: the settings.
        numbers: numbers of the games to play, or a source of them for `config.group_count` groups; number
            and seed give a game its random stream.
        seed: of the run.
        on_game: called with each finished game, one call at a time.
        spec: the game.
        starts: starting position of a game by its number; None: the initial position.
        progress: counts that are increased during the call.
        stop: event to set for an early end; the games in progress are dropped.

    Returns:
        `progress`, or new counts if that is None.

    Raises:
        ValueError: there are no tablebases of `config.tables` pieces.
        Exception: whatever the evaluator or a callback raised, once all threads have ended.
    """
    newest = evaluator if callable(evaluator) else repeat(Player(evaluator)).__next__
    tables = Tables.open(config.tables) if config.tables else None
    progress = progress if progress is not None else SelfPlayCounts()
    stop = stop or threading.Event()
    lock = threading.Lock()
    groups = config.group_count
    source = numbers if isinstance(numbers, Numbers) else Numbers.fixed(numbers, groups)
    first = newest()
    playing = [first] * groups

    def finish(game: FinishedGame) -> None:
        with lock:
            on_game(game)
            progress.games += 1
            progress.rows += len(game.rows)

    def change(number: int, player: Player) -> None:
        with lock:
            before, playing[number] = playing[number], player
            left = not any(each is before for each in playing)
        if left:
            before.close()

    def work(number: int) -> None:
        use_one_torch_thread()
        trees = min(config.group_size, length_hint(source.sources[number], config.group_size))
        take = partial(source.take, number)
        begin = starts or (lambda _: spec.position())
        group = Group(first, config, spec, trees, take, begin, seed=seed, tables=tables) if trees else None
        while group is not None and not stop.is_set():
            if (player := newest()) is not group.player:
                group.change(player)
                change(number, player)
            if source.endless:
                group.begin_games()
            if not group.step(finish, progress):
                if not source.endless:
                    return
                stop.wait(IDLE_SECONDS)

    try:
        run_all([partial(work, group) for group in range(groups)], stop, name="group")
    finally:
        last = newest()
        for player in {id(player): player for player in playing if player is not last}.values():
            player.close()
    return progress


def small_network(spec: GameSpec) -> IntegerEvaluator | None:
    """Return an integer network for a game, None where its planes do not suit one."""
    from ckai.models.encodings import encoding_type
    from ckai.models.network import build

    if spec.encoding is not None and not encoding_type(spec.encoding).VALUES:
        return None
    sizes = {"hidden": 8, "narrow": 8, "narrowest": 8}
    encoding = {} if spec.encoding is None else {"encoding": spec.encoding}
    return IntegerEvaluator(build("swift", {**sizes, **encoding}))


@cache
def compile_selfplay(spec: GameSpec, integers: bool) -> None:
    """Compile self-play of a game, also against past networks, and its rows, by integers or without."""
    game = spec.game()
    game.push(game.position.legal_moves()[0])
    game.outcome()
    evaluator = (small_network(spec) if integers else None) or UniformEvaluator(spec.num_actions)
    config, games = SelfPlayConfig(sims=3, in_flight=2, groups=1, max_plies=20), list[FinishedGame]()
    if not spec.supports_tables:
        config = replace(config, tables=0)
    pool = Pool(PoolConfig(share=0.5), 0, {0: evaluator})
    for past in (pool, None):  # without a pool the kernels evaluate a network of integers
        player = repeat(Player(evaluator, 0, past)).__next__
        play_games(player, config, range(2), seed=0, on_game=games.append, spec=spec)
    to_table(games)
