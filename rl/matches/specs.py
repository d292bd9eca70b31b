"""Player specs: `WHO` or `WHO@LIMIT`, as `ckai match` takes them.

best.ckpt@400     a network, 400 visits per move; a run folder stands for its best.ckpt, not latest.ckpt
best.ckpt@0.5s    half a second per move
best.ckpt@policy  the policy's best move, without search
rollout@1000      vanilla MCTS, 1,000 random playouts per move
alphabeta@6       alpha-beta search of material, 6 plies deep
hub:COMMAND       another program, by the Hub protocol; @0.5s, or @8 plies
uniform@100       search with uniform priors, without a network
random            random legal moves
perfect           optimal moves, in games small enough to solve
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
"""Default limits."""

_LIMIT = re.compile(r"(?P<who>.+)@(?:(?P<number>\d+)|(?P<seconds>\d*\.?\d+)s|(?P<policy>policy))")


class PlayerSpecError(ValueError):
    """A text is not a player spec; says what was expected and found."""


@dataclass(frozen=True)
class PlayerSpec:
    """A parsed player spec."""

    text: str
    who: str
    number: int | None = None
    """Visits, playouts or depth in plies."""
    seconds: float | None = None
    policy: bool = False

    @classmethod
    def read(cls, text: str) -> "PlayerSpec":
        """Parse a player spec.

        Args:
            text: `WHO` or `WHO@LIMIT`, see the module.

        Raises:
            PlayerSpecError: an empty text, or a limit of 0.
        """
        if not text.strip():
            raise PlayerSpecError("expected a player, found an empty name")
        parts = _LIMIT.fullmatch(text)
        if parts is None:
            return cls(text, text)
        number, seconds = parts["number"], parts["seconds"]
        if (number and int(number) < 1) or (seconds and not float(seconds) > 0):
            raise PlayerSpecError(
                f"{text}: expected a limit above 0 after the @, found {text.rpartition('@')[2]}"
            )
        return cls(
            text,
            parts["who"],
            int(number) if number else None,
            float(seconds) if seconds else None,
            bool(parts["policy"]),
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
    """Load the player of a spec.

    Args:
        text: the spec, see the module.
        backend: evaluator backend, see `load_evaluator`.
        tables: tablebases for the searches.
        game: the game.
        boards: most positions per network call.
        threads: threads that call the network.

    Raises:
        PlayerSpecError: an unknown player, a limit it does not support, or a game it cannot play.
        CheckpointError: a file is not a checkpoint.
    """
    spec = PlayerSpec.read(text)
    if spec.who == "random":
        _require_limit(spec, "no limit", number=False, seconds=False, policy=False)
        return RandomPlayer(game)
    if spec.who == "perfect":
        _require_limit(spec, "no limit", number=False, seconds=False, policy=False)
        if not game.solvable:
            raise PlayerSpecError(f"perfect: expected a game small enough to solve, found {game.name}")
        return PerfectPlayer(game)
    if spec.who == "alphabeta":
        _require_limit(spec, "a depth, such as alphabeta@6", seconds=False, policy=False)
        _require_game(AlphaBetaPlayer.GAME, game, text)
        return AlphaBetaPlayer(spec.number or DEPTH)
    if spec.who.startswith("hub:"):
        _require_limit(spec, "seconds or a depth", policy=False)
        _require_game(HubPlayer.GAME, game, text)
        return HubPlayer(spec.who[4:], spec.seconds or HUB_SECONDS, spec.number)
    source: Any = spec.who
    if spec.who in (ROLLOUT, UNIFORM):
        _require_limit(spec, "visits or seconds", policy=False)
    else:
        source = _checkpoint(spec.who)
        if not source.is_file():
            raise PlayerSpecError(
                f"{text}: expected a checkpoint, a run folder, rollout, uniform, alphabeta, random or "
                f"hub:COMMAND, found no file {source}"
            )
    evaluator = load_evaluator(source, backend, batch=boards, threads=threads, game=game.name)
    sims = POLICY_SIMS if spec.policy else spec.number or SIMS
    # The bare policy must not use tablebases.
    return SearchPlayer(
        evaluator, sims, tables=None if spec.policy else tables, seconds=spec.seconds, spec=game
    )


def game_of(texts: Sequence[str]) -> str | None:
    """Return the name of the game of the first network among player specs, or None without a network.

    Raises:
        PlayerSpecError: a text is not a spec.
        CheckpointError: a file is not a checkpoint.
    """
    for text in texts:
        path = _checkpoint(PlayerSpec.read(text).who)
        if path.is_file():
            return load_checkpoint(path).network().encode.GAME
    return None


def _checkpoint(who: str) -> Path:
    """Return the checkpoint of a spec; a run folder stands for its best network."""
    path = Path(who)
    return path / "best.ckpt" if path.is_dir() else path


def _require_game(name: str, game: GameSpec, text: str) -> None:
    if game.name != name:
        raise PlayerSpecError(f"{text}: expected the game {name}, found {game.name}")


def _require_limit(
    spec: PlayerSpec, wanted: str, *, number: bool = True, seconds: bool = True, policy: bool = True
) -> None:
    if (
        (spec.number is not None and not number)
        or (spec.seconds is not None and not seconds)
        or (spec.policy and not policy)
    ):
        raise PlayerSpecError(f"{spec.text}: expected {wanted} after {spec.who}, found another limit")
