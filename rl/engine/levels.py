"""Levels of play from beginner to full strength; all but the last three err as people do.

A level takes the policy that the network `human` learned from people, and a search that looks some plies
ahead. The probability of a move is proportional to

    policy(move) ** (1 / temperature) * exp(value(move) / regret),

the policy nearest to that of people, by KL divergence, among those that are as strong; so a level plays moves
that people play, and errs where people find it hard to see what is wrong (Jacob, Wu, Farina, Lerer, Hu,
Bakhtin, Andreas and Brown, "Modeling Strong and Human-Like Gameplay with KL-Regularized Search", 2022).
Strength is calibrated by matches of each level with the next.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from ckai.game import Game, Move
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.engine.base import Engine, Task
from ckai.rl.evaluators.loading import move_priors
from ckai.rl.games.checkers import pack

Numbers: TypeAlias = dict[Move, float]
MIN_PRIOR = 1e-6
"""Least prior of a move: smaller ones count as this, so that their logarithm is bounded."""


@dataclass(frozen=True)
class Level:
    """How a level plays."""

    temperature: float
    """Temperature of the policy: 1 plays moves as often as people do; higher is closer to random."""
    depth: int = 0
    """Plies of search after each move; 0: the policy alone."""
    regret: float = 1.0
    """Drop in value, above 0, that makes a move e times less likely."""


LEVELS = (
    *map(Level, (4.0, 2.2, 1.6, 1.15)),
    Level(1.0, 1, 0.9), Level(1.0, 1, 0.35), Level(1.0, 2, 0.3), Level(1.0, 2, 0.18), Level(1.0, 3, 0.11),
    Level(1.0, 4, 0.07), Level(1.0, 5, 0.05), Level(1.0, 6, 0.035), Level(1.0, 8, 0.02),
)  # fmt: skip
"""The levels that err as people do: level 1 is the first."""
QUICK_NODES = (12_000, 40_000)
"""Positions a move of the levels after them, which search as full strength does."""
FULL_LEVEL = len(LEVELS) + len(QUICK_NODES) + 1
"""Full strength: alpha-beta with the network `ckai`."""
LEVEL_NAMES = {
    2: "beginner", 4: "casual", 6: "improver", 8: "club", 10: "strong club", 13: "expert", 15: "master"
}  # fmt: skip
"""What players of a level are called, by the highest level of that name."""


def describe_level(number: int) -> tuple[str, str]:
    """Return what players of a level are called, and in a few words how it plays, 1 to `FULL_LEVEL`."""
    name = next((name for last, name in LEVEL_NAMES.items() if number <= last), "full strength")
    if number > len(LEVELS):
        nodes = (*QUICK_NODES, 0)[number - len(LEVELS) - 1]
        return name, f"looks at {nodes:,} positions a move" if nodes else name
    depth = LEVELS[number - 1].depth
    ahead = f"looks {depth} {'ply' if depth == 1 else 'plies'} ahead"
    return name, ahead if depth else "plays by intuition alone"


def move_values(search: AlphaBetaSearch, game: Game, depth: int) -> Numbers:
    """Return the value of every legal move for the side to move, [-1, 1], by a search of plies after it."""
    history, values = [pack(position) for position in game.positions], {}
    for move in game.position.legal_moves():
        after = game.position.push(move)
        if not after.legal_moves():
            values[move] = 1.0
        elif after.is_game_over() or any(earlier.key == after.key for earlier in game.positions):
            values[move] = 0.0  # a draw, which the search does not check at its root
        else:
            values[move] = -search.search(pack(after), history, depth=depth).value
    return values


def level_policy(level: Level, priors: Numbers, values: Numbers | None) -> Numbers:
    """Return the probability of every move, see above; `priors` are people's, and alone without `values`."""
    scores = {move: math.log(max(p, MIN_PRIOR)) / level.temperature for move, p in priors.items()}
    if values is not None:
        scores = {move: score + values[move] / level.regret for move, score in scores.items()}
    best = max(scores.values())
    weights = {move: math.exp(score - best) for move, score in scores.items()}
    return {move: weight / sum(weights.values()) for move, weight in weights.items()}


class LevelEngine(Engine):
    """A level that errs as people do: the policy of `people`, and searches with a `network` and tables."""

    def __init__(
        self, level: Level, people: Evaluator, network: Any, tables: Any = None, seed: int | None = None
    ) -> None:
        super().__init__(seed=seed)
        self._level, self._people, self._network = level, people, network
        self._rules = self.spec.make_rules(tables)
        self._open()

    def _open(self, of: Any = None) -> None:
        self._alpha_beta = AlphaBetaSearch(self._network, game=self._rules, entries=1 << 16)

    def _search(self, task: Task) -> Move:
        level, (priors, _), values = self._level, move_priors(self._people, task.game.position), None
        if level.depth and len(priors) > 1:
            values = move_values(self._alpha_beta, task.game, level.depth)
        policy = level_policy(level, priors, values)
        return task.chance.choices(list(policy), list(policy.values()))[0]
