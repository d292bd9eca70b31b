"""Engines that people play: loaded when they are needed; their moves, varied at the start of a game."""

import os
import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.shared.networks import NO_NETWORK, networks_in
from ckai.cli.shared.tables import open_tables
from ckai.game.text import printable
from ckai.models.pretrained import CKAI, network_path
from ckai.rl.engine.text import ALPHA_BETA, GTP, HUB, LEVEL, EngineText
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl import Engine, SearchResult, Stop
    from ckai.rl.games.clock import Clock

VARIED_PLIES = 8
"""Plies at the start of a game in which a move nearly as good as the best may be played, for variety."""
JUDGE_SECONDS = 1.0
"""Time of a search that explains or judges."""
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

    def load(self, text: str) -> "Engine":
        """Load an engine, see `Engine.load`."""
        from ckai.rl import Engine

        tables = open_tables(self.tables) if self.spec.supports_tables else None
        with self.status("loading the network ...") if self.status else nullcontext():
            seed = random.getrandbits(63) if self.seed is None else self.seed
            return Engine.load(text, evaluator=self.evaluator, tables=tables, game=self.spec, seed=seed)

    def lazy(self, text: str, name: str) -> LazyEngine:
        """Return an engine that is loaded when it is needed."""
        return LazyEngine(lambda: self.load(text), name)


def judge_of(spec: GameSpec) -> str:
    """Return the engine that explains and judges a game: the strongest one there is, with its limit."""
    if spec == DEFAULT_GAME:
        return f"{ALPHA_BETA}{CKAI}@{JUDGE_SECONDS:g}s"
    networks = (str(path) for path, game in networks_in() if game == spec.name)
    return next(networks, "rollout") + f"@{JUDGE_SECONDS:g}s"


def player_name(text: str) -> str:
    """Return the name of a player for messages and PDN headers, without folders and arguments.

    A tree search is `ckai`, with its network if that is not the installed one: `ckai run-001/best.ckpt`.
    """
    player = EngineText.read(text)
    if not player.policy and (player.who in NO_NETWORK or os.path.isfile(network_path(player.who))):
        path = Path(player.who, "best.ckpt") if Path(player.who).is_dir() else Path(player.who)
        return CKAI if player.who == CKAI else "ckai " + "/".join(path.parts[-2:])
    who, at, limit = text.rpartition("@")
    who, end = (who, at + limit) if who else (text, "")
    for program in (HUB, GTP):
        if who.startswith(program):
            return program + Path(who.removeprefix(program).split()[0]).name + end
    if who.startswith(LEVEL):
        return who.replace(":", " ") + end
    start = ALPHA_BETA if who.startswith(ALPHA_BETA) else ""
    return start + "/".join(Path(who.removeprefix(start)).parts[-2:]) + end
