"""The gate match: the new network against the old one, and the rule for accepting it."""

import threading
import time
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.rl.engine.base import Engine
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import bounded
from ckai.rl.matches.match import MatchGame, MatchResult, play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.pdn import append_game, match_game_pdn, match_pdn, read_match_games
from ckai.rl.matches.sprt import Sprt
from ckai.rl.run.config import GateConfig
from ckai.rl.run.events import EventCallback, RunEvent


def play_gate_match(
    new: Engine,
    old: Engine,
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
        new: engine with the new network.
        old: engine with the network to beat.
        gate: number of games (at least 2) and the rule.
        path: file of the games, which are added as they finish, and are in order at the end.
        names: names of the new and the old network for the PDN headers.
        generation: counted from 1.
        seed: seed of the openings.
        spec: the game.
        max_plies: a game of as many is drawn.
        on_event: called after every game.

    Returns:
        `games`, `wins`, `draws`, `losses` and `score` (share of the points, [0, 1]) of the new network, `elo`
        (`PairStatistics.shrunk_elo`) with its 95 % `interval`, null for an end without a bound, whether it is
        `accepted`, and the `seconds` since it was last begun or continued; with the rule `sprt` also the
        `sprt_ratio` and the number of `sprt_pairs` that decided (see `Sprt.test`). A network that a rule has
        accepted plays as many games again: it was accepted for a score that luck helps to reach, so `elo` is
        from this `second` match alone, whose games and score are given too.
    """
    begun = time.monotonic()
    pairs = gate.games // 2
    openings = draw_openings(2 * pairs, seed, spec)  # half of them for a second match
    games = read_match_games(path, openings, spec)
    test = Sprt(0.0, gate.elo1) if gate.rule == "sprt" else None
    stop = threading.Event()

    def check_decided() -> None:
        first = MatchResult([game for game in games if game.pair < pairs])
        if test is not None and test.test(first.leading_scores).verdict is not None:
            stop.set()

    def on_game(game: MatchGame) -> None:
        append_game(path, match_game_pdn(game, *names, spec))
        games.append(game)
        total = gate.games * (1 + (game.pair >= pairs))
        on_event(RunEvent(generation, "gate", len(games), total))
        if game.pair < pairs:
            check_decided()

    def play(chosen: range) -> MatchResult:
        return play_match(
            new,
            old,
            openings,
            threads=available_cores(),
            spec=spec,
            max_plies=max_plies,
            done=[game for game in games if game.pair in chosen],
            pairs=chosen,
            on_game=on_game,
            stop=stop,
        )

    check_decided()  # an interrupted match may have been decided
    result = play(range(pairs))
    accepted, sprt = True, {}
    if test is not None:
        decided = test.test(result.leading_scores)
        # An undecided match counts as one between equals.
        accepted = decided.verdict is True
        sprt = {"sprt_ratio": round(decided.ratio, 3), "sprt_pairs": decided.pairs.pairs}
    elif gate.rule == "score":
        accepted = result.score >= gate.threshold
    measured, second = result, {}
    if accepted and gate.rule != "none":
        stop.clear()
        measured = play(range(pairs, pairs + result.pairs.pairs))
        second = {"second": measured.summary()}
    both = MatchResult([*result.games, *(measured.games if second else ())])
    write_whole(path, match_pdn(both, *names, spec))
    return {
        **result.summary(),
        "elo": round(measured.pairs.shrunk_elo, 1),
        "interval": [bounded(round(bound, 1)) for bound in measured.pairs.interval],
        "accepted": accepted,
        **second,
        **sprt,
        "seconds": round(time.monotonic() - begun, 3),
    }
