"""Connect-4: its rules for the search, its `GameSpec`, and a solver."""

from ckai.rl.games.connect4.rules import Connect4, four
from ckai.rl.games.connect4.spec import SPEC, Connect4Encoding, Connect4Spec

__all__ = ["SPEC", "Connect4", "Connect4Encoding", "Connect4Spec", "four"]
