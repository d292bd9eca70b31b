"""Games of matches as PDN text."""

from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.match import MatchGame, MatchReason, MatchResult

TIME_FORFEIT = "time forfeit"
"""Termination tag of a game lost on time, as in the PGN standard."""


def match_pdn(result: MatchResult, a: str, b: str, spec: GameSpec) -> str:
    """Return every game of a match as PDN, the players by name."""
    return "".join(match_game_pdn(game, a, b, spec) for game in result.games)


def match_game_pdn(game: MatchGame, a: str, b: str, spec: GameSpec) -> str:
    """Return a game of a match as PDN."""
    black, white = (a, b) if game.a_black else (b, a)
    headers = {"Event": f"{a} against {b}", "Round": str(game.pair + 1), "Black": black, "White": white}
    if game.lost_on_time:
        headers["Termination"] = TIME_FORFEIT
    if game.outcome and isinstance(game.outcome.reason, MatchReason):
        headers["Termination"] = str(game.outcome.reason)
    return spec.to_pdn(game.game, headers, game.outcome.result if game.outcome else "*")
