"""A game of any kind as PDN text."""

from ckai.game import Game
from ckai.pdn import from_game, write_game
from ckai.rl.games.grid import GridGame


def to_pdn(game: Game | GridGame, headers: dict[str, str], result: str) -> str:
    """A game as PDN; the first position is told by a FEN tag where it is not the usual one."""
    if isinstance(game, GridGame):
        return game.text(headers, result)
    return write_game(from_game(game, headers, result))
