"""Numbers of the games to play, handed out to the groups of self-play as they have a board free."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence


class Numbers(ABC):
    """A source of game numbers; called by the threads of all groups."""

    @abstractmethod
    def count(self, group: int) -> int:
        """Return the most games that a group may have at once; it makes no more boards. 0: none ever."""

    @abstractmethod
    def take(self, group: int) -> int | None:
        """Return the number of the next game of a group, or None if there will be none."""


class FixedNumbers(Numbers):
    """A list of numbers; of N groups, group g plays those at g, g + N, g + 2 N, ..."""

    def __init__(self, numbers: Sequence[int], groups: int) -> None:
        self._waiting = [deque(numbers[group::groups]) for group in range(groups)]

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return len(self._waiting[group])

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        return self._waiting[group].popleft() if self._waiting[group] else None
