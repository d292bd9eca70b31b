"""Checkers (8x8 English draughts) for the search, for matches and for self-play."""

from ckai.rl.games.checkers import playouts as _playouts
from ckai.rl.games.checkers.rules import Checkers, halfmove_clocks_of, pack, unpack
from ckai.rl.games.checkers.spec import SPEC, CheckersSpec

__all__ = ["SPEC", "Checkers", "CheckersSpec", "halfmove_clocks_of", "pack", "unpack"]

del _playouts  # imported so that the fast playout of checkers is registered
