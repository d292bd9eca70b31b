"""`Thinker`, `Report` and `Interrupt`: what every search has in common."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from ckai.game import HALFMOVE_LIMIT, Game, Move
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Proof
from ckai.rl.search.move_time import move_time


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a search, or its result so far."""

    pv: list[Move]
    """The principal variation; its first move is the one to play."""
    value: float | None = None
    """For the side to move, [-1, 1]; None from a player that has no values."""
    proven: Proof | None = None
    """The proven result for the side to move."""
    plies: int | None = None
    """Plies to the end of a proven win or loss, else None."""
    depth: int = 0
    """Plies: of the deepest position in a tree, of the last complete depth of alpha-beta."""
    nodes: int = 0
    """Positions that this search added to its tree or visited."""
    seconds: float = 0.0
    """Wall time of this search."""

    @property
    def move(self) -> Move:
        """The move to play."""
        return self.pv[0]


Publish: TypeAlias = Callable[[Report], None]


class Interrupt:
    """Ends a search from another thread, also one that is only about to begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._asked = False

    @property
    def asked(self) -> bool:
        """Whether the search is to end."""
        return self._asked

    def ask(self) -> None:
        """End the search soon; may be called from any thread, and again."""
        with self._lock:
            self._asked = True
            if self._stop is not None:
                self._stop()

    def attach(self, stop: Callable[[], None]) -> None:
        """Set the function that ends the search; it is called at once if `ask` was called before."""
        with self._lock:
            self._stop = stop
            if self._asked:
                stop()


class Thinker(Protocol):
    """Searches the position of a game, whose earlier positions count for repetitions."""

    @property
    def limit(self) -> Limit | None:
        """The limit of the player's spec, None if it has none."""

    @property
    def fixed(self) -> bool:
        """Whether its strength is fixed: it moves by a limit of its own, whatever `think` is given."""

    def think(self, game: Game, limit: Limit, publish: Publish, interrupt: Interrupt) -> Report:
        """Search.

        Args:
            game: the game; its position has a legal move.
            limit: when the search ends. A player whose strength is fixed moves by its own limit.
            publish: called with every result before the last one.
            interrupt: ends the search before its limit.
        """

    def forget(self) -> None:
        """Drop what was kept from earlier searches."""

    def close(self) -> None:
        """Release all resources."""


def undrawn(game: Game) -> Game:
    """Return a game to search in place of one that is drawn by rule: its clock or its history begins again.

    There is nothing to search in a game that has ended. Other games are returned as they are.
    """
    position = game.position
    if position.halfmove_clock >= HALFMOVE_LIMIT:
        return Game(replace(position, halfmove_clock=0))
    return Game(position) if game.repetitions() >= game.repetition_limit else game


def max_seconds(limit: Limit, plies: int) -> float | None:
    """Return the most seconds that a limit leaves for the next move.

    Args:
        limit: with seconds, a clock, both or neither.
        plies: plies played in the game so far.

    Returns:
        None if time is not limited.
    """
    if limit.clock is None:
        return limit.seconds
    maximum = move_time(limit.clock, limit.increment, limit.remaining_moves, plies).maximum
    return maximum if limit.seconds is None else min(limit.seconds, maximum)
