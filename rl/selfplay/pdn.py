"""Games of self-play as PDN text."""

import re

from ckai.datasets.tables import ADJUDICATED
from ckai.rl.selfplay.rows import FinishedGame

RESIGNED = "resignation"
"""Termination tag of a game that ended by resignation."""
WOULD_RESIGN = "would have resigned"
"""Termination tag, after the side's name, of a game in which it would have resigned if that were enabled."""


def finished_pdn(game: FinishedGame, generation: int) -> str:
    """Return a game of self-play as PDN text."""
    event = f"self-play, generation {generation}"
    headers = {"Event": event, "Round": str(game.number), "Black": game.black, "White": game.white}
    ends = [ADJUDICATED] * game.adjudicated + [RESIGNED] * game.resigned
    ends += [f"{game.resigner} {WOULD_RESIGN}"] if game.resigner else []
    if ends:
        headers["Termination"] = "; ".join(ends)
    return game.spec.to_pdn(game.replay(), headers, game.result_text)


def tags_of(pdn: str) -> dict[str, str]:
    """Return the tags of a game of self-play in PDN."""
    return dict(re.findall(r'^\[(\w+) "(.*)"\]$', pdn, re.MULTILINE))
