"""The gate match: the new network against the old one, and the rule for accepting it."""

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.loop.config import GateConfig
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import read_measured
from ckai.rl.matches.match import MatchGame, MatchResult, play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.pdn import append_game, match_game_pdn, match_pdn, read_match_games
from ckai.rl.matches.sprt import Sprt
from ckai.rl.players.search import SearchPlayer

GATE_PARTS = ("match.part.pdn", "match.spent.json")
"""Names of the files of an interrupted match: its finished games, and the seconds that they took."""
SPENT_SECONDS = 5.0
"""Least time between two writes of the seconds."""


class PlayMatch(Protocol):
    """Plays a match of the new network, A, against the old one, B, in this process or on workers."""

    def __call__(
        self,
        openings: list[Any],
        *,
        spec: GameSpec,
        max_plies: int,
        done: list[MatchGame],
        on_game: Callable[[MatchGame], None],
        stop: threading.Event,
    ) -> MatchResult:
        """Play every opening twice, see `ckai.rl.matches.match.play_match`."""


def in_threads(new: SearchPlayer, old: SearchPlayer) -> PlayMatch:
    """Return a function that plays the match in threads of this process; what it calls is compiled.

    Args:
        new: player with the new network.
        old: player with the network to beat.
    """
    for player in (new, old):
        player.searcher(1).close()  # compiles before the clock runs
    return partial(play_match, new, old, threads=available_cores())


def play_gate_match(
    play: PlayMatch,
    gate: GateConfig,
    path: Path,
    *,
    names: tuple[str, str],
    generation: int,
    seed: int,
    spec: GameSpec = DEFAULT_GAME,
    max_plies: int,
    on_event: EventCallback,
) -> dict[str, Any]:
    """Play the gate match of a generation, continuing one that was interrupted.

    Args:
        play: plays it, see `in_threads`.
        gate: number of games (at least 2) and the rule.
        path: file of the result, which the caller writes; finished games are saved next to it, in
            `GATE_PARTS` during the match and as `match.pdn` after it.
        names: names of the new and the old network for the PDN headers.
        generation: counted from 1.
        seed: seed of the openings.
        spec: the game.
        max_plies: longer games count as draws.
        on_event: called after every game.

    Returns:
        `games`, `wins`, `draws`, `losses` and `score` (share of the points, [0, 1]) of the new network, `elo`
        with its 95 % `interval`, whether it is `accepted`, and `seconds`; with the rule `sprt` also the
        `sprt_ratio` and the number of `sprt_pairs` that decided (see `Sprt.test`).
    """
    spent = path.with_name(GATE_PARTS[1])
    before = float(read_measured(spent)["seconds"]) if spent.exists() else 0.0
    begun = time.monotonic()

    def seconds() -> float:
        return round(before + time.monotonic() - begun, 3)

    openings = draw_openings(gate.games // 2, seed, spec)

    part = path.with_name(GATE_PARTS[0])
    games = read_match_games(part, openings, spec)
    written = begun
    test = Sprt(gate.elo0, gate.elo1) if gate.rule == "sprt" else None
    stop = threading.Event()

    def check_decided() -> None:
        if test is not None and test.test(MatchResult(games).leading_scores).verdict is not None:
            stop.set()

    check_decided()  # an interrupted match may have been decided

    def on_game(game: MatchGame) -> None:
        nonlocal written
        append_game(part, match_game_pdn(game, *names, spec))
        games.append(game)
        on_event(RunEvent(generation, "gate", len(games), gate.games))
        check_decided()
        if stop.is_set() or time.monotonic() - written > SPENT_SECONDS:
            write_whole(spent, json.dumps({"seconds": seconds()}) + "\n")
            written = time.monotonic()

    done = list(games)
    result = play(openings, spec=spec, max_plies=max_plies, done=done, on_game=on_game, stop=stop)
    pairs = result.pairs
    accepted, sprt = True, {}
    if test is not None:
        decided = test.test(result.leading_scores)
        # An undecided match counts as one between equals.
        accepted = decided.verdict is True
        sprt = {"sprt_ratio": round(decided.ratio, 3), "sprt_pairs": decided.pairs.pairs}
    elif gate.rule == "score":
        accepted = result.score >= gate.threshold
    write_whole(path.with_name("match.pdn"), match_pdn(result, *names, spec))
    return {
        **result.summary(),
        "elo": round(pairs.elo, 1),
        "interval": [round(bound, 1) for bound in pairs.interval],
        "accepted": accepted,
        **sprt,
        "seconds": seconds(),
    }
