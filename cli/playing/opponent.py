"""Opponents of people: engines that play, give hints and answer draws; and their replies in words."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.networks import NO_NETWORK, NoNetworkError, network_file, newest_name, resolve_network
from ckai.cli.shared.output import count_text
from ckai.cli.shared.tables import open_tables
from ckai.models.pretrained import CKAI
from ckai.rl.engine.forms import FULL_STRENGTH_SECONDS
from ckai.rl.engine.parsing import ALPHA_BETA, GTP, HUB, LEVEL, EngineText
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.engine import Limit, Line, SearchResult
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.stop import Stop
    from ckai.rl.games.clock import Clock, TimeControl

NEARLY = 0.5
"""Share of the best move's visits that a move needs to be played for variety."""


@dataclass(frozen=True)
class Reply:
    """A reply to a position."""

    move: Any
    """The move it plays; not always the best one if openings are varied."""
    result: "SearchResult"
    """The search, with a line for every move that may be played; players without a search have no values."""

    @property
    def line(self) -> "Line | None":
        """The line of the move it plays, None if it is not among those of the search."""
        return next((line for line in self.result.lines if line.move == self.move), None)

    @property
    def varied(self) -> bool:
        """Whether it plays another move than the best."""
        return bool(self.move != self.result.move)

    def evaluation(self, names: tuple[str, str]) -> str:
        """Return the value of the move for the side that plays it: `value +0.12 for White`, or its proof.

        Args:
            names: what the first and the second player are called.
        """
        line, value = self.line, self.result.value
        if value is None:
            return ""
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
        """The visits or the depth, and the time; if the move was varied, its visits and the best move too."""
        result = self.result
        if not result.sims:
            return f"{count_text(result.depth, 'ply', 'plies')} deep, {result.seconds:.1f} s"
        if result.proven and result.sims == 1:
            return "proven, no search needed"
        text = f"{count_text(result.sims, 'visit')}, {result.seconds:.1f} s"
        if self.varied:
            text = f"{result.visits[self.move]:,} of {text}; most: {result.move}"
        return text + ("; the tree is full, it searched no further" if result.reason == "full" else "")

    def top_moves(self, number: int = 5) -> list[tuple[Any, float, str]]:
        """Return the best and the most visited moves of a tree, as (move, prior, visits or proven result).

        The move it plays is always one of them.
        """
        moves = list(self.result.visits)[:number]
        if moves and self.move not in moves:
            moves[-1] = self.move
        return [(move, self.result.priors[move], self._visits_or_proof(move)) for move in moves]

    def _visits_or_proof(self, move: Any) -> str:
        if move not in self.result.proofs:
            return f"{self.result.visits[move]:,}"
        proof, plies = self.result.proofs[move]
        return proof if plies is None else f"{proof} in {plies}"


class Opponent:
    """Plays, gives hints and answers draws; loaded on first use.

    Attributes:
        name: its name in messages and PDN headers.
        short: its name where it moves.
        analyses: whether it is a tree search, with a value for every move.
    """

    def __init__(
        self,
        load: "Callable[[], Engine]",
        name: str,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        analyses: bool = True,
        vary: int = 0,
        seed: int | None = None,
    ) -> None:
        """Prepare an opponent.

        Args:
            load: creates the engine.
            name, analyses: see the class.
            sims, seconds: limits per move; both None: those of the engine.
            vary: plies at the start in which a move nearly as good as the best may be played.
            seed: seed of that choice; None: random.
        """
        self.name, self.analyses = name, analyses
        self.short = "ckai" if name.startswith("ckai") else name if len(name) <= 20 else name[:18] + ".."
        self._load = load
        self._engine: Engine | None = None
        self._sims, self._seconds = sims, seconds
        self._vary, self._random = vary, random.Random(seed)

    def load(self) -> None:
        """Load the engine and compile its kernels with a short search.

        Raises:
            ValueError: it cannot be loaded.
        """
        if self._engine is None:
            from ckai.rl.engine import Limit
            from ckai.rl.engine.program import ProgramEngine

            engine = self._load()
            if engine.honours(Limit(depth=2)) and not isinstance(engine, ProgramEngine):
                engine.play(engine.spec.game(), Limit(depth=2))
            self._engine = engine

    def reply(
        self,
        game: Any,
        *,
        vary: bool = True,
        clock: "Clock | None" = None,
        lines: int = 1,
        stop: "Stop | None" = None,
    ) -> Reply:
        """Choose a move in the current position of a game.

        Args:
            game: the game; its earlier positions count for repetitions.
            vary: allow nearly best moves at the start of the game.
            clock: the clock of the side to move, in place of its own limit; None: none.
            lines: least number of lines of the search, if it has a tree.
            stop: ends the search, also before it has begun.

        Raises:
            ValueError: as `load`.
            ResignsError: it resigns in place of a move.
        """
        self.load()
        assert self._engine is not None
        vary = vary and len(game.moves) < self._vary
        lines = len(game.position.legal_moves()) if vary else lines
        result = self._engine.play(game, self._limit(clock), lines=lines, stop=stop)
        move = result.move
        if vary and result.proven is None and result.sims:
            least = NEARLY * max(result.visits.values())
            lost = {m for m, (proof, _) in result.proofs.items() if proof == "loss"}
            likely = {m: n for m, n in result.visits.items() if n >= least and n > 0 and m not in lost}
            if move in likely:
                move = self._random.choices(list(likely), list(likely.values()))[0]
        return Reply(move, result)

    def _limit(self, clock: "Clock | None") -> "Limit | None":
        from ckai.rl.engine import Limit

        assert self._engine is not None
        limit = Limit(visits=self._sims, seconds=self._seconds)
        if clock is not None:
            limit = Limit(clock=clock.left, increment=clock.control.increment, remaining_moves=clock.moves)
        return limit if limit.given and self._engine.honours(limit) else None

    def close(self) -> None:
        """Release what it plays with."""
        if self._engine is not None:
            self._engine.close()


