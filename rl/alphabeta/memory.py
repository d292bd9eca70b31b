"""What alpha-beta works with: scores, the arrays of a search, and its constants."""

from typing import Any, NamedTuple

import numpy as np

VALUE_SCALE = 10_000
"""Score of the network's value 1."""
WON = 30_000
"""Score of a won position, less the plies to the end of the game."""
PROVEN = 20_000
"""Scores from here on are of won games, below its negative of lost ones."""
INFINITE = 32_000
"""Above every score."""
MAX_PATH = 512
"""Longest path in hops, with the states before the root that can be repeated."""
NEVER = 1000
"""A depth or number of moves that no search reaches."""
MAX_HISTORY = 16_384
"""Bound of the absolute history of an action; it stands for 1."""

PROGRESS = np.dtype(
    [
        ("nodes", np.int64),  # searched
        ("evaluations", np.int64),  # of them, by the network
        ("limit", np.int64),  # of nodes
        ("age", np.int64),  # number of the search
        ("action", np.int64),  # the best at the root so far, -1 before any
        ("score", np.int64),  # of that action
    ]
)
"""How far a search has come."""


class Memory(NamedTuple):
    """The arrays of a search; one position is searched at a time."""

    table: Any
    """[T, STATE_WORDS + 1] int64, see `ckai.rl.alphabeta.transpositions`."""
    path: Any
    """[MAX_PATH, STATE_WORDS] int64: keys of the game's states and of the path, oldest first."""
    actions: Any
    """[MAX_PATH, MAX_LEGAL_ACTIONS] uint8: the legal actions at each state of the path."""
    order: Any
    """[MAX_PATH, MAX_LEGAL_ACTIONS] float32: their ranks, highest first."""
    killers: Any
    """[MAX_PATH, 2] int16: the last two actions that refuted a sibling, -1 if there are none."""
    history: Any
    """[NUM_ACTIONS] int64: how well an action did, 0 being average; in the view of the mover."""
    progress: Any
    """[1] PROGRESS."""
    stop: Any
    """[1] uint8: set to 1 by any thread, ends the search soon."""


class Constants(NamedTuple):
    """What is searched less; margins are scores. See docs/search.md."""

    full_depth_moves: int = 3
    """Actions searched without a reduction."""
    static_depth: int = 4
    """Greatest depth at which a position is pruned for its network's score alone."""
    static_margin: int = 1250
    """How far that score must be above the window, per ply of depth."""
    razor_margin: int = 750
    """How far it must be below the window, per ply of depth."""
    internal_depth: int = 4
    """Least depth at which a state without an action in the table is searched one ply less."""


FULL_WIDTH = Constants(full_depth_moves=NEVER, static_depth=0, internal_depth=NEVER)
"""Search everything: the score is that of minimax with the same evaluation."""
