"""Loading of engines by their texts, see `ckai.rl.engine.limit`."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import INTEGERS, BackendError
from ckai.models.pretrained import CKAI, HUMAN, PRETRAINED, network_path
from ckai.rl.engine.alphabeta import (
    FULL_LEVEL,
    LEVELS,
    QUICK_NODES,
    AlphaBetaEngine,
    LevelEngine,
    MaterialEngine,
    PerfectEngine,
    RandomEngine,
)
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import ALPHA_BETA, FULL_STRENGTH_SECONDS, GTP, HUB, LEVEL, EngineText, Limit
from ckai.rl.engine.program import HubEngine, ProgramEngine
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.searcher import THREADS

SEARCHES = (RolloutEvaluator.name, UniformEvaluator.name)
"""Tree searches without a network."""
POLICY = Limit(visits=2)
"""The limit that plays the most likely move of the policy: the root and that move are visited."""
_KINDS: dict[str, tuple[type[Any], str | None]] = {
    "random": (RandomEngine, None),
    "perfect": (PerfectEngine, None),
    "alphabeta": (MaterialEngine, DEFAULT_GAME_NAME),
    ALPHA_BETA: (AlphaBetaEngine, None),
    LEVEL: (LevelEngine, DEFAULT_GAME_NAME),
    HUB: (HubEngine, DEFAULT_GAME_NAME),
    GTP: (ProgramEngine, "go"),
    "": (TreeEngine, None),
}
"""What each kind is, and the game if it plays but one."""


def load_engine(
    text: str, evaluator: str, tables: Tables | None, seed: int | None, game: GameSpec, threads: int | None
) -> Engine:
    """Load an engine; see `Engine.load`."""
    wanted = EngineText.read(text)
    takes, kind, rest, limit = check(wanted, game), wanted.kind, wanted.rest, wanted.limit
    if kind == LEVEL and (above := int(rest) - len(LEVELS)) > 0:
        full = *(Limit(nodes=nodes) for nodes in QUICK_NODES), limit or Limit(seconds=FULL_STRENGTH_SECONDS)
        kind, rest, limit = ALPHA_BETA, CKAI, full[above - 1]
    of, integers = _KINDS[kind][0], partial(load_evaluator, backend=INTEGERS, game=game.name)
    engine: Engine
    if kind == GTP:
        from ckai.rl.engine.gtp import GtpEngine  # it imports its game

        engine = GtpEngine(rest, spec=game)
    elif kind == HUB:
        engine = HubEngine(rest)
    elif kind == LEVEL:
        engine = of(LEVELS[int(rest) - 1], integers(HUMAN), integers(CKAI), tables, seed=seed)
    elif kind == ALPHA_BETA:
        try:
            network = integers(network_path(rest))
        except BackendError as error:
            raise ValueError(f"{text}: {error}") from None
        threads = threads or available_cores()
        engine = of(network, tables=tables, spec=game, threads=threads, seed=seed)
    elif kind:
        engine = of(game, seed=seed)
    else:
        source = rest if rest in SEARCHES else network_path(rest)
        loaded = load_evaluator(source, evaluator, threads=threads or THREADS, game=game.name)
        engine = tree = TreeEngine(loaded, seed=seed, tables=None if wanted.policy else tables, spec=game)
        tree.owns_evaluator = True
        tree.measure()
        limit = POLICY if wanted.policy else limit
    engine.name, engine.limit, engine.takes = text, limit, takes
    return engine


def check(wanted: EngineText, game: GameSpec = DEFAULT_GAME, *, clock: bool = True) -> frozenset[str]:
    """Return the limits that the engine of a text takes; `clock`: whether it may have one for a whole game.

    A ValueError says that it names no engine, a limit that the engine does not have, or another game.
    """
    text, who, kind, rest = wanted.text, wanted.who, wanted.kind, wanted.rest
    (of, only), path = _KINDS[kind], network_path(rest)

    def expect(holds: bool, expected: str, found: str) -> None:
        if not holds:
            raise ValueError(f"{text}: expected {expected}, found {found}")

    other = f"one of {only}; choose another engine or game"
    expect(only in (None, game.name), f"an engine of {game.name}", other)
    expect(kind != "perfect" or game.solver is not None, "a game that can be solved", game.name)
    known = kind != LEVEL or rest in map(str, range(1, FULL_LEVEL + 1))
    expect(known, f"a level from 1 to {FULL_LEVEL}", rest)
    if kind in ("", ALPHA_BETA) and who not in SEARCHES:
        before, at, limit = text.rpartition("@")
        limits = "a number, a depth such as d9, seconds such as 0.5s, a clock such as 60s+0.6s, or policy"
        hint = f"; a limit is {limits}, not {limit!r}" if at and before and who == text else ""
        names = ", ".join((*PRETRAINED, *SEARCHES, "alphabeta, random, perfect"))
        forms = f"a checkpoint, a run folder, {names}, level:N, alphabeta:NETWORK, hub:COMMAND or gtp:COMMAND"
        expect(os.path.isfile(path), forms, f"no file {path}{hint}")
    takes = ProgramEngine.takes if who == f"{LEVEL}{FULL_LEVEL}" else of.takes
    takes = frozenset() if wanted.policy else takes
    allowed = takes if clock else takes - {"clock"}
    wants = [name for name in ("visits", "depth", "seconds", "clock") if name in allowed]
    given = wanted.limit.given if wanted.limit else set()
    expect(given <= allowed, f"{' or '.join(wants) or 'no limit'} after {who}", text.removeprefix(who))
    expect(not wanted.policy or not (kind or who in SEARCHES), "a network with @policy", who)
    return takes


def networks_of(text: str) -> list[Path]:
    """Return the checkpoints that decide how an engine moves; the levels have two of those installed."""
    wanted = EngineText.read(text)
    if wanted.kind == LEVEL:
        return [network_path(CKAI), network_path(HUMAN)]
    path = network_path(wanted.rest)
    return [path] if wanted.kind in ("", ALPHA_BETA) and os.path.isfile(path) else []


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among texts of engines, or None without a network."""
    from ckai.models.checkpoint import load_checkpoint

    for path in (path for text in texts if not text.startswith(LEVEL) for path in networks_of(text)):
        return load_checkpoint(path).network().encode.GAME
    return None
