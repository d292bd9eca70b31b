"""Self-play: plays many games at once, so that the network evaluates large batches.

The games are divided into groups. Each group has one batch of trees, one batch of leaves and one thread:
while one group waits for the network, the others search, in kernels that release the GIL. A group's games,
their random streams and its batches depend on the settings and the seed alone, not on the timing of the
threads.
"""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import use_one_torch_thread
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.threads import run_all
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group, Player, SelfPlayCounts
from ckai.rl.selfplay.rows import FinishedGame

IDLE_SECONDS = 0.1
"""Time after which a group that has nothing to play asks for numbers again."""


class Numbers(ABC):
    """A source of numbers of games, handed out as boards are free; called by the threads of all groups."""

    endless = False
    """Whether a group that got None asks again."""

    @abstractmethod
    def count(self, group: int) -> int:
        """Return the most games that a group may have at once; it makes no more boards. 0: none ever."""

    @abstractmethod
    def take(self, group: int) -> int | None:
        """Return the number of the next game of a group; None: there is none."""


class FixedNumbers(Numbers):
    """A list of numbers, of which no more are begun than are missing: so every game that was begun counts.

    Of N groups, group g plays the missing ones at g, g + N, g + 2 N, ...
    """

    def __init__(
        self,
        numbers: Sequence[int],
        groups: int,
        have: Collection[int] = (),
        others: Callable[[], int] = lambda: 0,
    ) -> None:
        """Begin.

        Args:
            numbers: the numbers.
            groups: number of groups that play.
            have: those that were played before.
            others: returns the number of games that others have played in place of the missing ones.
        """
        missing = [number for number in numbers if number not in have]
        self._left = [deque(missing[group::groups]) for group in range(groups)]
        self._missing, self._others, self._lock = len(missing), others, threading.Lock()

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return len(self._left[group])

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            if self._missing <= self._others() or not self._left[group]:
                return None
            self._missing -= 1
            return self._left[group].popleft()


class Counting(Numbers):
    """Numbers that count on, a limited number of them until `renew`."""

    endless = True

    def __init__(self, first: int, most: int) -> None:
        """Begin with number `first`; `most` are handed out between two calls of `renew`."""
        self._next, self._most, self._lock = first, most, threading.Lock()
        self.renew()

    def renew(self) -> None:
        """Hand out as many again, as there is a new network."""
        self._left = self._most

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return self._most

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            if self._left <= 0:
                return None
            self._left -= 1
            self._next += 1
            return self._next - 1


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
    source = numbers if isinstance(numbers, Numbers) else FixedNumbers(numbers, groups)
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
        trees = min(config.group_size, source.count(number))
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
