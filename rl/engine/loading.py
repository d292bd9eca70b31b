"""Loading of engines by their texts: `WHO` or `WHO@LIMIT`; `ckai.rl.engine.forms` lists all forms."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_checkpoint, load_network
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.pretrained import CKAI, HUMAN, PRETRAINED, network_path
from ckai.rl.engine.alphabeta import AlphaBetaEngine, MaterialEngine
from ckai.rl.engine.base import Engine
from ckai.rl.engine.forms import FULL_STRENGTH_SECONDS
from ckai.rl.engine.hub import HubEngine
from ckai.rl.engine.levels import FULL_LEVEL, LEVELS, QUICK_NODES, LevelEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.parsing import ALPHA_BETA, GTP, HUB, LEVEL, EngineText, EngineTextError
from ckai.rl.engine.program import ProgramEngine
from ckai.rl.engine.simple import PerfectEngine, RandomEngine
from ckai.rl.engine.tree import THREADS, TreeEngine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import ROLLOUT
from ckai.rl.evaluators.uniform import UNIFORM
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

BUILT_IN = (ROLLOUT, UNIFORM, "alphabeta", "random", "perfect")
"""Engines that are not files."""
POLICY = Limit(visits=2)
"""The limit that plays the most likely move of the policy: the root and that move are visited."""


def load_engine(
    text: str,
    *,
    evaluator: str = "auto",
    tables: Tables | None = None,
    seed: int | None = None,
    game: GameSpec = DEFAULT_GAME,
    threads: int | None = None,
) -> Engine:
    """Load an engine; see `Engine.load`."""
    wanted = EngineText.read(text)
    engine = _maker(wanted, game)(evaluator, tables, seed, threads)
    engine.name, engine.spec, engine.control = text, game, wanted.control
    try:
        limit = _limit_of(wanted, engine)
    except EngineTextError:
        engine.close()  # it may be a program that runs
        raise
    if limit is not None:
        engine.limit = limit
    return engine


_Maker = Callable[[str, Tables | None, int | None, int | None], Engine]


def _maker(wanted: EngineText, game: GameSpec) -> _Maker:
    """Return what makes an engine, given the backend of its network, tables, seed and threads.

    Raises:
        EngineTextError: the text names no engine, or one that does not play the game.
    """
    text, who = wanted.text, wanted.who
    if who == "random":
        return lambda evaluator, tables, seed, threads: RandomEngine(game, seed=seed)
    if who == "perfect":
        if game.solver is None:
            raise EngineTextError(f"perfect: expected a game that can be solved, found {game.name}")
        return lambda evaluator, tables, seed, threads: PerfectEngine(game, seed=seed)
    if who.startswith(GTP):
        _require_game("go", game, text)
        return lambda evaluator, tables, seed, threads: _gtp_engine(who.removeprefix(GTP), game)
    if who.startswith((HUB, LEVEL)) or who == "alphabeta":
        _require_game(DEFAULT_GAME_NAME, game, text)
    if who.startswith(HUB):
        return lambda evaluator, tables, seed, threads: HubEngine(who.removeprefix(HUB))
    if who == "alphabeta":
        return lambda evaluator, tables, seed, threads: MaterialEngine(seed=seed)
    if who.startswith(LEVEL):
        number = who.removeprefix(LEVEL)
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= FULL_LEVEL:
            raise EngineTextError(f"{text}: expected a level from 1 to {FULL_LEVEL}, found {number}")
        return lambda evaluator, tables, seed, threads: _level(int(number), tables, seed, threads)
    source: str | Path = who if who in (ROLLOUT, UNIFORM) else _require_checkpoint(wanted)
    if who.startswith(ALPHA_BETA):
        return lambda evaluator, tables, seed, threads: _alpha_beta(text, source, tables, seed, threads, game)

    def tree(evaluator: str, tables: Tables | None, seed: int | None, threads: int | None) -> TreeEngine:
        loaded = load_evaluator(source, evaluator, threads=threads or THREADS, game=game.name)
        engine = TreeEngine(loaded, seed=seed, tables=None if wanted.policy else tables, spec=game)
        engine.owns_evaluator = True
        engine.measure()
        return engine

    return tree


def _limit_of(wanted: EngineText, engine: Engine) -> Limit | None:
    """Return the limit of a text; None if it has none of a single move.

    Raises:
        EngineTextError: the engine does not take such a limit.
    """
    number = "visits" if isinstance(engine, TreeEngine) else "depth"
    found = wanted.text.removeprefix(wanted.who)
    kinds = {number: wanted.number, "seconds": wanted.seconds, "clock": wanted.control}
    for name, value in kinds.items():
        if value is not None and name not in engine.takes:
            takes = " or ".join(kind for kind in kinds if kind in engine.takes) or "no limit"
            raise EngineTextError(f"{wanted.text}: expected {takes} after {wanted.who}, found {found}")
    if wanted.policy:
        if not isinstance(engine, TreeEngine) or wanted.who in (ROLLOUT, UNIFORM):
            raise EngineTextError(f"{wanted.text}: expected a network with @policy, found {wanted.who}")
        engine.takes = frozenset()
        return POLICY
    if wanted.number is not None:
        return Limit(**{number: wanted.number})
    return None if wanted.seconds is None else Limit(seconds=wanted.seconds)


def _alpha_beta(
    text: str,
    source: str | Path,
    tables: Tables | None,
    seed: int | None,
    threads: int | None,
    game: GameSpec,
) -> AlphaBetaEngine:
    try:
        integers = load_evaluator(source, "integers", game=game.name)
    except BackendError as error:
        raise EngineTextError(
            f"{text}: expected an integer network, such as `ckai pretrain --model swift` trains, found "
            f"another ({error})"
        ) from None
    assert isinstance(integers, IntegerEvaluator)
    cores = threads or available_cores()
    return AlphaBetaEngine(integers, tables=tables, spec=game, threads=cores, seed=seed)


def _level(number: int, tables: Tables | None, seed: int | None, threads: int | None) -> Engine:
    """Return the engine of a level; the highest has full strength and takes a time."""
    network = IntegerEvaluator(load_network(CKAI))
    if number <= len(LEVELS):
        people = IntegerEvaluator(load_network(HUMAN))
        return LevelEngine(LEVELS[number - 1], people, network, tables, seed=seed)
    cores = threads or available_cores()
    engine = AlphaBetaEngine(network, tables=tables, threads=cores, seed=seed)
    if number < FULL_LEVEL:
        engine.limit, engine.takes = Limit(nodes=QUICK_NODES[number - len(LEVELS) - 1]), frozenset()
    else:
        engine.limit, engine.takes = Limit(seconds=FULL_STRENGTH_SECONDS), frozenset(("seconds", "clock"))
    return engine


def _gtp_engine(command: str, game: GameSpec) -> Engine:
    """Return a program that speaks GTP. Its game is imported only here."""
    from ckai.rl.engine.gtp import GtpEngine

    return GtpEngine(command, spec=game)


def check_text(text: str, game: GameSpec = DEFAULT_GAME) -> None:
    """Raise the errors of the text of an engine that gets its time with each move.

    Raises:
        EngineTextError: see `Engine.load`; or its limit is a clock.
    """
    wanted = EngineText.read(text)
    if wanted.control is not None:
        raise EngineTextError(
            f"{text}: expected visits, seconds or a depth after {wanted.who}, found a clock for a whole game"
        )
    _maker(wanted, game)


TRIAL = Limit(seconds=0.05)
"""Limit of the searches that compile, load and measure what no time limit should pay for."""
_TRIAL_FENS = ("W:WK23,32:B18,10,9,19", "W:WK18,K15:BK4")
"""Positions of these searches after the first one: with captures of several hops, with few pieces."""


def try_out(engine: Engine) -> None:
    """Compile and measure what searches need in any kind of position."""
    if not engine.honours(TRIAL) or isinstance(engine, ProgramEngine):
        return
    game = engine.spec
    for position in (game.position(), *map(game.read_position, _TRIAL_FENS if game == DEFAULT_GAME else ())):
        played = game.game(position)
        for _ in range(3):  # the later ones go on from the search before
            for move in engine.play(played, TRIAL).pv[:2]:
                played.push(move)
            if not played.position.legal_moves():
                break
    engine.new_game()


def _require_checkpoint(wanted: EngineText) -> Path:
    """Return the checkpoint of a text.

    Raises:
        EngineTextError: there is none; says what a text can be.
    """
    if (path := checkpoint_of(wanted)) is not None:
        return path
    who = wanted.who.removeprefix(ALPHA_BETA)
    if os.path.isdir(folder := network_path(who)):
        raise EngineTextError(f"{wanted.text}: expected a run with a network, found no best.ckpt in {folder}")
    before, at, limit = wanted.text.rpartition("@")
    limits = "a number, seconds such as 0.5s, a clock such as 60s+0.6s, or policy"
    hint = f"; a limit is {limits}, not {limit!r}" if at and before and wanted.who == wanted.text else ""
    raise EngineTextError(
        f"{wanted.text}: expected a checkpoint, a run folder, {', '.join(PRETRAINED)}, level:N, "
        f"alphabeta:NETWORK, rollout, uniform, alphabeta, random, perfect, hub:COMMAND or "
        f"gtp:COMMAND, found no file {who}{hint}"
    )


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among texts of engines, or None without a network.

    Raises:
        EngineTextError: a text cannot be read.
        CheckpointError: a file is not a checkpoint.
    """
    for text in texts:
        path = checkpoint_of(EngineText.read(text))
        if path is not None:
            return load_checkpoint(path).network().encode.GAME
    return None


def checkpoint_of(wanted: EngineText) -> Path | None:
    """Return the checkpoint of a text, None if there is none; a run folder stands for its best network."""
    if wanted.who in BUILT_IN or wanted.who.startswith((HUB, GTP, LEVEL)):
        return None
    # Unlike `Path.is_dir`, these never raise, such as for a name that is too long.
    path = network_path(wanted.who.removeprefix(ALPHA_BETA))
    if os.path.isdir(path):
        path = path / "best.ckpt"
    return path if os.path.isfile(path) else None


def checkpoints_of(wanted: EngineText) -> list[Path]:
    """Return the checkpoints that decide how an engine moves; the levels have two of those installed."""
    if wanted.who.startswith(LEVEL):
        return [network_path(CKAI), network_path(HUMAN)]
    path = checkpoint_of(wanted)
    return [] if path is None else [path]


def _require_game(name: str, game: GameSpec, text: str) -> None:
    if game.name != name:
        raise EngineTextError(
            f"{text}: expected an engine of {game.name}, found one of {name}; choose another engine or game"
        )
