"""How often a player gives away the value of a position, counted on solved positions.

A mistake turns a win into a draw or a loss, or a draw into a loss; a slower win is not one (AlphaZero.jl
counts them the same way).

Players are compared on six classes of solved positions, those of P. Pons' test sets (2016), which
AlphaZero.jl uses too: by the stones on the board, and by the plies until the end under best play. The
positions are our own, drawn at random by `benchmarks/games/connect4.py`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.games.connect4 import BOOK, SPEC, solved_value
from ckai.rl.games.spec import GameSpec, GridMove, SolvedValue
from ckai.rl.matches.elo import wilson

SOLVED = BOOK.with_name("connect4-classes.npz")
"""Arrays `states`, `[n, 2]` int64, stones of the side to move and all stones; `moves`, `[n, 7]` int8, the
score of each column for the side to move, `NO_SCORE` for a full one; `classes`, `[n]` int8."""
NO_SCORE = 127
CLASSES = ("Begin-Easy", "Begin-Medium", "Begin-Hard", "Middle-Easy", "Middle-Medium", "End-Easy")
POLICY = "policy"
"""Name of the bare policy among the players."""


class SolvedPosition(NamedTuple):
    """A position with the truth about all its moves."""

    position: Any
    moves: Mapping[Any, SolvedValue]
    """Every legal move: what it leads to, for the side to move."""

    @property
    def value(self) -> int:
        """The value for the side to move."""
        return max(truth.value for truth in self.moves.values())


Classes = Mapping[str, Sequence[SolvedPosition]]
"""Solved positions by the name of their class."""


Mistakes = dict[str, dict[str, Any]]
"""What `count` returns, by the name of a class."""


def count(positions: Sequence[SolvedPosition], moves: Sequence[Any]) -> dict[str, Any]:
    """Count the mistakes among the moves of a player, one for each position.

    Returns:
        The numbers of `positions` and `mistakes`, their `share`, and its 95 % `interval` (Wilson 1927).
    """
    found = zip(positions, moves, strict=True)
    mistakes, n = sum(each.moves[move].value < each.value for each, move in found), len(positions)
    return {"positions": n, "mistakes": mistakes, "share": mistakes / n, "interval": wilson(mistakes / n, n)}


@cache
def solved_classes(spec: GameSpec) -> Classes:
    """Return the solved positions of a game; a ValueError says that there are none."""
    if spec != SPEC:
        raise ValueError(f"expected a game with classes of solved positions, found {spec.name}")
    classes: dict[str, list[SolvedPosition]] = {name: [] for name in CLASSES}
    with np.load(SOLVED) as file:
        columns = [file[name].tolist() for name in ("states", "moves", "classes")]
    for (own, taken), scores, number in zip(*columns, strict=True):
        moves = {
            GridMove(column): solved_value(score, taken.bit_count())
            for column, score in enumerate(scores)
            if score != NO_SCORE
        }
        classes[CLASSES[number]].append(SolvedPosition(SPEC.position((own, own ^ taken)), moves))
    return classes


def count_mistakes(engine: Engine, classes: Classes, limit: Limit | None = None) -> Mistakes:
    """Return the mistakes of an engine by class; it begins a game in every position."""
    counted = {}
    for name, positions in classes.items():
        engine.new_game()
        games = [engine.spec.game(each.position) for each in positions]
        found = engine.play_many(games, limit, seeds=range(len(games)))
        counted[name] = count(positions, [result.move for result in found])
    return counted


def mistakes_of_network(
    evaluator: Evaluator, spec: GameSpec, visits: Sequence[int], classes: Classes
) -> dict[str, Mistakes]:
    """Return the mistakes of the bare policy, and of searches with so many visits, by player and class."""
    with TreeEngine(evaluator, nodes=1, spec=spec) as engine:
        policy = {
            name: count(positions, [engine.policy(each.position).move for each in positions])
            for name, positions in classes.items()
        }
        searches = {f"{each} visits": count_mistakes(engine, classes, Limit(visits=each)) for each in visits}
    return {POLICY: policy, **searches}
