"""Player specs: `WHO` or `WHO@LIMIT`, as `ckai match` takes them; `ckai.rl.players.forms` lists all forms."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_checkpoint, load_network
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.pretrained import CKAI, HUMAN, PRETRAINED, network_path
from ckai.rl.engine.base import AnyEngine
from ckai.rl.engine.engine import THREADS
from ckai.rl.engine.limit import Limit
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import ROLLOUT
from ckai.rl.evaluators.uniform import UNIFORM
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.alphabeta import NetworkAlphaBetaPlayer
from ckai.rl.players.engines import PlayerEngine
from ckai.rl.players.forms import (
    DEFAULT_DEPTH,
    DEFAULT_SECONDS,
    DEFAULT_VISITS,
    FULL_STRENGTH_SECONDS,
)
from ckai.rl.players.hub import HubPlayer
from ckai.rl.players.levels import FULL_LEVEL, LEVELS, QUICK_NODES, LevelPlayer
from ckai.rl.players.material import AlphaBetaPlayer
from ckai.rl.players.parsing import ALPHA_BETA, GTP, HUB, LEVEL, PlayerSpec, PlayerSpecError
from ckai.rl.players.player import Player
from ckai.rl.players.search import POLICY_SIMS, SearchPlayer
from ckai.rl.players.simple import PerfectPlayer, RandomPlayer

BUILT_IN = (ROLLOUT, UNIFORM, "alphabeta", "random", "perfect")
"""Players that are not files."""


def load_player(
    text: str,
    *,
    backend: str = "auto",
    tables: Tables | None = None,
    game: GameSpec = DEFAULT_GAME,
    threads: int = 1,
    search_threads: int = 1,
) -> Player:
    """Load the player of a spec.

    Args:
        text: the spec, see `ckai.rl.players.forms`.
        backend: evaluator backend, see `load_evaluator`.
        tables: tablebases for the searches.
        game: the game.
        threads: threads that call the network.
        search_threads: threads of an alpha-beta search with a network, within a time.

    Raises:
        PlayerSpecError: an unknown player, a limit it does not support, or a game it cannot play.
        CheckpointError: a file is not a checkpoint.
    """
    spec = PlayerSpec.read(text)
    if spec.who == "random":
        _require_limit(spec, "no limit", number=False, seconds=False, policy=False)
        return RandomPlayer(game)
    if spec.who.startswith(LEVEL):
        _require_game(LevelPlayer.GAME, game, text)
        return _level_player(spec, tables, search_threads)
    if spec.who == "perfect":
        _require_limit(spec, "no limit", number=False, seconds=False, policy=False)
        if game.solver is None:
            raise PlayerSpecError(f"perfect: expected a game that can be solved, found {game.name}")
        return PerfectPlayer(game)
    if spec.who == "alphabeta":
        _require_limit(spec, "a depth, such as alphabeta@6", seconds=False, policy=False)
        _require_game(AlphaBetaPlayer.GAME, game, text)
        return AlphaBetaPlayer(spec.number or DEFAULT_DEPTH)
    if spec.who.startswith(HUB):
        _require_limit(spec, "seconds or a depth", policy=False)
        _require_game(HubPlayer.GAME, game, text)
        return HubPlayer(
            spec.who.removeprefix(HUB),
            spec.seconds or DEFAULT_SECONDS,
            spec.number,
            control=spec.control,
        )
    if spec.who.startswith(GTP):
        _require_limit(spec, "seconds or a clock", number=False, policy=False)
        return _gtp_player(spec, game)
    if spec.who.startswith(ALPHA_BETA):
        return _alpha_beta_player(spec, game, tables, search_threads)
    if spec.who in (ROLLOUT, UNIFORM):
        _require_limit(spec, "visits or seconds", policy=False)
        source: str | Path = spec.who
    else:
        source = _require_checkpoint(spec)
    evaluator = load_evaluator(source, backend, threads=threads, game=game.name)
    sims = POLICY_SIMS if spec.policy else spec.number or DEFAULT_VISITS
    # The bare policy must not use tablebases.
    return SearchPlayer(
        evaluator,
        sims,
        tables=None if spec.policy else tables,
        seconds=spec.seconds,
        control=spec.control,
        spec=game,
    )


TRIAL = Limit(seconds=0.05, nodes=500)
"""Limit of the searches that compile, load and measure what no time limit should pay for."""
_TRIAL_FENS = ("W:WK23,32:B18,10,9,19", "W:WK18,K15:BK4")
"""Positions of these searches beside the first one: with captures of several hops, with few pieces."""


def load_engine(
    text: str,
    *,
    backend: str = "auto",
    tables: Tables | None = None,
    game: GameSpec = DEFAULT_GAME,
    threads: int | None = None,
    seed: int | None = None,
    trials: bool = False,
) -> AnyEngine:
    """Load the engine of a player spec.

    Args:
        text, backend, tables, game: see `load_player`.
        threads: threads of an alpha-beta search with a network; None: one per core.
        seed: seed of its random choices; None: random in a level or another program, none in other engines.
        trials: compile and measure first what searches need, of any kind of position.

    Raises:
        PlayerSpecError, CheckpointError: see `load_player`; or its limit is a clock, which comes with each
            move, but for other programs, which are told of it when a game begins.
    """
    spec, cores = PlayerSpec.read(text), threads or available_cores()
    _refuse_clock(spec)
    player = load_player(
        text, backend=backend, tables=tables, game=game, threads=THREADS, search_threads=cores
    )
    engine: AnyEngine
    unlimited = spec.number is None and spec.seconds is None and not spec.who.startswith(LEVEL)
    if isinstance(player, NetworkAlphaBetaPlayer):
        engine = player.engine(seed)
        if unlimited and engine.limit is not None:
            engine.default_limit, engine.limit = engine.limit, None
    elif isinstance(player, SearchPlayer) and not spec.policy:
        engine = player.engine(seed=seed)
        engine.owns_evaluator = True
        engine.measure()
        if unlimited:
            engine.limit = None
    else:
        engine = PlayerEngine(player, game, seed)
    if trials and not engine.fixed:
        fens = _TRIAL_FENS if game == DEFAULT_GAME else ()
        for position in (game.position(), *map(game.read_position, fens)):
            played = game.game(position)
            for _ in range(3):  # the later ones go on from the search before
                for move in engine.search(played, TRIAL).pv[:2]:
                    played.push(move)
                if not played.position.legal_moves():
                    break
        engine.forget()
    return engine


def check_spec(text: str, game: GameSpec = DEFAULT_GAME) -> None:
    """Raise the error that `load_engine` would raise for a spec, without loading a network that is there.

    Raises:
        PlayerSpecError: see `load_engine`.
    """
    spec = PlayerSpec.read(text)
    _refuse_clock(spec)
    if checkpoint_of(spec) is None:
        load_player(text, game=game)


def _refuse_clock(spec: PlayerSpec) -> None:
    if spec.control is not None and not spec.who.startswith((HUB, GTP)):
        raise PlayerSpecError(
            f"{spec.text}: expected visits, seconds or a depth after {spec.who}, found a clock: the clock "
            "comes with each move"
        )


def _require_checkpoint(spec: PlayerSpec) -> Path:
    """Return the checkpoint of a spec.

    Raises:
        PlayerSpecError: there is none; says what a spec can be.
    """
    if (path := checkpoint_of(spec)) is not None:
        return path
    folder = network_path(spec.who.removeprefix(ALPHA_BETA))
    if os.path.isdir(folder):
        raise PlayerSpecError(f"{spec.text}: expected a run with a network, found no best.ckpt in {folder}")
    who, at, limit = spec.text.rpartition("@")
    limits = "a number, seconds such as 0.5s, a clock such as 60s+0.6s, or policy"
    hint = f"; a limit is {limits}, not {limit!r}" if at and who and spec.who == spec.text else ""
    raise PlayerSpecError(
        f"{spec.text}: expected a checkpoint, a run folder, {', '.join(PRETRAINED)}, level:N, "
        f"alphabeta:NETWORK, rollout, uniform, alphabeta, random, perfect, hub:COMMAND or "
        f"gtp:COMMAND, found no file {spec.who.removeprefix(ALPHA_BETA)}{hint}"
    )


def _alpha_beta_player(spec: PlayerSpec, game: GameSpec, tables: Tables | None, threads: int) -> Player:
    """Return an alpha-beta search with an integer network."""
    source = _require_checkpoint(spec)
    _require_limit(spec, "seconds or a depth", policy=False)
    try:
        integers = cast(IntegerEvaluator, load_evaluator(source, "integers", game=game.name))
    except BackendError as error:
        raise PlayerSpecError(
            f"{spec.text}: expected an integer network, such as `ckai pretrain --model swift` trains, found "
            f"another ({error})"
        ) from None
    seconds = spec.seconds if spec.number or spec.seconds or spec.control else DEFAULT_SECONDS
    return NetworkAlphaBetaPlayer(
        integers,
        seconds,
        depth=spec.number,
        control=spec.control,
        tables=tables,
        spec=game,
        threads=threads,
    )


def _gtp_player(spec: PlayerSpec, game: GameSpec) -> Player:
    """Return a program that speaks GTP. Its game is imported only here."""
    from ckai.rl.players.gtp import GtpPlayer

    _require_game(GtpPlayer.GAME, game, spec.text)
    return GtpPlayer(spec.who.removeprefix(GTP), spec.seconds, control=spec.control, spec=cast(Any, game))


def _level_player(spec: PlayerSpec, tables: Tables | None, threads: int) -> Player:
    """Return the player of `level:N`; the highest is full strength and may have a time limit."""
    text = spec.who.removeprefix(LEVEL)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= FULL_LEVEL:
        raise PlayerSpecError(f"{spec.text}: expected a level from 1 to {FULL_LEVEL}, found {text}")
    top = int(text) == FULL_LEVEL
    wanted = "seconds" if top else "no limit, as a level has its own,"
    _require_limit(spec, wanted, number=False, seconds=top, policy=False)
    network = IntegerEvaluator(load_network(CKAI))
    if top:
        seconds = spec.seconds or FULL_STRENGTH_SECONDS
        return NetworkAlphaBetaPlayer(network, seconds, control=spec.control, tables=tables, threads=threads)
    if int(text) > len(LEVELS):
        return NetworkAlphaBetaPlayer(network, nodes=QUICK_NODES[int(text) - len(LEVELS) - 1], tables=tables)
    return LevelPlayer(LEVELS[int(text) - 1], IntegerEvaluator(load_network(HUMAN)), network, tables)


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among player specs, or None without a network.

    Raises:
        PlayerSpecError: a text is not a spec.
        CheckpointError: a file is not a checkpoint.
    """
    for text in texts:
        path = checkpoint_of(PlayerSpec.read(text))
        if path is not None:
            return load_checkpoint(path).network().encode.GAME
    return None


