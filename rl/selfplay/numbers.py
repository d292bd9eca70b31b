"""Numbers of the games to play, handed out to the groups of self-play as they have a board free."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence


class Numbers(ABC):
    """A source of game numbers; called by the threads of all groups."""

    refills = True
    """Whether there may be numbers again after there were none."""

    @abstractmethod
    def count(self, group: int) -> int:
        """Return the most games that a group may have at once; it makes no more boards. 0: none ever."""

    @abstractmethod
    def take(self, group: int) -> int | None:
        """Return the number of the next game of a group, or None if there is none now."""

    @abstractmethod
    def wait(self, stop: threading.Event) -> bool:
        """Wait a moment for more numbers, when a group has nothing to play.

        Args:
            stop: an event that ends the wait early.

        Returns:
            Whether there may be more; False: there will be none.
        """

    def of(self, group: int) -> "GroupNumbers":
        """Return the numbers of a group."""
        return GroupNumbers(self, group)


class GroupNumbers:
    """The numbers of one group; every iteration goes on where the one before ended."""

    def __init__(self, numbers: Numbers, group: int) -> None:
        self._numbers, self._group = numbers, group

    def __len__(self) -> int:
        """Return the most games at once, see `Numbers.count`."""
        return self._numbers.count(self._group)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers that there are now."""
        while (number := self._numbers.take(self._group)) is not None:
            yield number


class FixedNumbers(Numbers):
    """A list of numbers; of N groups, group g plays those at g, g + N, g + 2 N, ..."""

    refills = False

    def __init__(self, numbers: Sequence[int], groups: int) -> None:
        self._waiting = [deque(numbers[group::groups]) for group in range(groups)]

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return len(self._waiting[group])

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        return self._waiting[group].popleft() if self._waiting[group] else None

    def wait(self, stop: threading.Event) -> bool:
        """See `Numbers`."""
        return False
