"""Self-play: many games at once, so that the network is asked in large batches.

The games are dealt to groups. Each group is one batch of trees, one batch of leaves and one thread: while one
group waits for the network, the others search, and no thread holds the interpreter for long. A group's games,
their random streams and its batches depend on the settings and the seed alone, not on the threads.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.devices import use_one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.threads import run_all
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.snapshots import GameSnapshot


def play_games(
    evaluator: Evaluator,
    config: SelfPlayConfig,
    numbers: Sequence[int],
    *,
    seed: int,
    on_game: Callable[[FinishedGame], None],
    spec: GameSpec = DEFAULT_GAME,
    pool: Pool | None = None,
    starts: Callable[[int], Any] | None = None,
    unfinished: Mapping[int, GameSnapshot] | None = None,
    on_snapshot: Callable[[int, list[GameSnapshot]], None] | None = None,
    snapshot_seconds: float = 10.0,
    progress: SelfPlayCounts | None = None,
    stop: threading.Event | None = None,
) -> SelfPlayCounts:
    """Play games against oneself and hand each over as it ends.

    Args:
        evaluator: evaluates the leaves; called by several threads.
        config: the settings.
        numbers: the games to play; number and seed give a game its random stream.
        seed: of the run.
        on_game: takes a finished game, one call at a time.
        spec: the game.
        pool: past networks that play some of the games.
        starts: first position of a game by its number; the start position if None.
        unfinished: games that go on where an earlier call left them, by number.
        on_snapshot: is given each group's number and games under way every `snapshot_seconds`, and at an
            early end, one call at a time.
        snapshot_seconds: between two snapshots of a group.
        progress: is counted up on the way.
        stop: set it to end early; games under way are left unfinished.

    Returns:
        The counts.

    Raises:
        Whatever the evaluator or a callback raises, once all threads have ended.
        TableError: there are no tables of so many pieces.
    """
    tables = Tables.open(config.tables) if config.tables else None
    progress = progress if progress is not None else SelfPlayCounts()
    stop = stop or threading.Event()
    lock = threading.Lock()
    errors: list[BaseException] = []
    groups = config.group_count

    def hand_over(game: FinishedGame) -> None:
        with lock:
            on_game(game)
            progress.games += 1
            progress.rows += len(game.rows)

    def work(number: int) -> None:
        try:
            use_one_torch_thread()
            mine = list(numbers[number::groups])
            if not mine:
                return
            group = Group(
                evaluator,
                config,
                spec,
                pool,
                tables,
                mine,
                seed,
                starts or _first_position(spec),
                unfinished or {},
            )
            next_snapshot = time.monotonic() + snapshot_seconds
            while not stop.is_set() and group.step(hand_over, progress):
                if on_snapshot and time.monotonic() > next_snapshot:
                    with lock:
                        on_snapshot(number, group.snapshots())
                    next_snapshot = time.monotonic() + snapshot_seconds
            if on_snapshot:
                with lock:
                    on_snapshot(number, group.snapshots())
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=work, args=(group,), name=f"group {group}") for group in range(groups)]
    run_all(threads, stop)
    if errors:
        raise errors[0]
    return progress


def _first_position(spec: GameSpec) -> Callable[[int], Any]:
    return lambda _: spec.position()
