"""Games of matches as PDN text."""

from ckai.rl.games.pdn import to_pdn
from ckai.rl.matches.match import MatchGame, MatchResult


def match_pdn(result: MatchResult, a: str, b: str) -> str:
    """Every game of a match as PDN, the players by name."""
    return "".join(match_game_pdn(game, a, b) for game in result.games)


def match_game_pdn(game: MatchGame, a: str, b: str) -> str:
    """A game of a match as PDN."""
    black, white = (a, b) if game.a_black else (b, a)
    headers = {"Event": f"{a} against {b}", "Round": str(game.pair + 1), "Black": black, "White": white}
    return to_pdn(game.game, headers, game.outcome.result if game.outcome else "*")
