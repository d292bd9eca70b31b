"""Engines for people: moves that vary at the start of a game; the engine that judges."""

import random
from dataclasses import replace
from typing import Any

from ckai.cli.shared.found import STRONGEST, networks_in
from ckai.cli.shared.options import open_tables
from ckai.rl.engine.base import Engine, SearchResult, Stop
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

VARIED_PLIES = 8
"""Plies at the start of a game in which a move nearly as good as the best may be played, for variety."""
NEARLY = 0.5
"""Share of the best move's visits that such a move needs."""


def choose_move(
    engine: Engine,
    game: Any,
    clock: Limit | None = None,
    *,
    chance: random.Random | None = None,
    stop: Stop | None = None,
) -> SearchResult:
    """Let an engine choose a move, see `Engine.play`; for variety another line than the best may come first.

    `clock` replaces the limit of an engine that takes one. `chance` draws
    one of the moves with nearly as many visits as the best at the start of a game.
    """
    limit = clock if "clock" in engine.takes else None
    if chance is None or "visits" not in engine.takes or len(game.moves) >= VARIED_PLIES:
        return engine.play(game, limit, stop=stop)
    result = engine.play(game, limit, lines=len(game.position.legal_moves()), stop=stop)
    least = max(1.0, NEARLY * max(line.visits for line in result.lines))
    likely = [line for line in result.lines if line.visits >= least and line.proven != "loss"]
    if result.proven is not None or result.lines[0] not in likely:
        return result
    chosen = chance.choices(likely, [line.visits for line in likely])[0]
    return replace(result, lines=[chosen, *(line for line in result.lines if line is not chosen)])


def load_engine(text: str, spec: GameSpec, seed: int | None = None) -> Engine:
    """Load an engine, see `Engine.load`, with the tablebases there are."""
    return Engine.load(text, tables=open_tables(spec=spec), game=spec, seed=seed)


def judge_of(spec: GameSpec) -> str:
    """Return the engine that explains and judges a game: the strongest one there is, a second a search."""
    if spec == DEFAULT_GAME:
        return f"{STRONGEST}@1s"
    networks = (str(path) for path, game in networks_in() if game == spec.name)
    return next(networks, "rollout") + "@1s"
