"""Loading of engines by their texts, see `ckai.rl.engine.text`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import INTEGERS, BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.pretrained import CKAI, HUMAN, PRETRAINED, network_path
from ckai.rl.engine.alphabeta import AlphaBetaEngine
from ckai.rl.engine.base import Engine
from ckai.rl.engine.hub import HubEngine
from ckai.rl.engine.levels import FULL_LEVEL, LEVELS, QUICK_NODES, LevelEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import ProgramEngine
from ckai.rl.engine.simple import MaterialEngine, PerfectEngine, RandomEngine
from ckai.rl.engine.text import ALPHA_BETA, FULL_STRENGTH_SECONDS, GTP, HUB, LEVEL, EngineText
from ckai.rl.engine.tree import THREADS, TreeEngine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import ROLLOUT
from ckai.rl.evaluators.uniform import UNIFORM
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SEARCHES = (ROLLOUT, UNIFORM)
"""Tree searches without a network."""
POLICY = Limit(visits=2)
"""The limit that plays the most likely move of the policy: the root and that move are visited."""
_KINDS: dict[str, tuple[type[Engine], str | None]] = {
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
    if kind == LEVEL and (level := int(rest)) > len(LEVELS):
        kind, rest = ALPHA_BETA, CKAI
        if level < FULL_LEVEL:
            limit = Limit(nodes=QUICK_NODES[level - len(LEVELS) - 1])
        limit = limit or Limit(seconds=FULL_STRENGTH_SECONDS)
    engine: Engine
    if kind == "random":
        engine = RandomEngine(game, seed=seed)
    elif kind == "perfect":
        engine = PerfectEngine(game, seed=seed)
    elif kind == "alphabeta":
        engine = MaterialEngine(seed=seed)
    elif kind == HUB:
        engine = HubEngine(rest)
    elif kind == GTP:
        from ckai.rl.games.go.gtp import GtpEngine  # it imports its game

        engine = GtpEngine(rest, spec=game)
    elif kind == LEVEL:
        people, network = (cast(IntegerEvaluator, load_evaluator(name, INTEGERS)) for name in (HUMAN, CKAI))
        engine = LevelEngine(LEVELS[int(rest) - 1], people, network, tables, seed=seed)
    elif kind == ALPHA_BETA:
        try:
            integers: Any = load_evaluator(network_path(rest), INTEGERS, game=game.name)
        except BackendError as error:
            raise ValueError(
                f"{text}: expected an integer network, such as `ckai pretrain --model swift` trains, found "
                f"another ({error})"
            ) from None
        cores = threads or available_cores()
        engine = AlphaBetaEngine(integers, tables=tables, spec=game, threads=cores, seed=seed)
    else:
        source = rest if rest in SEARCHES else network_path(rest)
        loaded = load_evaluator(source, evaluator, threads=threads or THREADS, game=game.name)
        engine = tree = TreeEngine(loaded, seed=seed, tables=None if wanted.policy else tables, spec=game)
        tree.owns_evaluator = True
        tree.measure()
        limit = POLICY if wanted.policy else limit
    engine.name, engine.control, engine.limit, engine.takes = text, wanted.control, limit, takes
    return engine


def check(wanted: EngineText, game: GameSpec = DEFAULT_GAME, *, clock: bool = True) -> frozenset[str]:
    """Return the limits that an engine takes.

    Args:
        wanted: the text of the engine.
        game: the game.
        clock: whether it may have a clock for a whole game; False: it gets its time with each move.

    Raises:
        ValueError: the text names no engine, a limit that this engine does not have, or a game that it
            does not play.
    """
    text, who, kind, rest = wanted.text, wanted.who, wanted.kind, wanted.rest
    (of, only), is_file = _KINDS[kind], kind in ("", ALPHA_BETA) and who not in SEARCHES
    takes = of.takes

    def refusal(expected: str, found: str) -> ValueError:
        return ValueError(f"{text}: expected {expected}, found {found}")

    if only not in (None, game.name):
        raise refusal(f"an engine of {game.name}", f"one of {only}; choose another engine or game")
    if kind == "perfect" and game.solver is None:
        raise refusal("a game that can be solved", game.name)
    if kind == LEVEL:
        if not rest.isascii() or not rest.isdigit() or not 1 <= int(rest) <= FULL_LEVEL:
            raise refusal(f"a level from 1 to {FULL_LEVEL}", rest)
        takes = ProgramEngine.takes if int(rest) == FULL_LEVEL else frozenset()
    if is_file and not os.path.isfile(path := network_path(rest)):
        before, at, limit = text.rpartition("@")
        limits = "a number, a depth such as d9, seconds such as 0.5s, a clock such as 60s+0.6s, or policy"
        hint = f"; a limit is {limits}, not {limit!r}" if at and before and who == text else ""
        raise refusal(
            f"a checkpoint, a run folder, {', '.join(PRETRAINED)}, level:N, alphabeta:NETWORK, rollout, "
            "uniform, alphabeta, random, perfect, hub:COMMAND or gtp:COMMAND",
            f"no file {path}{hint}",
        )
    if wanted.control is not None and not clock:
        raise refusal(f"visits, seconds or a depth after {who}", "a clock for a whole game")
    given = set(wanted.limit.given if wanted.limit else ["clock"] if wanted.control else [])
    if given - takes:
        wants = " or ".join(name for name in ("visits", "depth", "seconds", "clock") if name in takes)
        raise refusal(f"{wants or 'no limit'} after {who}", text.removeprefix(who))
    if wanted.policy and (kind or who in SEARCHES):
        raise refusal("a network with @policy", who)
    return frozenset() if wanted.policy else takes


def networks_of(text: str) -> list[Path]:
    """Return the checkpoints that decide how an engine moves; the levels have two of those installed.

    Raises:
        ValueError: the text cannot be read.
    """
    wanted = EngineText.read(text)
    if wanted.kind == LEVEL:
        return [network_path(CKAI), network_path(HUMAN)]
    path = network_path(wanted.rest)
    return [path] if wanted.kind in ("", ALPHA_BETA) and os.path.isfile(path) else []


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among texts of engines, or None without a network.

    Raises:
        ValueError: a text cannot be read.
        CheckpointError: a file is not a checkpoint.
    """
    from ckai.models.checkpoint import load_checkpoint

    for path in (path for text in texts if not text.startswith(LEVEL) for path in networks_of(text)):
        return load_checkpoint(path).network().encode.GAME
    return None
