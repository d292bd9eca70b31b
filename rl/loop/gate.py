"""The gate match: the new network against the old one, and the rule for accepting it."""

import threading
import time
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.loop.config import GateConfig
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.matches.match import MatchGame, MatchResult, play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.pdn import append_game, match_game_pdn, match_pdn, read_match_games
from ckai.rl.matches.sprt import Sprt
from ckai.rl.players.search import SearchPlayer

GATE_PART = "match.part.pdn"
"""Name of the file with the finished games of an interrupted match."""


def play_gate_match(
    new: SearchPlayer,
    old: SearchPlayer,
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
        new: player with the new network.
        old: player with the network to beat.
        gate: number of games (at least 2) and the rule.
        path: file of the result, which the caller writes; finished games are saved next to it, in
            `GATE_PART` during the match and as `match.pdn` after it.
        names: names of the new and the old network for the PDN headers.
        generation: counted from 1.
        seed: seed of the openings.
        spec: the game.
        max_plies: longer games count as draws.
        on_event: called after every game.

    Returns:
        `games`, `wins`, `draws`, `losses` and `score` (share of the points, [0, 1]) of the new network, `elo`
        with its 95 % `interval`, whether it is `accepted`, and the `seconds` since it was last begun or
        continued; with the rule `sprt` also the `sprt_ratio` and the number of `sprt_pairs` that decided (see
        `Sprt.test`).
    """
    for player in (new, old):
        player.searcher(1).close()  # compiles before the clock runs
    begun = time.monotonic()
    openings = draw_openings(gate.games // 2, seed, spec)
    part = path.with_name(GATE_PART)
    games = read_match_games(part, openings, spec)
    test = Sprt(0.0, gate.elo1) if gate.rule == "sprt" else None
    stop = threading.Event()

    def check_decided() -> None:
        if test is not None and test.test(MatchResult(games).leading_scores).verdict is not None:
            stop.set()

    check_decided()  # an interrupted match may have been decided

    def on_game(game: MatchGame) -> None:
        append_game(part, match_game_pdn(game, *names, spec))
        games.append(game)
        on_event(RunEvent(generation, "gate", len(games), gate.games))
        check_decided()

    result = play_match(
        new,
        old,
        openings,
        threads=available_cores(),
        spec=spec,
        max_plies=max_plies,
        done=list(games),
        on_game=on_game,
        stop=stop,
    )
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
        "seconds": round(time.monotonic() - begun, 3),
    }
