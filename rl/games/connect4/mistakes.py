"""How often a player gives away the value of a position, counted on solved positions.

A mistake turns a win into a draw or a loss, or a draw into a loss; a slower win is not one (AlphaZero.jl
counts them the same way).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.move_priors import move_priors
from ckai.rl.games.solving import SolvedPosition
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import wilson

POLICY = "policy"
"""Name of the bare policy among the players."""
BOARDS = 64
"""Positions that an engine thinks about at the same time."""

Classes = Mapping[str, Sequence[SolvedPosition]]
"""Solved positions by the name of their class."""


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of a player in a class of positions."""

    positions: int
    mistakes: int

    @classmethod
    def of(cls, positions: Sequence[SolvedPosition], moves: Sequence[Any]) -> "Mistakes":
        """Count those among the moves of a player, one for each position."""
        found = zip(positions, moves, strict=True)
        return cls(len(positions), sum(each.moves[move].value < each.value for each, move in found))

    @property
    def share(self) -> float:
        """Share of the positions, [0, 1]."""
        return self.mistakes / self.positions

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson 1927)."""
        return wilson(self.share, self.positions)


def solved_classes(spec: GameSpec) -> Classes:
    """Return the solved positions of a game.

    Raises:
        ValueError: there are none.
    """
    classes = spec.solver().classes() if spec.solver else {}
    if not classes:
        raise ValueError(f"expected a game with classes of solved positions, found {spec.name}")
    return classes


def count_mistakes(engine: Engine, classes: Classes, limit: Limit | None = None) -> dict[str, Mistakes]:
    """Return the mistakes of an engine by class; it begins a game in every position."""
    counted = {}
    for name, positions in classes.items():
        moves: list[Any] = []
        for first in range(0, len(positions), BOARDS):
            games = [engine.spec.game(each.position) for each in positions[first : first + BOARDS]]
            engine.new_game()
            found = engine.play_many(games, limit, seeds=range(first, first + len(games)))
            moves += [result.move for result in found]
        counted[name] = Mistakes.of(positions, moves)
    return counted


def mistakes_of_network(
    evaluator: Evaluator, spec: GameSpec, visits: Sequence[int], classes: Classes
) -> dict[str, dict[str, Mistakes]]:
    """Return the mistakes of the bare policy, and of searches with so many visits, by player and class."""

    def likeliest(position: Any) -> Any:
        priors, _ = move_priors(evaluator, position, spec)
        return max(priors, key=priors.__getitem__)

    policy = {
        name: Mistakes.of(positions, [likeliest(each.position) for each in positions])
        for name, positions in classes.items()
    }
    with TreeEngine(evaluator, nodes=1, spec=spec) as engine:
        searches = {f"{each} visits": count_mistakes(engine, classes, Limit(visits=each)) for each in visits}
    return {POLICY: policy, **searches}
