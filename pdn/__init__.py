"""PDN, the text format of draughts games: read real files, resolve their moves, write clean ones.

>>> import io
>>> from ckai.pdn import read_games, write_game
>>> source = io.BytesIO(b'[Event "Club"] 1. 11-15 23-19 {the Cross} 2. 8-11 22-17 *')
>>> for game in read_games(source):
...     print(game.header("Event"), game.moves[1].move, game.moves[1].comments, game.result)
Club 23-19 ['the Cross'] *
>>> print(write_game(game), end="")
[Event "Club"]
<BLANKLINE>
1. 11-15 23-19 {the Cross} 2. 8-11 22-17 *
<BLANKLINE>

Files may have any size and encoding errors; a game that cannot be read to its end keeps its legal moves and
says what stopped it (`PdnGame.problem`). `Game.from_pdn` and `Game.to_pdn` of `ckai.game` are the short way
for one game.

The package owns the grammar and the resolution of written moves. It imports `ckai.game` and no data sets,
networks or search.
"""

from ckai.pdn.game import PdnError, PdnGame, PdnMove, Variation, from_game, write_game
from ckai.pdn.reader import read_games, read_one

__all__ = [
    "PdnError",
    "PdnGame",
    "PdnMove",
    "Variation",
    "from_game",
    "read_games",
    "read_one",
    "write_game",
]
