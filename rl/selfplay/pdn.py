"""Games of self-play as PDN text."""

from ckai.rl.games.pdn import to_pdn
from ckai.rl.selfplay.rows import FinishedGame

ADJUDICATED = "adjudicated by endgame tables"
"""Termination of a game that was ended where its result is known."""
RESIGNED = "given up"
WOULD_RESIGN = "would have given up"
"""What is said, behind its name, of the side that would have in a game that was played out."""


def finished_pdn(game: FinishedGame, generation: int) -> str:
    """A game of self-play as PDN."""
    event = f"self-play, generation {generation}"
    headers = {"Event": event, "Round": str(game.number), "Black": game.black, "White": game.white}
    ends = [ADJUDICATED] * game.adjudicated + [RESIGNED] * game.resigned
    ends += [f"{game.resigner} {WOULD_RESIGN}"] if game.resigner else []
    if ends:
        headers["Termination"] = "; ".join(ends)
    return to_pdn(game.replay(), headers, game.result_text)
