"""The `GameSpec` of Connect-4, and the encoding of its positions."""

from collections.abc import Mapping
from typing import Any

from ckai.game.svg import Layout
from ckai.models.inputs.registry import register_encoding
from ckai.models.inputs.stones import StonesEncoding
from ckai.rl.games.connect4.rules import Connect4
from ckai.rl.games.connect4.solver import Connect4Solver
from ckai.rl.games.spec import GameSpec, Symmetry


@register_encoding("connect4")
class Connect4Encoding(StonesEncoding):
    """Six rows of seven, from the bottom row up."""

    VERSION, GAME = "connect4-1", "connect4"
    SHAPE, NUM_ACTIONS = (6, 7), 7


class Connect4Spec(GameSpec):
    """Four in a row win."""

    name = "connect4"
    title = "Connect-4"
    rules = Connect4()
    encoding = "connect4"
    plies = 30
    symmetries = (
        Symmetry(
            tuple(row * 7 + 6 - column for row in range(6) for column in range(7)),
            tuple(6 - column for column in range(7)),
        ),
    )
    solver = Connect4Solver
    layout = Layout(6, 7, {i + 1: (5 - i // 7, i % 7) for i in range(42)}, numbers=False)
    move_example = "4"
    column_labels = tuple(str(column + 1) for column in range(7))

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Any:
        """See `GameSpec.set_up`."""
        position = super().set_up(pieces, black=black)
        for column in range(7):
            stones = (position.state[0] | position.state[1]) >> column * 7 & 0o77
            if stones & stones + 1:
                raise ValueError(f"expected no gap below a stone, found one in column {column + 1}")
        return position


SPEC = Connect4Spec()
