"""Past networks as opponents in a share of the games of self-play, those most that come closest.

Which games, against whom and with which colour follows from the run's seed and the number of the game alone,
and who is in the pool from what earlier generations measured. In such a game each side has a tree of its own
network, and the policy learns from the moves of the newer one only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.matches.ratings import PairScores, fit
from ckai.rl.selfplay.config import PoolConfig


@dataclass(frozen=True)
class Opponent:
    """Where an opponent sits in a game."""

    opponent: int
    """Index in the pool."""
    first: bool
    """Whether it has the first move."""


class Pool:
    """The opponents of a generation."""

    def __init__(
        self, config: PoolConfig, seed: int, generations: Sequence[int], evaluators: Sequence[Evaluator] = ()
    ) -> None:
        """Gather them.

        Args:
            config: the shares.
            seed: of the generation.
            generations: whose networks they are.
            evaluators: of these networks; empty where nobody is to play.
        """
        self.config, self.seed = config, seed
        self.generations, self.evaluators = tuple(generations), tuple(evaluators)

    def opponent(self, number: int) -> Opponent | None:
        """The opponent in game `number`; None: the newest network plays both sides."""
        if not self.generations or not self.config.share:
            return None
        rng = np.random.default_rng(seed_stream(self.seed, number))
        if rng.random() >= self.config.share:
            return None
        return Opponent(int(rng.integers(len(self.generations))), bool(rng.integers(2)))

    def name(self, seat: Opponent) -> str:
        """What an opponent is called."""
        return f"ckai generation {self.generations[seat.opponent]}"

    def tally(self, first_scores: Mapping[int, float]) -> dict[str, dict[str, int]]:
        """How the newest network did against each opponent.

        Args:
            first_scores: 1, 0 or -1 for the first player, NaN if unknown, by number of the game.

        Returns:
            By generation, `won`, `drawn` and `lost`.
        """
        told = {str(g): {"won": 0, "drawn": 0, "lost": 0} for g in self.generations}
        for number, score in first_scores.items():
            seat = self.opponent(number)
            if seat is not None:
                mine = -score if seat.first else score
                end = "won" if mine > 0 else "lost" if mine < 0 else "drawn"
                told[str(self.generations[seat.opponent])][end] += 1
        return told


def draw_opponents(config: PoolConfig, history: Sequence[dict[str, Any]], seed: int) -> list[int]:
    """The past networks to meet next, oldest first: generations, none if there is no past or no share.

    A network that is expected to score p is drawn with a weight of p (1 - p), which is highest for equals
    (Vinyals et al. 2019 call it prioritised fictitious self-play). p is from ratings that all matches and
    earlier games of the pool give together.

    Args:
        config: how many.
        history: what was measured in each generation that is over, the first one first.
        seed: of the generation.
    """
    networks = [0] + [h["generation"] for h in history if h["accepted"]]
    past = networks[:-1]
    if not config.share or not past:
        return []
    elo = fit(len(networks), _results(networks, history))
    p = 1 / (1 + 10 ** ((elo[:-1] - elo[-1]) / 400))
    weight = p * (1 - p)
    rng = np.random.default_rng(seed_stream(seed))
    count = min(config.opponents, len(past))
    return sorted(past[i] for i in rng.choice(len(past), count, replace=False, p=weight / weight.sum()))


def _results(networks: Sequence[int], history: Sequence[dict[str, Any]]) -> PairScores:
    """Scores between networks, as many halves as games there were (`fit` counts a score as two games)."""
    found: dict[tuple[int, int], list[float]] = {}
    playing = 0
    for measured in history:
        mine = networks.index(playing)
        for other, told in measured["selfplay"].get("pool", {}).items():
            games = sum(told.values())
            score = (told["won"] + told["drawn"] / 2) / max(1, games)
            found.setdefault((networks.index(int(other)), mine), []).extend([1 - score] * (games // 2))
        if measured["accepted"]:
            match = measured["match"]
            scores = [1 - match["score"]] * (match["games"] // 2) if match["games"] else []
            found.setdefault((mine, mine + 1), []).extend(scores)
            playing = measured["generation"]
    return found
