"""Matches on Ray: pairs of games are leased to tasks on the nodes of a cluster.

A pair goes back when its task is lost, and is in the match once. The result does not depend on where a pair
was played: each game has a random stream of its own.
"""

import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ckai.datasets.tables import Tables
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.leases.lease import hash_of
from ckai.rl.leases.on_ray import RayError, import_ray, reason_of
from ckai.rl.matches.match import MatchGame, MatchResult, from_plain, play_match, to_plain
from ckai.rl.matches.player_spec import ALPHA_BETA, PlayerSpec
from ckai.rl.matches.players import Player
from ckai.rl.matches.specs import checkpoint_of, load_player

PAIRS = 4
"""Most pairs of a task."""
MOST_FAILURES = 3
"""Lost tasks with the same pairs after which the match ends."""
WAIT_SECONDS = 0.2
"""Time between two looks at the tasks."""


@dataclass(frozen=True)
class Seat:
    """A player as plain data."""

    text: str
    """Its spec, see `ckai.rl.matches.forms`."""
    checkpoint: bytes | None
    """The network of the spec; None if it names none."""

    @classmethod
    def of(cls, text: str) -> "Seat":
        """Read the checkpoint of a spec.

        Raises:
            PlayerSpecError: it is not a spec.
        """
        path = checkpoint_of(PlayerSpec.read(text))
        return cls(text, None if path is None else path.read_bytes())


@dataclass(frozen=True)
class MatchOrders:
    """What a task needs to play pairs of a match."""

    game: str
    seats: tuple[Seat, Seat]
    openings: tuple[Any, ...]
    tables: int
    """Pieces of the endgame tables; 0: none."""
    backend: str
    settings: dict[str, Any]
    """Of `play_match`."""


def play_match_on_ray(
    a: str,
    b: str,
    openings: Sequence[Any],
    *,
    spec: GameSpec,
    tables: Tables | None,
    backend: str,
    on_game: Callable[[MatchGame], None] | None = None,
    stop: threading.Event | None = None,
    **settings: Any,
) -> MatchResult:
    """Play every opening twice on the cluster that `connect` has connected to.

    Args:
        a: spec of the first player.
        b: spec of the second player.
        openings: start positions.
        spec: the game.
        tables: endgame tables; nodes use their own of as many pieces.
        backend: evaluator backend, see `load_evaluator`; each node tries it for itself.
        on_game: called with every finished game.
        stop: set it to end early; unfinished pairs are dropped.
        settings: more of `play_match`: `max_plies`, `time_margin`, `in_flight`, `seed`.

    Returns:
        All games, ordered by opening, A with Black first.

    Raises:
        RayError: no node can play.
        PlayerSpecError: a text is not a spec.
    """
    ray, stop = import_ray(), stop or threading.Event()
    pieces = 0 if tables is None else tables.pieces
    seats = (Seat.of(a), Seat.of(b))
    orders = ray.put(MatchOrders(spec.name, seats, tuple(openings), pieces, backend, settings))
    task = ray.remote(_play_pairs).options(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")
    waiting = deque(tuple(range(n, min(n + PAIRS, len(openings)))) for n in range(0, len(openings), PAIRS))
    out, failures, result = dict[Any, tuple[int, ...]](), dict[tuple[int, ...], int](), MatchResult()
    try:
        while (waiting or out) and not stop.is_set():
            most = 2 * max(1, int(ray.cluster_resources().get("CPU", 0)))
            while waiting and len(out) < most:
                pairs = waiting.popleft()
                out[task.remote([orders], pairs)] = pairs
            ready, _ = ray.wait(list(out), num_returns=1, timeout=WAIT_SECONDS)
            for reference in ready:
                pairs = out.pop(reference)
                try:
                    games = from_plain(ray.get(reference), openings, spec)
                except ray.exceptions.RayError as error:
                    failures[pairs] = failures.get(pairs, 0) + 1
                    if failures[pairs] >= MOST_FAILURES:
                        raise RayError(f"no node can play {a} against {b}: {reason_of(error)}") from error
                    waiting.append(pairs)
                    time.sleep(WAIT_SECONDS)
                    continue
                for game in games:
                    result.games.append(game)
                    if on_game is not None:
                        on_game(game)
    finally:
        for reference in out:
            with suppress(ray.exceptions.RayError):
                ray.cancel(reference, force=True)
    result.games.sort(key=lambda game: (game.pair, not game.a_black))
    return result


def _play_pairs(orders: list[Any], pairs: tuple[int, ...]) -> list[dict[str, Any]]:
    """Play pairs of a match; `orders` has the reference to its `MatchOrders`."""
    match: MatchOrders = import_ray().get(orders[0])
    a, b = (_player(seat, match.game, match.tables, match.backend) for seat in match.seats)
    played = play_match(
        a, b, match.openings, spec=get_game(match.game), pairs=pairs, threads=1, **match.settings
    )
    return to_plain(played.games)


@lru_cache(maxsize=4)
def _player(seat: Seat, game: str, tables: int, backend: str) -> Player:
    """Load a player, once in a process."""
    text = seat.text
    with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
        if seat.checkpoint is not None:
            who = PlayerSpec.read(text).who
            path = Path(folder, f"{hash_of(seat.checkpoint)}.ckpt")
            path.write_bytes(seat.checkpoint)
            start = ALPHA_BETA if who.startswith(ALPHA_BETA) else ""
            text = f"{start}{path}{text.removeprefix(who)}"
        probed = Tables.open(tables) if tables else None
        return load_player(text, backend=backend, tables=probed, game=get_game(game), boards=2 * PAIRS)
