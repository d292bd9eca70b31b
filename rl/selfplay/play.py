"""Self-play: plays many games at once, so that the network evaluates large batches.

The games are divided into groups. Each group has one batch of trees, one batch of leaves and one thread:
while one group waits for the network, the others search, in kernels that release the GIL. A group's games,
their random streams and its batches depend on the settings and the seed alone, not on the timing of the
threads.
"""

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from operator import length_hint
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import run_all, use_one_torch_thread
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group, Player, SelfPlayCounts
from ckai.rl.selfplay.rows import FinishedGame

IDLE_SECONDS = 0.1
"""Time after which a group that has nothing to play asks for numbers again."""


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
        return cls([itertools.count()] * groups, most, endless=True)

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
    newest = evaluator if callable(evaluator) else itertools.repeat(Player(evaluator)).__next__
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
