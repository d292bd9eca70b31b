"""What an engine searches: a position with its history, limits, and what ends it early."""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ckai.game import HALFMOVE_LIMIT, Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.games.registry import DEFAULT_GAME
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
            if not self.is_set():
                super().set()
                if self._ends is not None:
                    self._ends()

    def attach(self, ends: Callable[[], None] | None) -> None:
        """Give the function that ends the search now in progress; it is called at once after a `set`."""
        with self._lock:
            self._ends = ends
            if self.is_set() and ends is not None:
                ends()


@dataclass(frozen=True)
class Root:
    """A position to search and its history."""

    position: Any
    history: list[Any]
    """Earlier positions of the game, oldest first."""
    spec: GameSpec = DEFAULT_GAME
    game: Any = None
    """The game with its moves, see `PlayedGame`; None: only positions were given."""

    @classmethod
    def read(
        cls, place: Any, history: Sequence[Position | str] = (), spec: GameSpec = DEFAULT_GAME
    ) -> "Root":
        """Return the root of a game, of positions, in checkers of FENs too; a root as it is.

        The history sets the halfmove clock of a FEN without H.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: a FEN cannot be read.
            TypeError: it is none of these.
        """
        if isinstance(place, cls):
            root = place
        elif hasattr(place, "moves"):
            root = cls(place.position, place.history, spec, place)
        elif spec != DEFAULT_GAME:
            root = cls(place, list(history), spec)
        else:
            here, *earlier = map(_read, (place, *history))
            pieces = [_irreversible(each) for each in (here, *reversed(earlier))]
            clock = next((n for n, each in enumerate(pieces[1:]) if each != pieces[0]), len(earlier))
            root = cls(replace(here, halfmove_clock=max(clock, here.halfmove_clock)), earlier, spec)
        if not root.position.legal_moves():
            text = getattr(root.position, "fen", root.position)
            raise ValueError(f"{text}: the side to move has no legal move, the game is over")
        return root

    @property
    def drawn(self) -> bool:
        """Whether a rule of checkers draws the game here, which no search sees at its root."""
        here = self.position
        if not isinstance(here, Position):
            return False
        repeated = sum(earlier.key == here.key for earlier in self.history) >= 2
        return repeated or here.halfmove_clock >= HALFMOVE_LIMIT

    def undrawn(self) -> "Root":
        """Return the root to search in place of one that is `drawn`, as programs may continue; or itself."""
        if not self.drawn:
            return self
        here = self.position
        return Root(replace(here, halfmove_clock=0) if here.halfmove_clock >= HALFMOVE_LIMIT else here, [])

    def actions_from(self, old: "Root") -> list[int] | None:
        """Return the hops of the at most two moves that lead here from an older root, or None.

        The histories must agree; in checkers an empty one agrees with any.
        """
        known, line = [*old.history, old.position], [*self.history, self.position]
        agree = len(line) >= len(known) and all(
            a is b or a.key == b.key for a, b in zip(known, line, strict=False)
        )
        if agree and self.game is not None:
            moves = self.game.moves[len(old.history) :]
            return [action for move in moves for action in move.actions] if len(moves) <= 2 else None
        if isinstance(self.position, Position) and (agree or not self.history):
            ways: list[tuple[list[int], Position]] = [([], old.position)]
            for plies in range(3):
                for actions, at in ways:
                    if at == self.position and (agree or plies):
                        return actions
                ways = [([*so_far, *m.actions], at.push(m)) for so_far, at in ways for m in at.legal_moves()]
        return None


def _read(position: Position | str) -> Position:
    if not isinstance(position, Position | str):
        raise TypeError(f"expected a Position or a FEN, found {position!r}")
    return Position.from_fen(position) if isinstance(position, str) else position


def _irreversible(position: Position) -> list[str]:
    """Return what only captures and moves of men change: the men, and the numbers of kings."""
    return sorted(p if p.isupper() else f"{p}{square}" for square, p in position.pieces().items())


@dataclass
class Task:
    """A search in progress, as an engine's `_search` gets it."""

    root: Root
    limit: Limit
    """One that the engine takes, or its own."""
    lines: int
    """Most lines in the result, 1 or more; 0: the move and its value are enough."""
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

    @cached_property
    def game(self) -> Any:
        """The game, which has a legal move; where a rule has drawn it, it begins again at its position."""
        root = self.root.undrawn()
        return root.game or root.spec.game(root.position)
