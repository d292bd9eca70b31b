"""Games of matches as plain data, such as JSON has."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from ckai.game import Outcome
from ckai.rl.games.clock import ClockReason
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.match import MatchGame, MatchReason

_ENDINGS: dict[str, StrEnum] = {
    "won_on_time": ClockReason.TIME,
    "won_by_resignation": MatchReason.RESIGNED,
    "adjudicated": MatchReason.ADJUDICATED,
}
"""Endings that the moves do not tell, by the name of the entry with the winner; tables may give a "draw"."""


def to_plain(games: Sequence[MatchGame]) -> list[dict[str, Any]]:
    """Convert games to plain data for `from_plain`."""
    return [
        {"pair": g.pair, "a_black": g.a_black, "moves": [str(move) for move in g.game.moves]}
        | {
            name: g.outcome.winner or "draw"
            for name, why in _ENDINGS.items()
            if g.outcome and g.outcome.reason == why
        }
        for g in games
    ]


def from_plain(
    data: Sequence[dict[str, Any]], openings: Sequence[Any], spec: GameSpec = DEFAULT_GAME
) -> list[MatchGame]:
    """Read the games that `to_plain` wrote.

    Args:
        data: the plain data.
        openings: openings of the match.
        spec: the game.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the data are damaged or of another match.
    """
    games = []
    for record in data:
        if record["pair"] not in range(len(openings)):
            raise IndexError(f"expected a pair of {len(openings)}, found {record['pair']}")
        game = spec.game(openings[record["pair"]])
        for move in record["moves"]:
            game.push(move)
        outcome = game.outcome()
        for name, reason in _ENDINGS.items():
            winner = record.get(name)
            if winner is not None:
                results = ["black", "white"] + ["draw"] * (reason == MatchReason.ADJUDICATED)
                if winner not in results:
                    raise ValueError(f"expected {name} {' or '.join(results)}, found {winner!r}")
                outcome = Outcome(None if winner == "draw" else winner, reason)
        games.append(MatchGame(record["pair"], record["a_black"], game, outcome))
    if len({(game.pair, game.a_black) for game in games}) < len(games):
        raise ValueError("expected every game once, found one twice")
    return games
