"""The engine as an opponent: searches within limits, varies its openings and explains its moves."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckai.cli.shared.output import count_text
from ckai.game import Game, Move, Position

if TYPE_CHECKING:
    from ckai.rl.engine import Engine, Line, SearchResult

SIMS = 400
"""Visits per move without a limit."""
NEARLY = 0.5
"""Share of the best move's visits that a move needs to be played for variety."""


@dataclass(frozen=True)
class Reply:
    """The engine's reply to a position."""

    move: Move
    """The move it plays; not always the best one if openings are varied."""
    result: "SearchResult"
    """The search, with a line for every move that may be played."""

    @property
    def line(self) -> "Line":
        """The line of the move it plays."""
        return next(line for line in self.result.lines if line.move == self.move)

    @property
    def varied(self) -> bool:
        """Whether it plays another move than the best."""
        return self.move != self.result.move

    @property
    def evaluation(self) -> str:
        """The value of the move for the side that plays it, `value +0.12 for White`, or its proven result."""
        line, value = self.line, self.result.value
        name, other = ("Black", "White") if value.turn == "black" else ("White", "Black")
        if line.proven == "draw":
            return "a proven draw"
        if line.proven:
            winner = name if line.proven == "win" else other
            return f"{winner} wins in {count_text(line.plies or 0, 'ply', 'plies')}"
        return f"value {value if line.value is None else line.value:+.2f} for {name}"

    @property
    def effort(self) -> str:
        """The visits and time of the search; if the move was varied, its visits and the best move too."""
        result = self.result
        if result.proven and result.sims == 1:
            return "proven, no search needed"
        text = f"{count_text(result.sims, 'visit')}, {result.seconds:.1f} s"
        if self.varied:
            text = f"{self.line.visits:,} of {text}; most: {result.move}"
        return text + ("; the tree is full, it searched no further" if result.reason == "full" else "")

    def top_moves(self, number: int = 5) -> list[tuple[Move, float, str]]:
        """Return the best and the most visited moves, as (move, prior, visits or proven result).

        The move it plays is always one of them.
        """
        moves = list(self.result.visits)[:number]
        if self.move not in moves:
            moves[-1] = self.move
        return [(move, self.result.priors[move], self._visits_or_proof(move)) for move in moves]

    def _visits_or_proof(self, move: Move) -> str:
        if move not in self.result.proofs:
            return f"{self.result.visits[move]:,}"
        proof, plies = self.result.proofs[move]
        return proof if plies is None else f"{proof} in {plies}"


class Opponent:
    """An engine that is loaded on first use.

    Args:
        load: creates the engine.
        name: its name in messages and PDN headers.
        sims: visits per move; default: `SIMS` if `seconds` is None too.
        seconds: seconds per move.
        vary: plies at the start in which a move nearly as good as the best may be played.
        seed: seed of that choice; None: random.
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
        """Load the engine and compile its kernels with a short search.

        Raises:
            ValueError: there is no network, or its file cannot be read.
        """
        if self._engine is None:
            engine = self._load()
            engine.search(Position.start(), sims=2)
            self._engine = engine

    def reply(self, game: Game, *, vary: bool = True) -> Reply:
        """Search the current position of a game.

        Args:
            game: the game; its earlier positions count for repetitions.
            vary: allow nearly best moves at the start of the game.

        Raises:
            ValueError: as `load`.
        """
        self.load()
        assert self._engine is not None
        vary = vary and len(game.moves) < self._vary
        result = self._engine.search(
            game.position,
            sims=self._sims,
            seconds=self._seconds,
            history=game.history,
            multipv=len(game.position.legal_moves()) if vary else 1,
        )
        move = result.move
        if vary and result.proven is None:
            least = NEARLY * max(result.visits.values())
            lost = {m for m, (proof, _) in result.proofs.items() if proof == "loss"}
            likely = {m: n for m, n in result.visits.items() if n >= least and n > 0 and m not in lost}
            if move in likely:
                move = self._random.choices(list(likely), list(likely.values()))[0]
        return Reply(move, result)
