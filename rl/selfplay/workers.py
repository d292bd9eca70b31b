"""Self-play: plays many games at once, so that the network evaluates large batches.

The games are divided into groups. Each group has one batch of trees, one batch of leaves and one thread:
while one group waits for the network, the others search, in kernels that release the GIL. A group's games,
their random streams and its batches depend on the settings and the seed alone, not on the timing of the
threads.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.devices import use_one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.threads import run_all
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group, SelfPlayCounts
from ckai.rl.selfplay.numbers import FixedNumbers, Numbers
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import PLAYER_NAME, FinishedGame


def play_games(
    evaluator: Evaluator,
    config: SelfPlayConfig,
    numbers: Sequence[int] | Numbers,
    *,
    seed: int,
    on_game: Callable[[FinishedGame], None],
    spec: GameSpec = DEFAULT_GAME,
    pool: Pool | None = None,
    starts: Callable[[int], Any] | None = None,
    progress: SelfPlayCounts | None = None,
    stop: threading.Event | None = None,
    name: str = PLAYER_NAME,
) -> SelfPlayCounts:
    """Play games of self-play and pass each to a callback as it ends.

    Args:
        evaluator: evaluates the leaves; called by several threads.
        config: the settings.
        numbers: numbers of the games to play, or a source of them for `config.group_count` groups; number
            and seed give a game its random stream.
        seed: of the run.
        on_game: called with each finished game, one call at a time.
        spec: the game.
        pool: past networks that play one side of some games; None: none.
        starts: starting position of a game by its number; None: the initial position.
        progress: counts that are increased during the call.
        stop: event to set for an early end; the games in progress are dropped.
        name: name of the network in PDN.

    Returns:
        `progress`, or new counts if that is None.

    Raises:
        TableError: there are no tablebases of `config.tables` pieces.
        Exception: whatever the evaluator or a callback raised, once all threads have ended.
    """
    tables = Tables.open(config.tables) if config.tables else None
    progress = progress if progress is not None else SelfPlayCounts()
    stop = stop or threading.Event()
    lock = threading.Lock()
    groups = config.group_count
    source = numbers if isinstance(numbers, Numbers) else FixedNumbers(numbers, groups)

    def finish(game: FinishedGame) -> None:
        with lock:
            on_game(game)
            progress.games += 1
            progress.rows += len(game.rows)

    def work(number: int) -> None:
        use_one_torch_thread()
        trees = min(config.group_size, source.count(number))
        if not trees:
            return
        group = Group(
            evaluator,
            config,
            spec,
            trees,
            partial(source.take, number),
            starts or (lambda _: spec.position()),
            seed=seed,
            tables=tables,
            pool=pool,
            name=name,
        )
        while not stop.is_set() and group.step(finish, progress):
            pass

    run_all([partial(work, group) for group in range(groups)], stop, name="group")
    return progress
