"""What an engine searches: a game, limits, and what ends the search early."""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ckai.game import Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.games.spec import GameSpec


class Stop(threading.Event):
    """Ends a search from any thread, also one that is only about to begin. Once set, it stays set."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._ends: Callable[[], None] | None = None

    def set(self) -> None:
        """End the search soon; calling it again does nothing."""
        with self._lock:
            super().set()
            ends, self._ends = self._ends, None
            if ends is not None:
                ends()

    def attach(self, ends: Callable[[], None] | None) -> None:
        """Give the function that ends the search now in progress; it is called once, also after a `set`."""
        with self._lock:
            self._ends = ends
        if self.is_set():
            self.set()


@dataclass
class Task:
    """A search in progress, as an engine's `_search` gets it."""

    game: Any
    """The game, see `read_game`."""
    limit: Limit
    """One that the engine takes, or its own."""
    lines: int
    """Most lines in the result; 0: the move and its value are enough."""
    chance: random.Random
    """For random choices."""
    stop: Stop
    """Whether to end, and what `Stop.attach` ends a long search with."""
    seed: int | None = None
    """Of `chance`; None: these are the engine's own random numbers, which continue."""
    publish: Callable[[SearchResult], None] | None = None
    """Takes results during the search."""
    interval: float = 0.0
    """Seconds between two of these."""
    _told: float = -math.inf

    def tell(self, result: Callable[[], SearchResult]) -> None:
        """Publish the result so far, if somebody wants it now."""
        if self.publish is not None and time.perf_counter() - self._told >= self.interval:
            self._told = time.perf_counter()
            self.publish(result())


def read_game(place: Any, history: Sequence[Any], spec: GameSpec) -> Any:
    """Return the game to search, see `PlayedGame`; of positions, it has no moves.

    The history sets the halfmove clock of a FEN without H. No search sees at its root that a rule has drawn
    the game there: then the game begins again at its position, as other programs may continue.

    Raises:
        ValueError: the side to move has no legal move, or a text cannot be read.
        TypeError: it is no game, position or text.
    """
    game = place
    if not hasattr(place, "moves"):
        here, *earlier = (spec.read_position(p) if isinstance(p, str) else p for p in (place, *history))
        if not hasattr(here, "legal_moves"):
            raise TypeError(f"expected a game, a position or the text of one (a FEN), found {place!r}")
        if isinstance(here, Position):
            quiet = takewhile(lambda each: _men(each) == _men(here), reversed(earlier))
            here = replace(here, halfmove_clock=max(len(list(quiet)), here.halfmove_clock))
        game = spec.game(here)
        game.positions = [*earlier, here]
    here = game.position
    if not here.legal_moves():
        raise ValueError(f"{spec.position_text(here)}: the side to move has no legal move, the game is over")
    usual = spec.game(here)  # whose limits are those of every search
    usual.positions = game.positions
    if usual.outcome() is None:
        return game
    return spec.game(replace(here, halfmove_clock=0) if isinstance(here, Position) else here)


def _men(position: Position) -> list[str]:
    """Return what only captures and moves of men change: the men, and the numbers of kings."""
    return sorted(p if p.isupper() else f"{p}{square}" for square, p in position.pieces().items())
