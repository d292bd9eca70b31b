"""`load_thinker`: the thinker of a player spec."""

import os
from dataclasses import replace

from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.game import Game, Position
from ckai.models.pretrained import network_path
from ckai.rl.engine.engine import THREADS, Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.players.alphabeta import NetworkAlphaBetaPlayer
from ckai.rl.players.loading import load_player
from ckai.rl.players.material import AlphaBetaPlayer
from ckai.rl.players.parsing import ALPHA_BETA, HUB, LEVEL, PlayerSpec, PlayerSpecError
from ckai.rl.players.search import SearchPlayer
from ckai.rl.thinkers.alphabeta import AlphaBetaThinker
from ckai.rl.thinkers.side import SideThinker
from ckai.rl.thinkers.thinker import Interrupt, Thinker
from ckai.rl.thinkers.tree import TreeThinker

_TRIAL = Limit(seconds=0.05, nodes=500)
"""Limit of the searches that compile, load and measure what no time limit should pay for."""
_TRIAL_FENS = (Position.start().fen, "W:WK23,32:B18,10,9,19", "W:WK18,K15:BK4")
"""Positions of these searches: quiet, with captures of several hops, with few pieces."""


def load_thinker(
    text: str, *, backend: str = "auto", tables: Tables | None = None, threads: int | None = None
) -> Thinker:
    """Load the player of a spec, and compile what its searches need.

    Args:
        text: a spec of a player of checkers, see `ckai.rl.players.forms`.
        backend: evaluator backend, see `load_evaluator`.
        tables: tablebases for the searches.
        threads: threads of an alpha-beta search with a network; None: one per core.

    Raises:
        PlayerSpecError: an unknown player, a limit it does not support, or another program.
        CheckpointError: a file is not a checkpoint for checkers.
    """
    spec = PlayerSpec.read(text)
    limit = _limit(spec)
    player = load_player(text, backend=backend, tables=tables, threads=THREADS)
    thinker: Thinker
    if isinstance(player, SearchPlayer) and not spec.policy:
        engine = Engine(player.evaluator, constants=player.constants, tables=player.tables)
        thinker = TreeThinker(engine, limit)
    elif isinstance(player, NetworkAlphaBetaPlayer):
        if spec.who.startswith(LEVEL):  # the highest levels have limits of their own
            limit = Limit(seconds=player.seconds, nodes=player.nodes)
        thinker = AlphaBetaThinker(
            player.evaluator,
            tables=player.tables,
            limit=limit,
            fixed=player.nodes is not None,
            threads=threads or available_cores(),
        )
    else:
        thinker = SideThinker(player)
    trial = thinker
    if isinstance(player, AlphaBetaPlayer):  # its depth may take minutes
        trial = SideThinker(replace(player, depth=1))
    for fen in _TRIAL_FENS:
        game = Game(Position.from_fen(fen))
        for _ in range(3):  # the later ones go on from the search before
            for move in trial.think(game, _TRIAL, lambda report: None, Interrupt()).pv[:2]:
                game.push(move)
            if not game.legal_moves():
                break
    if trial is not thinker:
        trial.close()
    thinker.forget()
    return thinker


def check_spec(text: str) -> None:
    """Raise the error that `load_thinker` would raise for a spec, without loading a network that is there.

    Raises:
        PlayerSpecError: see `load_thinker`.
    """
    spec = PlayerSpec.read(text)
    _limit(spec)
    who = spec.who.removeprefix(ALPHA_BETA)
    if not os.path.exists(network_path(who)):
        load_player(text)


def _limit(spec: PlayerSpec) -> Limit | None:
    """Return the limit of a spec, None if it has none.

    Raises:
        PlayerSpecError: the spec is of another program, or its limit is a clock.
    """
    if spec.who.startswith(HUB):
        raise PlayerSpecError(f"{spec.text}: expected a player of ckai, found another program")
    if spec.control is not None:
        raise PlayerSpecError(
            f"{spec.text}: expected visits, seconds or a depth after {spec.who}, found a clock: the clock "
            "comes with each move"
        )
    if spec.seconds is not None:
        return Limit(seconds=spec.seconds)
    if spec.number is None:
        return None
    alpha_beta = spec.who.startswith("alphabeta")
    return Limit(depth=spec.number) if alpha_beta else Limit(visits=spec.number)
