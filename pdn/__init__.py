"""PDN, the text format of draughts games: reading what is in the wild, writing it cleanly.

Owns the grammar, the resolution of written moves and the account of what could not be read. Knows nothing
of rows, networks or search.
"""

from ckai.pdn.errors import PdnError
from ckai.pdn.game import PdnGame, PdnMove, Variation, from_game
from ckai.pdn.reader import read_games
from ckai.pdn.writer import write_game, write_games

__all__ = [
    "PdnError",
    "PdnGame",
    "PdnMove",
    "Variation",
    "from_game",
    "read_games",
    "write_game",
    "write_games",
]
