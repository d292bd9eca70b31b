"""The engine as a player: it searches within limits, varies its openings, and explains its move."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckai.game import Game, Move, Position

if TYPE_CHECKING:
    from ckai.rl.engine import Engine, SearchResult

SIMS = 400
"""Visits of a search when no limit is given."""
NEARLY = 0.5
"""A move is as good as the best for varied openings if it has this share of the best one's visits."""


@dataclass(frozen=True)
class Reply:
    """The engine's answer to a position."""

    move: Move
    """The move it plays; with varied openings not always the best one."""
    result: "SearchResult"

    @property
    def evaluation(self) -> str:
        """`value +0.12 for White`, for the side to move, or what is proven."""
        result = self.result
        name, other = ("Black", "White") if result.value.turn == "black" else ("White", "Black")
        if result.proven == "draw":
            return "a proven draw"
        if result.proven:
            winner = name if result.proven == "win" else other
            plies = result.plies or 0
            return f"{winner} wins in {plies} {'ply' if plies == 1 else 'plies'}"
        return f"value {result.value:+.2f} for {name}"

    @property
    def effort(self) -> str:
        """How much was searched."""
        if self.result.proven and self.result.sims == 1:
            return "known, without a search"
        return f"{self.result.sims:,} visits, {self.result.seconds:.1f} s"

    def top_moves(self, number: int = 5) -> list[tuple[Move, float, str]]:
        """The best move and those visited most: (move, the network's probability, visits or the proof)."""
        moves = list(self.result.visits)[:number]
        return [(move, self.result.priors[move], self._visits_or_proof(move)) for move in moves]

    def _visits_or_proof(self, move: Move) -> str:
        if move not in self.result.proofs:
            return f"{self.result.visits[move]:,}"
        proof, plies = self.result.proofs[move]
        return proof if plies is None else f"{proof} in {plies}"


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

    def reply(self, game: Game, *, vary: bool = True) -> Reply:
        """Search the position of a game that goes on; its earlier positions count for repetitions."""
        self.load()
        assert self._engine is not None
        result = self._engine.search(
            game.position, sims=self._sims, seconds=self._seconds, history=game.history
        )
        move = result.move
        if vary and len(game.moves) < self._vary and result.proven is None:
            least = NEARLY * max(result.visits.values())
            likely = {m: n for m, n in result.visits.items() if n >= least and n > 0}
            if move in likely:
                move = self._random.choices(list(likely), list(likely.values()))[0]
        return Reply(move, result)
