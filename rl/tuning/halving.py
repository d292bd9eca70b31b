"""Successive halving: which trials go on, and for how long (Jamieson, Talwalkar 2016).

Every trial gets a small budget; the best 1/eta of them get eta times as much, and so on. It is one bracket of
Hyperband (Li et al. 2018), with n trials and a budget of r generations in the first rung: rung i has
n / eta^i trials, rounded down, of r eta^i generations in all.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rung:
    """A step of successive halving."""

    number: int
    """Counted from 1."""
    trials: int
    """How many trials it has, at least 2."""
    generations: int
    """Generations that each has at its end, with those of earlier rungs."""
    kept: int
    """How many of them go on, or are left at the end of the last rung."""


def halving_schedule(trials: int, generations: int, eta: int, rungs: int = 0) -> list[Rung]:
    """Return the rungs.

    Args:
        trials: number of trials, at least 2.
        generations: of each in the first rung.
        eta: factor by which the trials become fewer and their generations more, at least 2.
        rungs: most rungs; 0: until one trial is left.
    """
    schedule = list[Rung]()
    while trials > 1 and (not rungs or len(schedule) < rungs):
        kept = max(1, trials // eta)
        schedule.append(Rung(len(schedule) + 1, trials, generations, kept))
        trials, generations = kept, generations * eta
    return schedule


def total_generations(schedule: list[Rung]) -> int:
    """Return the generations of all trials together."""
    before = [0, *(rung.generations for rung in schedule)]
    return sum(rung.trials * (rung.generations - had) for rung, had in zip(schedule, before, strict=False))


def best_first(merits: Mapping[int, float]) -> list[int]:
    """Return the trials in the order of their merit, the highest first; of equals, the first trial.

    Args:
        merits: what to maximize, by the number of the trial.
    """
    return sorted(merits, key=lambda trial: (-merits[trial], trial))
