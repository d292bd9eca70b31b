"""Player specs: `WHO` or `WHO@LIMIT`, as `ckai match` takes them.

best.ckpt@400     a network with 400 visits a move; a run folder stands for its best.ckpt
best.ckpt@0.5s    with half a second a move
best.ckpt@policy  the network's first move, no search
rollout@1000      vanilla MCTS with 1,000 random playouts a move
alphabeta@6       alpha-beta on material to 6 plies
hub:COMMAND       an outside program that speaks Hub; @0.5s, or @8 for a depth
uniform@100       a search without a network
random            any legal move
perfect           any move that keeps the true value, in games small enough to solve
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import ROLLOUT
from ckai.rl.evaluators.uniform import UNIFORM
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.alphabeta import AlphaBetaPlayer
from ckai.rl.matches.hub import HubPlayer
from ckai.rl.matches.players import POLICY_SIMS, PerfectPlayer, Player, RandomPlayer, SearchPlayer

SIMS, DEPTH, HUB_SECONDS = 100, 6, 0.1
"""Limits where none is given."""

_LIMIT = re.compile(r"(?P<who>.+)@(?:(?P<number>\d+)|(?P<seconds>\d*\.?\d+)s|(?P<policy>policy))")


class PlayerSpecError(ValueError):
    """A name that is no player; says what was expected and found."""


@dataclass(frozen=True)
class PlayerSpec:
    """A name taken apart."""

    text: str
    who: str
    number: int | None = None
    """Visits, playouts or depth."""
    seconds: float | None = None
    policy: bool = False

    @classmethod
    def read(cls, text: str) -> "PlayerSpec":
        """Take a name apart.

        Raises:
            PlayerSpecError: an empty name or a limit that is none.
        """
        if not text.strip():
            raise PlayerSpecError("expected a player, found an empty name")
        found = _LIMIT.fullmatch(text)
        if found is None:
            return cls(text, text)
        number, seconds = found["number"], found["seconds"]
        if (number and int(number) < 1) or (seconds and not float(seconds) > 0):
            raise PlayerSpecError(f"{text}: expected a limit above 0 behind the @")
        return cls(
            text,
            found["who"],
            int(number) if number else None,
            float(seconds) if seconds else None,
            bool(found["policy"]),
        )


def load_player(
    text: str,
    *,
    backend: str = "torch",
    tables: Tables | None = None,
    game: GameSpec = DEFAULT_GAME,
    boards: int = 1,
    threads: int = 1,
) -> Player:
    """Return the player that a text names.

    Args:
        text: see the module.
        backend: what computes a network, see `load_evaluator`.
        tables: endgame tables for the searches.
        game: what is played.
        boards: most positions in one call of the network.
        threads: threads that call it.

    Raises:
        PlayerSpecError: no such player, a limit that does not suit it, or a game that it does not play.
        CheckpointError: a file that is no network.
    """
    spec = PlayerSpec.read(text)
    if spec.who == "random":
        _only(spec, "no limit", number=False, seconds=False, policy=False)
        return RandomPlayer(game)
    if spec.who == "perfect":
        _only(spec, "no limit", number=False, seconds=False, policy=False)
        if not game.solvable:
            raise PlayerSpecError(f"perfect: expected a game small enough to solve, found {game.name}")
        return PerfectPlayer(game)
    if spec.who == "alphabeta":
        _only(spec, "a depth, such as alphabeta@6", seconds=False, policy=False)
        _plays(AlphaBetaPlayer.GAME, game, text)
        return AlphaBetaPlayer(spec.number or DEPTH)
    if spec.who.startswith("hub:"):
        _only(spec, "seconds or a depth", policy=False)
        _plays(HubPlayer.GAME, game, text)
        return HubPlayer(spec.who[4:], spec.seconds or HUB_SECONDS, spec.number)
    source: Any = spec.who
    if spec.who in (ROLLOUT, UNIFORM):
        _only(spec, "visits or seconds", policy=False)
    else:
        source = _checkpoint(spec.who)
        if not source.is_file():
            raise PlayerSpecError(
                f"{text}: expected a checkpoint, a run folder, rollout, uniform, alphabeta, random or "
                f"hub:COMMAND, found no file {source}"
            )
    evaluator = load_evaluator(source, backend, batch=boards, threads=threads, game=game.name)
    sims = POLICY_SIMS if spec.policy else spec.number or SIMS
    # The bare policy is the network's first move and nothing else.
    return SearchPlayer(
        evaluator, sims, tables=None if spec.policy else tables, seconds=spec.seconds, spec=game
    )


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among player specs, or None without a network.

    Raises:
        PlayerSpecError: a text that is no spec.
        CheckpointError: a file that is no network.
    """
    for text in texts:
        path = _checkpoint(PlayerSpec.read(text).who)
        if path.is_file():
            return load_checkpoint(path).network().encode.GAME
    return None


def _checkpoint(who: str) -> Path:
    """Return the file that a name means: a run folder stands for its best network."""
    path = Path(who)
    return path / "best.ckpt" if path.is_dir() else path


def _plays(name: str, game: GameSpec, text: str) -> None:
    if game.name != name:
        raise PlayerSpecError(f"{text}: expected a game of {name}, found {game.name}")


def _only(
    spec: PlayerSpec, wanted: str, *, number: bool = True, seconds: bool = True, policy: bool = True
) -> None:
    if (
        (spec.number is not None and not number)
        or (spec.seconds is not None and not seconds)
        or (spec.policy and not policy)
    ):
        raise PlayerSpecError(f"{spec.text}: expected {wanted} behind {spec.who}, found another limit")
