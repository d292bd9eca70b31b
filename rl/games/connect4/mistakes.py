"""How often an engine gives away the value of a position, counted on solved positions.

A mistake turns a win into a draw or a loss, or a draw into a loss; a slower win is not one (AlphaZero.jl
counts them the same way).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.solving import SolvedPosition
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import wilson

POLICY = "policy"
"""Name of the bare policy among the engines."""
BOARDS = 64
"""Positions that an engine thinks about at the same time."""

Classes = Mapping[str, Sequence[SolvedPosition]]
"""Solved positions by the name of their class."""


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of an engine in a class of positions."""

    positions: int
    mistakes: int

    @property
    def share(self) -> float:
        """Share of the positions, [0, 1]."""
        return self.mistakes / self.positions

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson 1927)."""
        return wilson(self.share, self.positions)


def solved_classes(spec: GameSpec) -> Classes:
    """Return the solved positions of a game. Every move in them is a single action.

    Raises:
        ValueError: there are none.
    """
    if spec.solver is None:
        raise ValueError(f"expected a game that can be solved, found {spec.name}")
    classes = spec.solver().classes()
    if not classes:
        raise ValueError(f"expected a game with classes of solved positions, found {spec.name}")
    return classes


def count_mistakes(engine: Engine, classes: Classes, limit: Limit | None = None) -> dict[str, Mistakes]:
    """Return the mistakes of an engine by class; it begins a game in every position."""
    counted = {}
    for name, positions in classes.items():
        actions: list[int] = []
        for first in range(0, len(positions), BOARDS):
            games = [engine.spec.game(each.position) for each in positions[first : first + BOARDS]]
            engine.new_game()
            found = engine.play_many(games, limit, seeds=range(first, first + len(games)))
            actions += [result.move.actions[0] for result in found]
        counted[name] = _count(positions, actions)
    return counted


def count_policy_mistakes(evaluator: Evaluator, spec: GameSpec, classes: Classes) -> dict[str, Mistakes]:
    """Return the mistakes of the most likely legal move, without search.

    Raises:
        ValueError: the evaluator answered with another shape, or with numbers that are not finite.
    """
    counted = {}
    for name, positions in classes.items():
        boards = np.stack([spec.encoded(each.position) for each in positions])
        logits = np.zeros((len(boards), spec.num_actions), np.float32)
        evaluate_into(evaluator, boards, logits, np.zeros(len(boards), np.float32))
        if not np.isfinite(logits).all():
            raise non_finite_error(evaluator)
        legal = [[move.actions[0] for move in each.moves] for each in positions]
        best = [max(actions, key=row.__getitem__) for actions, row in zip(legal, logits, strict=True)]
        counted[name] = _count(positions, best)
    return counted


def mistakes_of_network(
    evaluator: Evaluator, spec: GameSpec, visits: Sequence[int], classes: Classes
) -> dict[str, dict[str, Mistakes]]:
    """Return the mistakes of the bare policy and of searches, by player and class.

    Args:
        evaluator: the network.
        spec: its game.
        visits: of each search.
        classes: see `solved_classes`.
    """
    out = {POLICY: count_policy_mistakes(evaluator, spec, classes)}
    with TreeEngine(evaluator, nodes=1, spec=spec) as engine:
        for each in visits:
            out[f"{each} visits"] = count_mistakes(engine, classes, Limit(visits=each))
    return out


def _count(positions: Sequence[SolvedPosition], actions: Sequence[int]) -> Mistakes:
    wrong = 0
    for each, action in zip(positions, actions, strict=True):
        values = {move.actions[0]: truth.value for move, truth in each.moves.items()}
        wrong += values[action] < each.value
    return Mistakes(len(positions), wrong)
