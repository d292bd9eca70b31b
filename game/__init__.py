"""The rules of 8x8 English draughts: positions, moves, games, draw rules and FEN.

Squares are PDN's 1..32: Black starts on 1..12 and moves first, White on 21..32. Positions and moves are
immutable; a `Game` collects them and applies both draw rules. Text that cannot be used raises a
`PositionError` or a `MoveError`, both `ValueError`s.

>>> from ckai.game import Game, Position
>>> position = Position.start()
>>> position.turn, len(position.legal_moves()), position.is_legal("11-15")
(<Color.BLACK: 'black'>, 7, True)
>>> position = Position.from_pieces({11: "b", 12: "b", 15: "w", 22: "w", 24: "w"}, turn="black")
>>> position.legal_moves()
[<Move 11x18x25>]
>>> position.push("11x25").fen
'W:W24:B12,25'

>>> game = Game(position)
>>> move = game.push("11x25")
>>> move.from_square, move.to_square, move.captured
(11, 25, (15, 22))
>>> for text in ("24-19", "25-30", "19-16"):
...     _ = game.push(text)
>>> game.push("12x19"), game.is_game_over(), game.result()
(<Move 12x19>, True, '1-0')
>>> str(game.outcome())
'Black won: White has no pieces left'
>>> Game.from_pdn(game.to_pdn({"Event": "Example"})).moves == game.moves
True

In a notebook, positions and games show as boards; `Position.svg` returns the picture.

The package imports no file format, network or search; `ckai.game.kernels` holds the rules as Numba functions
over bitboards, for code that needs millions of positions a second.
"""

from ckai.game.game import Game
from ckai.game.outcome import BLACK, HALFMOVE_LIMIT, REPETITION_LIMIT, WHITE, Color, Outcome, Reason
from ckai.game.position import Move, Position, perft
from ckai.game.text import MoveError, PositionError

__all__ = [
    "BLACK",
    "HALFMOVE_LIMIT",
    "REPETITION_LIMIT",
    "WHITE",
    "Color",
    "Game",
    "Move",
    "MoveError",
    "Outcome",
    "Position",
    "PositionError",
    "Reason",
    "perft",
]