@dataclass(frozen=True)
class OpponentFactory:
    """Makes the opponents of a game."""

    spec: GameSpec
    evaluator: str
    tables: str
    vary: int
    seed: int | None
    control: "TimeControl | None" = None
    """Time of each side, None without clocks."""
    status: Callable[[str], Any] | None = None
    """Returns a context in which a text says what is being loaded; None: nothing says it."""

    def opponent(
        self,
        player: EngineText | None,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        later: bool = False,
    ) -> Opponent:
        """Return the opponent of a player spec.

        Args:
            player: the spec; None: the newest network.
            sims, seconds: limits per move, in place of one in the spec.
            later: look for the newest network only when it is needed.

        Raises:
            UsageError: a limit is given twice.
            NoNetworkError: there is no network.
        """
        if player is None:
            if later:
                return self._make(lambda: newest_name(self.spec.name), network_name(None), sims, seconds)
            source = newest_name(self.spec.name)
            if source == CKAI and (sims, seconds, self.control) == (None, None, None):
                seconds = FULL_STRENGTH_SECONDS
            return self._make(lambda: source, network_name(source), sims, seconds)
        limited = player.number is not None or player.seconds is not None or player.policy
        if limited and (sims is not None or seconds is not None):
            raise click.UsageError(f"--engine {player.text} has a limit; leave out --sims and --seconds")
        if searches(player.who) and not player.policy:
            sims, seconds = sims or player.number, seconds or player.seconds
            return self._make(lambda: player.who, network_name(player.who), sims, seconds)
        text = player.text + limit_text(sims, seconds)
        if not limited and self.control is not None and player.who.startswith((HUB, GTP)):
            text = player.who + clock_text(self.control)
        return self._make(lambda: text, player_name(text), None, None, analyses=False)

    def analyst(self) -> Opponent:
        """Return an opponent that gives hints beside one that cannot: the newest network, or playouts."""

        def find() -> str:
            try:
                return newest_name(self.spec.name)
            except NoNetworkError:
                return NO_NETWORK[0]

        return self._make(find, network_name(None), None, None)

    def _make(
        self,
        find: Callable[[], str],
        name: str,
        sims: int | None,
        seconds: float | None,
        *,
        analyses: bool = True,
    ) -> Opponent:
        """Return an opponent; `find` returns its spec when it is needed."""

        def load() -> "Engine":
            from ckai.rl.engine import Engine

            text, endgames = find(), open_tables(self.tables) if self.spec.supports_tables else None
            if analyses and text not in NO_NETWORK and searches(text):
                text = resolve_network(text)
            with self.status("loading the network ...") if self.status else nullcontext():
                return Engine.load(
                    text, evaluator=self.evaluator, tables=endgames, game=self.spec, seed=self.seed
                )

        return Opponent(
            load, name, sims=sims, seconds=seconds, analyses=analyses, vary=self.vary, seed=self.seed
        )


def player_name(text: str) -> str:
    """Return the name of a player of matches for messages and PDN headers, without folders and arguments."""
    who, at, limit = text.rpartition("@")
    who, end = (who, at + limit) if who else (text, "")
    for program in (HUB, GTP):
        if who.startswith(program):
            return program + Path(who.removeprefix(program).split()[0]).name + end
    if who.startswith(LEVEL):
        return who.replace(":", " ") + end
    start = ALPHA_BETA if who.startswith(ALPHA_BETA) else ""
    return start + "/".join(Path(who.removeprefix(start)).parts[-2:]) + end


def searches(who: str) -> bool:
    """Return whether a player without its limit is a tree search: with a network, or without one."""
    try:
        return who in NO_NETWORK or bool(network_file(Path(who)))
    except (NoNetworkError, OSError):  # also a name that is too long for a file
        return False


def clock_text(control: "TimeControl") -> str:
    """Return a clock as the end of a player spec, where `@300s` would be seconds for every move."""
    text = str(control)
    return f"@{text}" if "/" in text or "+" in text else f"@{text}+0s"


def limit_text(sims: int | None, seconds: float | None) -> str:
    """Return limits per move as the end of a player spec.

    Raises:
        UsageError: both are given.
    """
    if sims is not None and seconds is not None:
        raise click.UsageError("this player takes --sims or --seconds, not both")
    if seconds is not None:
        return f"@{seconds:.9f}".rstrip("0").rstrip(".") + "s"
    return "" if sims is None else f"@{sims}"


def network_name(source: str | None) -> str:
    """Return the name of a network for PDN headers: `ckai run-001/best.ckpt`, without leading folders."""
    if source is None or source in NO_NETWORK:
        return "ckai" if source is None else f"ckai {source}"
    if source == CKAI:
        return CKAI
    path = Path(source, "best.ckpt") if Path(source).is_dir() else Path(source)
    return "ckai " + "/".join(path.parts[-2:])
