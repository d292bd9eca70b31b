"""Late games: those that a generation is closed without, and that a later one takes in.

When a generation is closed, it writes the numbers of the games that are out, also those that were late
before, into its `selfplay.json`, and the next one starts from this list. The file is written as a whole, so
every game is in the rows of one generation, or in the newest list, or was dropped as stale.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ckai.rl.loop.config import MAX_GAMES
from ckai.rl.loop.folder import RunFolder, read_measured


@dataclass(frozen=True)
class Absent:
    """The games that a generation is closed without, of its own and of earlier ones."""

    late: tuple[int, ...]
    """Numbers of those that the next generation takes in when they come, ascending."""
    stale: tuple[int, ...]
    """Numbers of those that would be too old then, and are dropped, ascending."""


def generation_of(number: int) -> int:
    """Return the generation of a game."""
    return number // MAX_GAMES


def sort_absent(numbers: Iterable[int], n: int, max_age: int) -> Absent:
    """Divide the games that are out when a generation is closed.

    Args:
        numbers: numbers of the games.
        n: the generation.
        max_age: most generations by which a game may be late.
    """
    late, stale = list[int](), list[int]()
    for number in sorted(numbers):
        (late if n + 1 - generation_of(number) <= max_age else stale).append(number)
    return Absent(tuple(late), tuple(stale))


def late_games(run: RunFolder, n: int) -> list[int]:
    """Return the numbers of the late games that generation `n` takes in; ascending.

    Raises:
        RunError: the measurements of the generation before are damaged.
    """
    before = run.path(n - 1, "selfplay.json")
    if not before.exists():  # the first generation
        return []
    return [int(number) for number in read_measured(before).get("late", ())]


def warning_of(absent: Absent, max_age: int) -> str:
    """Return the warning about games that are dropped, in one line."""
    numbers = ", ".join(map(str, absent.stale[:5])) + (", ..." if len(absent.stale) > 5 else "")
    return (
        f"expected late games within max_age = {max_age} generations, found {len(absent.stale)} still out "
        f"({numbers}); they are dropped"
    )
