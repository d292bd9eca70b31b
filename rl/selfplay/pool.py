"""The opponent pool: past networks that play one side in a share of the self-play games.

Which games have an opponent, which one and on which side depends on the run's seed and the number of the game
alone; the members of the pool depend on the results of earlier generations. In such a game each side searches
with its own network, and only the moves of the newest network have policy targets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.matches.ratings import PairScores, ratings
from ckai.rl.selfplay.config import PoolConfig


@dataclass(frozen=True)
class Opponent:
    """The past network in one game."""

    network: int
    """Its number: the generation that trained it, 0 for the first one."""
    moves_first: bool
    """Whether it plays the first player."""


class Pool:
    """The past networks that a generation plays against."""

    def __init__(self, config: PoolConfig, seed: int, evaluators: Mapping[int, Evaluator]) -> None:
        """Create a pool of past networks, by their numbers, oldest first."""
        self.config, self.seed, self.evaluators = config, seed, dict(evaluators)

    def opponent(self, number: int) -> Opponent | None:
        """Return the opponent in game `number`, or None if the newest network plays both sides."""
        if not self.evaluators or not self.config.share:
            return None
        rng = np.random.default_rng(seed_stream(self.seed, number))
        if rng.random() >= self.config.share:
            return None
        networks = list(self.evaluators)
        return Opponent(networks[int(rng.integers(len(networks)))], bool(rng.integers(2)))


def player_name(generation: int) -> str:
    """Return the player name in PDN of the network that was trained in a generation; 0: the first one."""
    return f"ckai generation {generation}"


def network_of(player: str) -> int:
    """Return the generation that `player_name` names."""
    return int(player.rpartition(" ")[2])


def trained_in(history: Sequence[dict[str, Any]], generation: int) -> int:
    """Return the generation in which the network of `generation` was trained: the last accepted up to it."""
    accepted = (measured["generation"] for measured in history[:generation] if measured["accepted"])
    return max(accepted, default=0)


def draw_opponents(config: PoolConfig, history: Sequence[dict[str, Any]], seed: int) -> list[int]:
    """Draw the past networks that the next generation plays against.

    Prioritized fictitious self-play (Vinyals et al. 2019): a network with an expected score p against the
    newest is drawn with a weight of p (1 - p), which is highest for equals. p is from ratings fitted to the
    gate matches and the earlier games of the pool. A newest network without games has the rating of the
    newest that has some.

    Returns their generations, ascending; none if there is no past network or the share is 0. For `history`
    see `Run.history`.
    """
    networks = [0] + [h["generation"] for h in history if h["accepted"]]
    past = networks[:-1]
    if not config.share or not past:
        return []
    results = _results(networks, history)
    elo = np.array([each.elo for each in ratings(len(networks), results)])
    newest = max((i for pair, scores in results.items() if scores for i in pair), default=len(past))
    p = 1 / (1 + 10 ** ((elo[:-1] - elo[newest]) / 400))
    weight = p * (1 - p)
    rng = np.random.default_rng(seed_stream(seed))
    count = min(config.opponents, len(past))
    return sorted(past[i] for i in rng.choice(len(past), count, replace=False, p=weight / weight.sum()))


def _results(networks: Sequence[int], history: Sequence[dict[str, Any]]) -> PairScores:
    """Return the scores of each pair of networks, one for every two games, as `fit` takes them."""
    scores: dict[tuple[int, int], list[float]] = {}
    for measured in history:
        played = measured["selfplay"]
        for other, counts in played.get("pool", {}).items():
            player = networks.index(played["network"])
            games = sum(counts.values())
            score = (counts["won"] + counts["drawn"] / 2) / max(1, games)
            scores.setdefault((networks.index(int(other)), player), []).extend([1 - score] * (games // 2))
        if measured["accepted"]:
            match = measured["match"].get("second", measured["match"])
            match_scores = [1 - match["score"]] * (match["games"] // 2) if match["games"] else []
            new = networks.index(measured["generation"])
            scores.setdefault((new - 1, new), []).extend(match_scores)
    return scores
