"""Opponents of a game in the terminal, and the engine of checkers as one."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ckai.cli.shared.output import count_text

if TYPE_CHECKING:
    from ckai.rl.engine import Engine, Line, SearchResult
    from ckai.rl.games.clock import Clock

SIMS = 400
"""Visits per move where no limit is given."""
NEARLY = 0.5
"""Share of the best move's visits that a move needs to be played for variety."""


class ResignsError(RuntimeError):
    """An opponent resigns in place of a move."""


@dataclass(frozen=True)
class Reply:
    """A reply to a position."""

    move: Any
    """The move it plays; not always the best one if openings are varied."""
    result: "SearchResult | None" = None
    """The search, with a line for every move that may be played; None from players that do not say."""

    @property
    def line(self) -> "Line | None":
        """The line of the move it plays, None without a search."""
        lines = [] if self.result is None else self.result.lines
        return next((line for line in lines if line.move == self.move), None)

    @property
    def varied(self) -> bool:
        """Whether it plays another move than the best."""
        return self.result is not None and self.move != self.result.move

    def evaluation(self, names: tuple[str, str]) -> str:
        """Return the value of the move for the side that plays it: `value +0.12 for White`, or its proof.

        Args:
            names: what the first and the second player are called.
        """
        if self.result is None:
            return ""
        line, value = self.line, self.result.value
        name, other = names if value.turn == "black" else names[::-1]
        if line is not None and line.proven == "draw":
            return "a proven draw"
        if line is not None and line.proven:
            winner = name if line.proven == "win" else other
            return f"{winner} wins in {count_text(line.plies or 0, 'ply', 'plies')}"
        shown = value if line is None or line.value is None else line.value
        return f"value {shown:+.2f} for {name}"

    @property
    def effort(self) -> str:
        """The visits and time of the search; if the move was varied, its visits and the best move too."""
        result = self.result
        if result is None:
            return ""
        if result.proven and result.sims == 1:
            return "proven, no search needed"
        text = f"{count_text(result.sims, 'visit')}, {result.seconds:.1f} s"
        if self.varied:
            text = f"{result.visits[self.move]:,} of {text}; most: {result.move}"
        return text + ("; the tree is full, it searched no further" if result.reason == "full" else "")

    def top_moves(self, number: int = 5) -> list[tuple[Any, float, str]]:
        """Return the best and the most visited moves, as (move, prior, visits or proven result).

        The move it plays is always one of them.
        """
        if self.result is None:
            return []
        moves = list(self.result.visits)[:number]
        if self.move not in moves:
            moves[-1] = self.move
        return [(move, self.result.priors[move], self._visits_or_proof(move)) for move in moves]

    def _visits_or_proof(self, move: Any) -> str:
        assert self.result is not None
        if move not in self.result.proofs:
            return f"{self.result.visits[move]:,}"
        proof, plies = self.result.proofs[move]
        return proof if plies is None else f"{proof} in {plies}"


class Opponent(Protocol):
    """Plays, gives hints and answers draws; loaded on first use.

    Attributes:
        name: its name in messages and PDN headers.
        short: its name where it moves.
        analyses: whether its replies have a search.
    """

    name: str
    short: str
    analyses: bool

    def load(self) -> None:
        """Load what it plays with.

        Raises:
            ValueError: it cannot be loaded.
        """

    def reply(self, game: Any, *, vary: bool = True, clock: "Clock | None" = None, lines: int = 1) -> Reply:
        """Choose a move in the current position of a game.

        Args:
            game: the game; its earlier positions count for repetitions.
            vary: allow nearly best moves at the start of the game.
            clock: the clock of the side to move, in place of its own limit; None: none.
            lines: least number of lines of the search, if it has one.

        Raises:
            ValueError: as `load`.
            ResignsError: it resigns in place of a move.
        """

    def stop(self) -> None:
        """Make `reply` return soon; may be called from another thread, and again."""

    def close(self) -> None:
        """Release what it plays with."""


class EngineOpponent:
    """The engine of checkers, loaded on first use.

    Args:
        load: creates the engine.
        name: its name in messages and PDN headers.
        sims: visits per move; default: `SIMS` if `seconds` is None too.
        seconds: seconds per move.
        vary: plies at the start in which a move nearly as good as the best may be played.
        seed: seed of that choice; None: random.
    """

    short = "ckai"
    analyses = True

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
            from ckai.game import Position

            engine = self._load()
            engine.search(Position.start(), sims=2)
            self._engine = engine

    def reply(self, game: Any, *, vary: bool = True, clock: "Clock | None" = None, lines: int = 1) -> Reply:
        """See `Opponent`."""
        self.load()
        assert self._engine is not None
        vary = vary and len(game.moves) < self._vary
        lines = len(game.position.legal_moves()) if vary else lines
        limits: dict[str, Any] = {"sims": self._sims, "seconds": self._seconds}
        if clock is not None:
            from ckai.rl.engine import Limit

            added = clock.control.increment
            limits = {"limit": Limit(clock=clock.left, increment=added, remaining_moves=clock.moves)}
        result = self._engine.search(game.position, history=game.history, multipv=lines, **limits)
        move = result.move
        if vary and result.proven is None:
            least = NEARLY * max(result.visits.values())
            lost = {m for m, (proof, _) in result.proofs.items() if proof == "loss"}
            likely = {m: n for m, n in result.visits.items() if n >= least and n > 0 and m not in lost}
            if move in likely:
                move = self._random.choices(list(likely), list(likely.values()))[0]
        return Reply(move, result)

    def stop(self) -> None:
        """See `Opponent`."""
        if self._engine is not None:
            self._engine.stop()

    def close(self) -> None:
        """See `Opponent`."""
        if self._engine is not None:
            self._engine.close()
