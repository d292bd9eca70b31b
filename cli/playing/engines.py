"""Engines that people play: loaded when they are needed; their moves, varied at the start of a game."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ckai.cli.shared.networks import networks_in
from ckai.cli.shared.options import open_tables
from ckai.models.pretrained import CKAI
from ckai.rl.engine.text import ALPHA_BETA
from ckai.rl.games.registry import DEFAULT_GAME
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
    """Let an engine choose a move, see `Engine.play`; for variety another line than the best may come first.

    The clock of the side to move replaces the limit of an engine that takes one. `chance` draws
    one of the nearly best moves at the start of a game.
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
    """An engine that is loaded when it is first needed; `name` is its name in messages and PDN headers."""

    def __init__(self, load: "Callable[[], Engine]", name: str) -> None:
        self.name, self._load = name, load
        self._engine: Engine | None = None

    def get(self) -> "Engine":
        """Return the engine."""
        if self._engine is None:
            self._engine = self._load()
        return self._engine

    def close(self) -> None:
        """Close the engine, if it was loaded."""
        if self._engine is not None:
            self._engine.close()


def load_engine(text: str, spec: GameSpec, seed: int | None = None) -> "Engine":
    """Load an engine, see `Engine.load`, with the tablebases there are."""
    from ckai.rl import Engine

    return Engine.load(text, tables=open_tables(spec=spec), game=spec, seed=seed)


def judge_of(spec: GameSpec) -> str:
    """Return the engine that explains and judges a game: the strongest one there is, a second a search."""
    if spec == DEFAULT_GAME:
        return f"{ALPHA_BETA}{CKAI}@1s"
    networks = (str(path) for path, game in networks_in() if game == spec.name)
    return next(networks, "rollout") + "@1s"
