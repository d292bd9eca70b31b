"""How a new network is gated: a match against the one that played, and the rule by which it replaces it."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.loop.config import GateConfig
from ckai.rl.loop.events import Event, ProgressCallback
from ckai.rl.matches.match import MatchGame, MatchResult, from_plain, play_match, to_plain
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.pdn import match_pdn
from ckai.rl.matches.players import SearchPlayer
from ckai.rl.matches.sprt import Sprt

SAVE_SECONDS = 5.0
"""Between two writings of the games played so far."""


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
    watch: ProgressCallback,
) -> dict[str, Any]:
    """Play the match of a generation, or go on with it.

    Args:
        new, old: the players.
        gate: the rule, with one game or more.
        path: for the result, which the caller writes; games so far and all games as PDN lie beside it.
        names: of the players, in the PDN.
        generation: counted from 1.
        seed: of the openings.
        spec: the game.
        max_plies: a longer game counts as a draw.
        watch: is told of every game.

    Returns:
        Games, wins, draws, losses, score, elo with its interval, whether it is `accepted`, and seconds.
    """
    begun = saved = time.monotonic()
    openings = draw_openings(gate.games // 2, seed, spec)
    part = path.with_name("match.part.json")
    games = _played_before(part, openings, spec, generation, watch)
    test, stop = Sprt(gate.elo0, gate.elo1), threading.Event()

    def tell(game: MatchGame) -> None:
        nonlocal saved
        games.append(game)
        watch(Event(generation, "gate", len(games), gate.games))
        if gate.rule == "sprt" and test.verdict(MatchResult(games).leading_pairs) is not None:
            stop.set()
        if time.monotonic() - saved > SAVE_SECONDS:
            write_whole(part, json.dumps(to_plain(games)))
            saved = time.monotonic()

    result = play_match(
        new,
        old,
        openings,
        spec=spec,
        max_plies=max_plies,
        threads=os.cpu_count() or 1,
        done=list(games),
        on_game=tell,
        stop=stop,
    )
    found = result.pairs
    accepted = True
    if gate.rule == "score":
        accepted = result.score >= gate.threshold
    elif gate.rule == "sprt":
        # A match that ends undecided is one between equals.
        accepted = test.verdict(result.leading_pairs) is True
    write_whole(path.with_name("match.pdn"), match_pdn(result, *names, spec))
    return {
        **result.summary(),
        "elo": round(found.elo, 1),
        "interval": [round(bound, 1) for bound in found.interval],
        "accepted": accepted,
        "seconds": round(time.monotonic() - begun, 3),
    }


def _played_before(
    part: Path, openings: list[Any], spec: GameSpec, generation: int, watch: ProgressCallback
) -> list[MatchGame]:
    """Games of the match that an earlier start has played."""
    try:
        return from_plain(json.loads(part.read_text(encoding="utf-8")), openings, spec)
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, IndexError, TypeError) as error:
        warning = f"{part}: damaged ({error}); the match begins anew"
        watch(Event(generation, "gate", 0, 1, {"warning": warning}))
        return []
