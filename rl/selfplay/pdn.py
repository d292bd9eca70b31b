"""Games of self-play as PDN text."""

import re

from ckai.rl.selfplay.rows import Ending, FinishedGame

ADJUDICATED = "adjudicated by endgame tables"
"""Termination of a game that ended where its result is known."""
RESIGNED = "given up"
WOULD_RESIGN = "would have given up"
"""What stands, behind its name, of the side that would have resigned in a game that was played out."""


def finished_pdn(game: FinishedGame, generation: int) -> str:
    """Return a game of self-play as PDN."""
    event = f"self-play, generation {generation}"
    headers = {"Event": event, "Round": str(game.number), "Black": game.black, "White": game.white}
    ends = [ADJUDICATED] * game.adjudicated + [RESIGNED] * game.resigned
    ends += [f"{game.resigner} {WOULD_RESIGN}"] if game.resigner else []
    if ends:
        headers["Termination"] = "; ".join(ends)
    return game.spec.to_pdn(game.replay(), headers, game.result_text)


def ending_of(pdn: str) -> Ending:
    """Return how a game ended from the tags of its PDN: shards of an earlier version have no more."""
    tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', pdn, re.MULTILINE))
    words = tags.get("Termination", "").split("; ")
    resigner = next((word.split()[0] for word in words if word.endswith(WOULD_RESIGN)), None)
    return Ending(tags.get("Result", "*"), ADJUDICATED in words, RESIGNED in words, resigner)
