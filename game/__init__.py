"""The rules of 8x8 English draughts: bitboards, legal hops, whole moves, draw rules, FEN.

Owns the rules and the numbers of the board, and (`tables`) endgames known exactly. Knows nothing of networks
or search.
"""

from ckai.game.errors import (
    AmbiguousMoveError,
    IllegalMoveError,
    MoveError,
    MoveTextError,
    PositionError,
)
from ckai.game.play import HALFMOVE_LIMIT, REPETITION_LIMIT, Game, Outcome, Reason
from ckai.game.position import Move, Position, divide, perft

__all__ = [
    "HALFMOVE_LIMIT",
    "REPETITION_LIMIT",
    "AmbiguousMoveError",
    "Game",
    "IllegalMoveError",
    "Move",
    "MoveError",
    "MoveTextError",
    "Outcome",
    "Position",
    "PositionError",
    "Reason",
    "divide",
    "perft",
]
