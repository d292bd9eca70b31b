"""Settings of a study: how many trials, how long, and what they are compared by.

Imports neither numpy nor Numba, so that help shows them quickly.
"""

from typing import Literal

from ckai.datasets.settings import setting, settings
from ckai.rl.loop.config import MAX_GENERATIONS
from ckai.rl.tuning.halving import Rung, halving_schedule


@settings
class StudyConfig:
    """Settings of successive halving, and of the matches that score the trials of a rung.

    Raises:
        ValueError: a value out of range, named; or settings that do not go together.
    """

    trials: int = setting(
        default=9, ge=2, le=100, help="Number of trials: one with the defaults, the others drawn at random"
    )
    generations: int = setting(default=2, ge=1, help="Generations that every trial has in the first rung")
    eta: int = setting(
        default=3,
        ge=2,
        help="Keep the best 1/ETA of the trials in each rung; the next rung continues them to ETA times as "
        "many generations in all",
    )
    rungs: int = setting(default=0, ge=0, help="Maximum number of rungs; 0: until one trial is left")
    score: Literal["elo", "mistakes"] = setting(
        default="elo",
        help="Criterion for comparing trials: Elo of their newest networks in matches (elo), or share of "
        "solved positions where they give away a win or a draw (mistakes)",
    )
    match_games: int = setting(
        default=100,
        ge=2,
        multiple_of=2,
        help="Games of each trial in the matches of a rung, an even number, as every opening is played with "
        "both colours",
    )
    match_sims: int = setting(
        default=0,
        ge=0,
        help="Visits per move in these matches and in solved positions; 0 uses the default of self-play",
    )
    against: str = setting(
        default="",
        help="Common opponent of all trials, as in `ckai match`; by default the trials of a rung play each "
        "other",
    )

    def __post_init__(self) -> None:
        if self.against and self.score != "elo":
            raise ValueError(f"expected an opponent with score elo only, found it with score {self.score}")
        most = self.schedule[-1].generations
        if most > MAX_GENERATIONS:
            raise ValueError(
                f"expected at most {MAX_GENERATIONS:,} generations in the last rung, found {most:,}; lower "
                "generations"
            )

    @property
    def schedule(self) -> list[Rung]:
        """The rungs."""
        return halving_schedule(self.trials, self.generations, self.eta, self.rungs)


@settings
class StudySettings:
    """Settings of a study, with their section, apart from those of its runs."""

    study: StudyConfig = setting(default_factory=StudyConfig, help="Successive halving")
