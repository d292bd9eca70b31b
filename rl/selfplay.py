"""Self-play: many games at once, so that the network is asked in large batches.

The games are dealt to groups. Each group is one forest, one batch and one thread: while one group waits
for the network, the others search, and no thread holds the interpreter for long. A group's games, their
random streams and its batches depend on the settings and the seed alone, not on the threads.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ckai.game import QUIET_LIMIT, REPETITION_LIMIT, Position
from ckai.models.inference import Evaluator
from ckai.rl.checkers import Checkers, pack
from ckai.rl.forest import forest_bytes, plant
from ckai.rl.games_played import FINISHED, IDLE, PlayRules, advance, begin, make_records
from ckai.rl.rng import seed_stream
from ckai.rl.rows import FinishedGame, take
from ckai.rl.tree import Puct


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """How games of self-play are searched and played.

    Raises:
        ValueError: a value out of range, named.
    """

    sims: int = 100
    """Visits at the root before a move is played."""
    in_flight: int = 256
    """Games at once."""
    groups: int = 0
    """Parts that the games in flight are dealt to, one thread each; 0 = one a core."""
    leaves: int = 1
    """Leaves a tree sends to the network at once."""
    c_puct: float = 4.0
    fpu_reduction: float = 0.0
    noise_alpha: float = 1.0
    """Dirichlet concentration for each legal hop at the root."""
    noise_epsilon: float = 0.25
    """Share of noise in the root's priors."""
    temperature: float = 1.0
    temperature_plies: int = 16
    """Plies at the full temperature; after them it halves every `temperature_halflife` plies."""
    temperature_halflife: float = 6.0
    forced_sims: int = 1
    """Visits where only one hop is legal."""
    max_plies: int = 300
    """A game as long as this is stopped; its z is unknown."""
    quiet_limit: int = QUIET_LIMIT
    repetition_limit: int = REPETITION_LIMIT

    def __post_init__(self) -> None:
        for name, least in (
            ("sims", 1), ("in_flight", 1), ("groups", 0), ("leaves", 1), ("c_puct", 0), ("noise_epsilon", 0),
            ("temperature", 0), ("temperature_plies", 0), ("forced_sims", 1), ("max_plies", 1),
            ("quiet_limit", 1), ("repetition_limit", 2),
        ):  # fmt: skip
            if getattr(self, name) < least:
                raise ValueError(f"expected {name} >= {least}, found {getattr(self, name)}")
        for name in ("noise_alpha", "temperature_halflife"):
            if getattr(self, name) <= 0:
                raise ValueError(f"expected {name} > 0, found {getattr(self, name)}")
        if self.noise_epsilon > 1:
            raise ValueError(f"expected noise_epsilon <= 1, found {self.noise_epsilon}")
        if self.quiet_limit > 1000 or self.max_plies > 10_000:
            raise ValueError("expected quiet_limit <= 1000 and max_plies <= 10000")

    @property
    def puct(self) -> Puct:
        """The constants of the search."""
        return Puct(
            c_init=self.c_puct,
            fpu_reduction=self.fpu_reduction,
            noise_alpha=self.noise_alpha,
            noise_epsilon=self.noise_epsilon,
        )

    @property
    def rules(self) -> PlayRules:
        """How moves are chosen and games end."""
        return PlayRules(
            visits=self.sims,
            forced_visits=min(self.forced_sims, self.sims),
            leaves=self.leaves,
            temperature=max(self.temperature, 1e-6),
            temperature_plies=self.temperature_plies,
            temperature_halflife=self.temperature_halflife,
            max_plies=self.max_plies,
        )

    @property
    def group_count(self) -> int:
        """Groups in use."""
        return min(self.groups or os.cpu_count() or 1, self.in_flight)

    @property
    def tree_nodes(self) -> int:
        """Room in a tree: every node is a visit of the root, and each batch may go a little over."""
        return self.sims + self.leaves + 2

    def memory(self) -> int:
        """Bytes that the trees of a run take."""
        each = -(-self.in_flight // self.group_count)
        bytes_each = forest_bytes(each, self.tree_nodes, self.leaves, 34, self.quiet_limit + 2)
        records = make_records(1, self.max_plies)
        return self.group_count * (bytes_each + each * (records.rows.nbytes + records.counts.nbytes))


@dataclass
class Progress:
    """What a run of self-play has done so far; read it at any time."""

    games: int = 0
    rows: int = 0
    evaluations: int = 0


def play_games(
    evaluator: Evaluator,
    config: SelfPlayConfig,
    numbers: Sequence[int],
    *,
    seed: int,
    on_game: Callable[[FinishedGame], None],
    starts: Callable[[int], Position] | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Progress:
    """Play games against oneself and hand each over as it ends.

    Args:
        evaluator: judges the leaves; called by several threads.
        config: the settings.
        numbers: the games to play; number and seed give a game its random stream.
        seed: of the run.
        on_game: takes a finished game, one call at a time.
        starts: first position of a game by its number; the start position if None.
        progress: is counted up on the way.
        stop: set it to end early; games under way are dropped.

    Returns:
        The counts.

    Raises:
        Whatever the evaluator or `on_game` raises, once all threads have ended.
    """
    progress = progress if progress is not None else Progress()
    stop = stop or threading.Event()
    lock = threading.Lock()
    errors: list[BaseException] = []
    groups = config.group_count
    first = starts or (lambda _: Position.start())

    def hand_over(game: FinishedGame) -> None:
        with lock:
            on_game(game)
            progress.games += 1
            progress.rows += len(game.rows)

    def work(group: int) -> None:
        try:
            _play_group(
                evaluator, config, list(numbers[group::groups]), seed, hand_over, first, progress, stop
            )
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=work, args=(group,), name=f"group {group}") for group in range(groups)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # wakes up for Ctrl-C
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]
    return progress


def _play_group(
    evaluator: Evaluator,
    config: SelfPlayConfig,
    numbers: list[int],
    seed: int,
    on_game: Callable[[FinishedGame], None],
    first: Callable[[int], Position],
    progress: Progress,
    stop: threading.Event,
) -> None:
    _one_thread()
    trees = min(-(-config.in_flight // config.group_count), len(numbers))
    if trees == 0:
        return
    game = Checkers(config.quiet_limit, config.repetition_limit)
    forest = plant(trees, config.tree_nodes, config.leaves, 34, config.quiet_limit + 2)
    records = make_records(trees, config.max_plies)
    batch = trees * config.leaves
    logits, values = np.zeros((batch, 128), np.float32), np.zeros(batch, np.float32)
    puct, rules = config.puct, config.rules
    waiting = iter(numbers)

    def start(t: int) -> None:
        number = next(waiting, None)
        if number is None:
            records.games[t]["status"] = IDLE
            return
        a, b = pack(first(number))
        begin(
            game, forest, records, t, number, (np.int64(a), np.int64(b)), np.uint64(seed_stream(seed, number))
        )

    for t in range(trees):
        start(t)
    slots: int = 0
    while not stop.is_set():
        slots, finished = advance(game, forest, records, puct, rules, slots, logits, values)
        if finished:
            for done in np.flatnonzero(records.games["status"] == FINISHED).tolist():
                on_game(take(records, done))
                start(done)
        elif slots == 0:
            return
        if slots:
            evaluator.evaluate(forest.boards[:slots], logits[:slots], values[:slots])
            progress.evaluations += slots


def _one_thread() -> None:
    """The groups are the threads; inside a call of the network more would only fight over the cores."""
    import torch

    torch.set_num_threads(1)
