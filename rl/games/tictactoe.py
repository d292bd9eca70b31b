"""Tic-tac-toe: the whole of a small game, in one file.

A state is (stones of the side to move, stones of the other); bit and action i are the square i, row by row.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ckai.game.svg import Layout
from ckai.models.encodings import StonesEncoding, register_encoding
from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements
from ckai.rl.games.spec import GameSpec, Solver, square_symmetries

_LINES = np.array([0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124], np.int64)
_FULL = 0o777


@game(num_actions=9, max_legal_actions=9, bits=range(9), lookahead=True)
class TicTacToe(NamedTuple):
    """No settings."""


@implements(contract.legal, TicTacToe)
def _legal(game, state, out):
    taken = state[0] | state[1]
    n = 0
    for action in range(9):
        if not taken >> action & 1:
            out[n] = action
            n += 1
    return n


@implements(contract.play, TicTacToe)
def _play(game, state, action):
    return (state[1], state[0] | np.int64(1) << np.int64(action)), True


@implements(contract.outcome, TicTacToe)
def _outcome(game, state, count):
    for line in _LINES:
        if state[1] & line == line:
            return True, -1.0
    return state[0] | state[1] == _FULL, 0.0


@register_encoding("tictactoe")
class TicTacToeEncoding(StonesEncoding):
    """Three rows of three, row by row."""

    VERSION, GAME = "tictactoe-1", "tictactoe"
    SHAPE, NUM_ACTIONS = (3, 3), 9


class TicTacToeSpec(GameSpec):
    """Three in a row win. Its few positions are learned in more steps than a large game's."""

    name = "tictactoe"
    title = "Tic-tac-toe"
    rules = TicTacToe()
    encoding = "tictactoe"
    plies = 7
    symmetries = square_symmetries(3)
    solver = Solver
    layout = Layout(3, 3, {i + 1: (i // 3, i % 3) for i in range(9)})
    side_names = ("X", "O")
    piece_letters: ClassVar[Mapping[str, str]] = {"b": "X", "w": "O"}
    move_example = "5"
    run_defaults: ClassVar[Mapping[str, Any]] = {**GameSpec.run_defaults, "learn.epochs": 4}


SPEC = TicTacToeSpec()
