"""The engine as a player: it thinks within limits, varies its openings, and says what it thought."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckai.cli.terminal.session import Side, side_of
from ckai.game import Game, Move, Position

if TYPE_CHECKING:
    from ckai.rl.engine import Engine, SearchResult

SIMS = 400
"""Visits of a search when no limit is given."""
NEARLY = 0.5
"""A move is as good as the best for varied openings if it has this share of the best one's visits."""


@dataclass(frozen=True)
class Thought:
    """What the engine thinks of a position."""

    move: Move
    """What it plays."""
    side: Side
    """The side to move; values are for this side."""
    found: "SearchResult"

    @property
    def verdict(self) -> str:
        """`value +0.12 for White`, or what is proven."""
        name, other = ("Black", "White") if self.side == "black" else ("White", "Black")
        if self.found.proven == "draw":
            return "a proven draw"
        if self.found.proven:
            winner = name if self.found.proven == "win" else other
            plies = self.found.plies or 0
            return f"{winner} wins in {plies} {'ply' if plies == 1 else 'plies'}"
        return f"value {self.found.value:+.2f} for {name}"

    @property
    def effort(self) -> str:
        """How much was searched."""
        if self.found.proven and self.found.sims == 1:
            return "known, without a search"
        return f"{self.found.sims:,} visits, {self.found.seconds:.1f} s"

    def top(self, number: int = 5) -> list[tuple[str, float, str]]:
        """The move played and those searched most: (move, the network's probability, visits or, if it is
        proven, what it is worth)."""
        found = self.found
        moves = sorted(found.visits, key=lambda m: (m != found.move, -found.visits[m], -found.priors[m]))
        return [(m, found.priors[m], self._worth(m)) for m in moves[:number]]

    def _worth(self, move: str) -> str:
        if move not in self.found.proofs:
            return f"{self.found.visits[move]:,}"
        value, plies = self.found.proofs[move]
        return value if plies is None else f"{value} in {plies}"


class Opponent:
    """An engine that is loaded when it is first asked.

    Args:
        load: makes the engine.
        name: what to call it.
        sims, seconds: limits of a search; SIMS visits if neither is given.
        vary: plies of the game in which a move nearly as good as the best may be played.
        seed: of that choice; None: another one every time.
    """

    def __init__(
        self,
        load: "Callable[[], Engine]",
        name: str,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        vary: int = 0,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self._load = load
        self._engine: Engine | None = None
        self._sims = SIMS if sims is None and seconds is None else sims
        self._seconds = seconds
        self._vary = vary
        self._random = random.Random(seed)

    def load(self) -> None:
        """Load the engine now, and let it compile what it needs before any clock runs.

        Raises:
            ValueError: there is no network, or its file does not fit.
        """
        if self._engine is None:
            engine = self._load()
            engine.search(Position.start(), sims=2)
            self._engine = engine

    def think(self, game: Game, *, vary: bool = True) -> Thought:
        """Search the position of a game that goes on; its earlier positions count for repetitions."""
        self.load()
        assert self._engine is not None
        position = game.position
        found = self._engine.search(position, sims=self._sims, seconds=self._seconds, history=game.history)
        text = found.move
        if vary and len(game.moves) < self._vary and found.proven is None:
            least = NEARLY * max(found.visits.values())
            likely = {m: n for m, n in found.visits.items() if n >= least and n > 0}
            if text in likely:
                text = self._random.choices(list(likely), list(likely.values()))[0]
        return Thought(position.find_move(text), side_of(position), found)
