"""Games of self-play and matches as PDN text."""

from ckai.game import Game
from ckai.pdn import from_game, write_game
from ckai.rl.match import MatchGame, MatchResult
from ckai.rl.rows import FinishedGame
from ckai.rl.stones import StonesGame

ADJUDICATED = "adjudicated by endgame tables"
"""Termination of a game that was ended where its result is known."""
RESIGNED = "given up"
WOULD_RESIGN = "would have given up"
"""What is said, behind its name, of the side that would have in a game that was played out."""


def to_pdn(game: Game | StonesGame, headers: dict[str, str], result: str) -> str:
    """A game as PDN; the first position is told by a FEN tag where it is not the usual one."""
    if isinstance(game, StonesGame):
        return game.text(headers, result)
    return write_game(from_game(game, headers, result))


def finished_pdn(game: FinishedGame, generation: int) -> str:
    """A game of self-play as PDN."""
    event = f"self-play, generation {generation}"
    headers = {"Event": event, "Round": str(game.number), "Black": game.black, "White": game.white}
    ends = [ADJUDICATED] * game.adjudicated + [RESIGNED] * game.resigned
    ends += [f"{game.resigner} {WOULD_RESIGN}"] if game.resigner else []
    if ends:
        headers["Termination"] = "; ".join(ends)
    return to_pdn(game.replay(), headers, game.result_text)


def match_pdn(result: MatchResult, a: str, b: str) -> str:
    """Every game of a match as PDN, the players by name."""
    return "".join(match_game_pdn(game, a, b) for game in result.games)


def match_game_pdn(game: MatchGame, a: str, b: str) -> str:
    """A game of a match as PDN."""
    black, white = (a, b) if game.a_black else (b, a)
    headers = {"Event": f"{a} against {b}", "Round": str(game.pair + 1), "Black": black, "White": white}
    return to_pdn(game.game, headers, game.outcome.result if game.outcome else "*")
