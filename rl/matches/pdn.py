"""Games of matches as PDN text, from which an interrupted match continues."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ckai.game import Outcome, Reason
from ckai.rl.engine.program import Fault
from ckai.rl.games.spec import GameSpec, parse_games
from ckai.rl.matches.match import MatchGame, MatchResult

_REASONS = {str(each): each for each in (Reason.TIME, Reason.RESIGNED, Reason.LENGTH, *Fault)}
"""Termination tag -> why a game is over, where its moves do not say it."""


def match_pdn(result: MatchResult, a: str, b: str, spec: GameSpec) -> str:
    """Return every game of a match as PDN, the players by name."""
    return "".join(match_game_pdn(game, a, b, spec) for game in result.games)


def match_game_pdn(game: MatchGame, a: str, b: str, spec: GameSpec, match: str = "") -> str:
    """Return a game of a match as PDN.

    Args:
        game: the game.
        a, b: names of the players.
        spec: the rules.
        match: what identifies the match, for `read_match_games`.
    """
    black, white = (a, b) if game.a_black else (b, a)
    number = f"{game.pair + 1}.{1 if game.a_black else 2}"
    headers = {"Event": f"{a} against {b}", "Round": number, "Black": black, "White": white}
    if match:
        headers["Match"] = match
    if game.reason in _REASONS.values():
        headers["Termination"] = str(game.reason)
    return spec.to_pdn(game.game, headers, game.outcome.result if game.outcome else "*")


def append_game(path: Path, text: str) -> None:
    """Append a game, as PDN, to a file, which is made if it is missing: whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+", buffering=0) as file:
        begun = file.seek(0, os.SEEK_END)
        file.seek(max(0, begun - 2))
        apart = not begun or file.read() == b"\n\n"
        data = text.encode() if apart else b"\n\n" + text.encode()
        if file.write(data) < len(data):  # a full disk
            file.truncate(begun)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def read_match_games(path: Path, openings: Sequence[Any], spec: GameSpec, match: str = "") -> list[MatchGame]:
    """Read the games of a match from a file, if there is one, each once, without one that is cut off.

    Args:
        path: the file; it may have games of other matches.
        openings: openings of the match; games from later ones are left out.
        spec: the rules.
        match: see `match_game_pdn`.

    Raises:
        ValueError: a game of the match is damaged.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    games: dict[tuple[int, bool], MatchGame] = {}
    for tags, words in parse_games(text):
        if tags.get("Match", "") != match or words[-1:] != [tags.get("Result")]:
            continue
        try:
            number, half = tags["Round"].split(".")
            pair, a_black = int(number) - 1, half == "1"
            if pair < len(openings):
                game = spec.game(openings[pair])
                for word in words[:-1]:
                    game.push(word)
                games[pair, a_black] = MatchGame(pair, a_black, game, _outcome(game, tags))
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"{path}: expected the games of this match, found a damaged one, of round "
                f"{tags.get('Round')} ({error}); remove it"
            ) from error
    return list(games.values())


def _outcome(game: Any, tags: dict[str, str]) -> Outcome | None:
    """Return how a game ended; what the rules do not say is in its tags."""
    if "Termination" not in tags:
        outcome: Outcome | None = game.outcome()
        return outcome
    winner = {"1-0": "black", "0-1": "white"}.get(tags["Result"])
    return Outcome(winner, _REASONS[tags["Termination"]])
