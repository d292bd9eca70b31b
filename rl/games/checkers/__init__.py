"""Checkers (8x8 English draughts) for the search, for matches and for self-play."""

from ckai.rl.games.checkers.rules import Checkers, pack, unpack
from ckai.rl.games.checkers.spec import SPEC, CheckersSpec

__all__ = ["SPEC", "Checkers", "CheckersSpec", "pack", "unpack"]
