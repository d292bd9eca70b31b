"""The results of a study: every trial in every rung, as `tune.csv`, `tune.json` and a plot."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ckai.datasets.files import write_whole
from ckai.rl.loop.report import search_evaluations, seconds_of
from ckai.rl.tuning.folder import Score, StudyFolder
from ckai.rl.tuning.plots import plot_study
from ckai.rl.tuning.space import value_text

CSV, JSON, PNG = "tune.csv", "tune.json", "tune.png"
"""Files in the folder of the study."""


@dataclass(frozen=True)
class Result:
    """A trial in a rung, with all its generations."""

    trial: int
    rung: int
    """Counted from 1."""
    generations: int
    """Generations that the trial had finished at the end of the rung."""
    score: Score | None
    """None before the rung has its scores."""
    kept: bool | None
    """Whether it went on, or is the best or among the best at the end; None before the scores."""
    minutes: float
    """Wall-clock time of these generations: self-play, reanalysis, training and gate matches."""
    evaluations: int
    """Network evaluations in their self-play and reanalysis."""


def results(study: StudyFolder) -> list[Result]:
    """Return all results so far, by rung and trial.

    Raises:
        RunError, StudyError: a file cannot be read.
    """
    found = list[Result]()
    for rung, trials in study.climbed():
        scores = study.scores(rung) or {}
        kept = study.ranked(scores)[: rung.kept]
        for trial in trials:
            history = study.run(trial).history()[: rung.generations]
            if len(history) == rung.generations:
                found.append(
                    Result(
                        trial,
                        rung.number,
                        rung.generations,
                        scores.get(trial),
                        trial in kept if scores else None,
                        round(sum(map(seconds_of, history)) / 60, 3),
                        round(sum(map(search_evaluations, history))),
                    )
                )
    return found


def final_order(study: StudyFolder, found: Sequence[Result]) -> list[Result]:
    """Return the last result of each trial, the best trial first: those of later rungs, then by score.

    Args:
        study: the study.
        found: all its results, see `results`.
    """
    last = {result.trial: result for result in found}
    order = list[Result]()
    for rung in reversed(study.schedule):
        mine = [result for result in last.values() if result.rung == rung.number]
        scores = {result.trial: result.score for result in mine if result.score is not None}
        ranked = study.ranked(scores)
        order += [last[trial] for trial in ranked]
        order += [result for result in mine if result.trial not in scores]
    return order


def plain_results(study: StudyFolder, found: Sequence[Result]) -> dict[str, Any]:
    """Return the results as plain data, as in `tune.json`.

    Args:
        study: the study.
        found: all its results, see `results`.
    """
    return {
        "game": study.run(0).config.game,
        "score": study.config.score,
        "against": study.config.against or None,
        "tried": list(map(str, study.space)),
        "rungs": [
            {"rung": rung.number, "trials": rung.trials, "generations": rung.generations, "kept": rung.kept}
            for rung in study.schedule
        ],
        "trials": [
            {
                "trial": trial,
                "settings": values,
                "run": str(study.trial_folder(trial)),
                "rungs": [_plain(result) for result in found if result.trial == trial],
            }
            for trial, values in enumerate(study.trials)
        ],
        "best": study.best,
    }


def _plain(result: Result) -> dict[str, Any]:
    score = result.score
    return {
        "rung": result.rung,
        "generations": result.generations,
        "score": None if score is None else score.value,
        "interval": None if score is None else [score.low, score.high],
        "kept": result.kept,
        "minutes": result.minutes,
        "evaluations": result.evaluations,
    }


def csv_text(study: StudyFolder, found: Sequence[Result]) -> str:
    """Return the results as CSV: a line for every trial in every rung, with a column for each setting."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [tried.name for tried in study.space]
    figures = ("score", "low", "high", "kept", "minutes", "evaluations")
    writer.writerow(["trial", "rung", "generations", *names, *figures])
    for result in found:
        values, score = study.trials[result.trial], result.score
        shown = (
            ("", "", "") if score is None else tuple(f"{x:.6g}" for x in (score.value, score.low, score.high))
        )
        kept = "" if result.kept is None else value_text(result.kept)
        writer.writerow(
            [
                *(result.trial, result.rung, result.generations),
                *(value_text(values[name]) for name in names),
                *(*shown, kept, result.minutes, result.evaluations),
            ]
        )
    return text.getvalue()


def write_results(study: StudyFolder) -> None:
    """Write `tune.csv` and `tune.json`."""
    found = results(study)
    write_whole(study.folder / CSV, csv_text(study, found))
    write_whole(study.folder / JSON, json.dumps(plain_results(study, found), indent=2) + "\n")


def write_plot(study: StudyFolder) -> None:
    """Write `tune.png` once there are scores, see `plot_study`."""
    scored = [(each.trial, each.rung, each.score) for each in results(study) if each.score is not None]
    if scored:
        plot_study(study.folder / PNG, study, scored)
