"""Engines that people play: loaded when they are needed; their moves, varied at the start of a game."""

import os
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.shared.networks import NO_NETWORK, NoNetworkError, newest_name
from ckai.cli.shared.tables import open_tables
from ckai.game.text import printable
from ckai.models.pretrained import CKAI, network_path
from ckai.rl.engine.text import ALPHA_BETA, FULL_STRENGTH_SECONDS, GTP, HUB, LEVEL, EngineText
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl import Engine, SearchResult, Stop
    from ckai.rl.games.clock import Clock

VARIED_PLIES = 8
"""Plies at the start of a game in which a move nearly as good as the best may be played, for variety."""
NEARLY = 0.5
"""Share of the best move's visits that such a move needs."""


def choose_move(
    engine: "Engine",
    game: Any,
    *,
    clock: "Clock | None" = None,
    chance: random.Random | None = None,
    stop: "Stop | None" = None,
) -> "SearchResult":
    """Let an engine choose a move; for variety another line than the best may come first.

    Args:
        engine: the engine.
        game: the game; its position has a legal move.
        clock: the clock of the side to move, in place of the engine's own limit if it takes a clock.
        chance: draws one of the nearly best moves at the start of a game; None: the best is played.
        stop: ends the search.

    Raises:
        ValueError, RuntimeError, ProgramError, ResignsError: see `Engine.play`.
    """
    from ckai.rl import Limit

    limit = None
    if clock is not None and "clock" in engine.takes:
        limit = Limit(clock=clock.left, increment=clock.control.increment)
    if chance is None or len(game.moves) >= VARIED_PLIES:
        return engine.play(game, limit, stop=stop)
    result = engine.play(game, limit, lines=len(game.position.legal_moves()), stop=stop)
    least = max(1.0, NEARLY * max(line.visits for line in result.lines))
    likely = [line for line in result.lines if line.visits >= least and line.proven != "loss"]
    if result.proven is not None or result.lines[0] not in likely:
        return result
    chosen = chance.choices(likely, [line.visits for line in likely])[0]
    return replace(result, lines=[chosen, *(line for line in result.lines if line is not chosen)])


class LazyEngine:
    """An engine that is loaded when it is first needed.

    Attributes:
        name: its name in messages and PDN headers.
        short: its name where it moves.
    """

    def __init__(self, load: "Callable[[], Engine]", name: str) -> None:
        self.name, self._load = name, load
        self.short = "ckai" if name.startswith("ckai") else printable(name, most=20)
        self._engine: Engine | None = None

    def get(self) -> "Engine":
        """Return the engine.

        Raises:
            ValueError, OSError, RuntimeError: it cannot be loaded.
        """
        if self._engine is None:
            self._engine = self._load()
        return self._engine

    def close(self) -> None:
        """Close the engine, if it was loaded."""
        if self._engine is not None:
            self._engine.close()


@dataclass(frozen=True)
class EngineLoader:
    """Loads engines with the options of `ckai play`."""

    spec: GameSpec
    evaluator: str
    tables: str
    seed: int | None
    status: Callable[[str], Any] | None = None
    """Returns a context in which a text says what is being loaded; None: nothing says it."""

    def load(self, text: str, sims: int | None = None, seconds: float | None = None) -> "Engine":
        """Load an engine.

        Args:
            text: see `Engine.load`.
            sims, seconds: limits of its moves; both None: as the text says.

        Raises:
            ValueError: it does not take these limits; see `Engine.load` for others.
        """
        from ckai.rl import Engine, Limit

        tables = open_tables(self.tables) if self.spec.supports_tables else None
        with self.status("loading the network ...") if self.status else nullcontext():
            seed = random.getrandbits(63) if self.seed is None else self.seed
            engine = Engine.load(text, evaluator=self.evaluator, tables=tables, game=self.spec, seed=seed)
        if sims is not None or seconds is not None:
            try:
                engine.limit = Limit(visits=sims, seconds=seconds)
            except ValueError:
                engine.close()
                raise
        return engine

    def opponent(
        self, player: EngineText | None, sims: int | None = None, seconds: float | None = None
    ) -> LazyEngine:
        """Return the engine that people play against; None: the newest network.

        Raises:
            NoNetworkError: there is no network.
        """
        if player is not None:
            limit = "" if seconds is None else f"@{seconds:g}s"
            name = network_name(player.who) if has_tree(player) else player_name(player.text + limit)
            return LazyEngine(partial(self.load, player.text, sims, seconds), name)
        source = newest_name(self.spec.name)
        if source == CKAI and sims is None and seconds is None:
            seconds = FULL_STRENGTH_SECONDS
        return LazyEngine(partial(self.load, source, sims, seconds), network_name(source))

    def newest(self, sims: int | None = None, seconds: float | None = None) -> LazyEngine:
        """Return the newest network, or playouts, for hints; looked for when it is needed."""

        def load() -> "Engine":
            try:
                source = newest_name(self.spec.name)
            except NoNetworkError:
                source = NO_NETWORK[0]
            return self.load(source, sims, seconds)

        return LazyEngine(load, "ckai")


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


def network_name(source: str) -> str:
    """Return the name of a tree search for PDN headers: `ckai run-001/best.ckpt`, without leading folders."""
    path = Path(source, "best.ckpt") if Path(source).is_dir() else Path(source)
    return CKAI if source == CKAI else "ckai " + "/".join(path.parts[-2:])


def has_tree(player: EngineText) -> bool:
    """Return whether a player is a tree search, with a value for every move."""
    found = player.who in NO_NETWORK or os.path.isfile(network_path(player.who))
    return found and not player.policy