def checkpoint_of(spec: PlayerSpec) -> Path | None:
    """Return the checkpoint of a spec, None if there is none; a run folder stands for its best network."""
    if spec.who in BUILT_IN or spec.who.startswith((HUB, GTP, LEVEL)):
        return None
    # Unlike `Path.is_dir`, these never raise, such as for a name that is too long.
    who = spec.who.removeprefix(ALPHA_BETA)
    path = network_path(who)
    if os.path.isdir(path):
        path = path / "best.ckpt"
    return path if os.path.isfile(path) else None


def checkpoints_of(spec: PlayerSpec) -> list[Path]:
    """Return the checkpoints that decide how a player moves; the levels have two of those installed."""
    if spec.who.startswith(LEVEL):
        return [network_path(CKAI), network_path(HUMAN)]
    path = checkpoint_of(spec)
    return [] if path is None else [path]


def _require_game(name: str, game: GameSpec, text: str) -> None:
    if game.name != name:
        raise PlayerSpecError(
            f"{text}: expected a player of {game.name}, found one of {name}; choose another player or game"
        )


def _require_limit(
    spec: PlayerSpec, wanted: str, *, number: bool = True, seconds: bool = True, policy: bool = True
) -> None:
    if (
        (spec.number is not None and not number)
        or ((spec.seconds is not None or spec.control is not None) and not seconds)
        or (spec.policy and not policy)
    ):
        found = spec.text.removeprefix(spec.who)
        raise PlayerSpecError(f"{spec.text}: expected {wanted} after {spec.who}, found {found}")
