"""The screen of `ckai tune`: what is tried, the runs as they go on, and the table of results."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import count_text, print_json, progress_bar, stderr_console
from ckai.cli.shared.run_screen import RunScreen
from ckai.cli.strength.arena import elo_text
from ckai.rl.tuning.config import StudyConfig
from ckai.rl.tuning.halving import total_generations
from ckai.rl.tuning.results import CSV, PNG, Result, final_order, plain_results, results
from ckai.rl.tuning.space import trial_text, value_text

if TYPE_CHECKING:
    from ckai.rl.loop.events import EventCallback
    from ckai.rl.loop.run import Run
    from ckai.rl.tuning.folder import Score, StudyFolder
    from ckai.rl.tuning.halving import Rung
    from ckai.rl.tuning.scoring import ProgressCallback


def plan_text(config: StudyConfig, games: int) -> str:
    """Say what a study will take.

    Args:
        config: its settings.
        games: games of a generation.
    """
    schedule = config.schedule
    rungs = ", then ".join(
        f"{rung.trials} trials to {count_text(rung.generations, 'generation')}" for rung in schedule
    )
    total = total_generations(schedule)
    return f"{rungs}: {count_text(total, 'generation')} of {count_text(games, 'game')} in all"


def print_plan(config: StudyConfig, trials: Sequence[Mapping[str, Any]], games: int, as_json: bool) -> None:
    """Print what a study will take and try.

    Args:
        config: its settings.
        trials: what each trial tries.
        games: games of a generation.
        as_json: print it as JSON.
    """
    if as_json:
        schedule = config.schedule
        rungs = [{"trials": rung.trials, "generations": rung.generations} for rung in schedule]
        print_json({"rungs": rungs, "generations": total_generations(schedule), "trials": list(trials)})
        return
    click.echo(plan_text(config, games))
    for number, values in enumerate(trials):
        click.echo(f"trial {number}: {trial_text(values)}{'' if number else ' (the defaults)'}")


class StudyScreen:
    """Lines for every trial and rung, and the screen of the run that goes on, on standard error.

    Args:
        study: the study.
        evaluator: evaluator backend, as for `Study.go`.
    """

    def __init__(self, study: "StudyFolder", evaluator: str) -> None:
        self.study, self.evaluator = study, evaluator
        self.console = stderr_console()
        if study.best is None:
            self._print(f"{study.folder}: {plan_text(study.config, study.run(0).config.games)}")

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False)

    @contextmanager
    def training(self, rung: "Rung", trial: int, run: "Run") -> "Iterator[EventCallback]":
        """See `Watcher`."""
        self._print(
            f"rung {rung.number} of {len(self.study.schedule)}, trial {trial} ({run.folder}): "
            f"{trial_text(self.study.trials[trial])}"
        )
        with RunScreen(run, rung.generations, self.evaluator) as screen:
            yield screen.on_event

    @contextmanager
    def scoring(self, rung: "Rung") -> "Iterator[ProgressCallback]":
        """See `Watcher`."""
        unit = "games" if self.study.config.score == "elo" else "trials"
        with progress_bar(f"rung {rung.number}: scoring", unit) as progress:
            yield progress

    def scored(self, rung: "Rung", scores: "Mapping[int, Score]") -> None:
        """See `Watcher`."""
        ranked = self.study.ranked(scores)
        texts = [f"trial {trial} {self._text(scores[trial])}" for trial in ranked]
        kept = ", ".join(map(str, ranked[: rung.kept]))
        self._print(f"rung {rung.number}: {', '.join(texts)}; kept: {kept}")

    def _text(self, score: "Score") -> str:
        return score_text(self.study, score)

    def warn(self, text: str) -> None:
        """See `Watcher`."""
        self._print(f"ckai: warning: {text}")


def score_text(study: "StudyFolder", score: "Score") -> str:
    """Return a score with its 95 % interval."""
    if study.config.score == "mistakes":
        return f"{score.value:.1%} ({100 * score.low:.1f} to {100 * score.high:.1f})"
    return elo_text(score.value, score.low, score.high)


def print_results(study: "StudyFolder", command: str, as_json: bool) -> None:
    """Print the results of a finished study.

    Args:
        study: the study.
        command: the command that repeats the best trial.
        as_json: print them as JSON.
    """
    found = results(study)
    files = {"csv": str(study.folder / CSV), "plot": str(study.folder / PNG)}
    if as_json:
        print_json({**plain_results(study, found), "command": command, **files})
        return
    order = final_order(study, found)
    _print_table(study, order)
    best = order[0]
    click.echo(f"trial {best.trial} is the best: {trial_text(study.trials[best.trial])}")
    near = [each for each in order[1:] if each.rung == best.rung and _overlap(best, each)]
    if near:
        names = ", ".join(str(each.trial) for each in near)
        click.echo(f"its interval overlaps with those of other trials of the last rung: {names}")
    click.echo(f"{files['csv']} and {files['plot']}; repeat the best with:")
    click.echo(f"    {command}")


def _overlap(a: Result, b: Result) -> bool:
    """Return whether the intervals of two results overlap."""
    assert a.score is not None
    assert b.score is not None
    return a.score.low <= b.score.high and b.score.low <= a.score.high


def _print_table(study: "StudyFolder", order: Sequence[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    names = [tried.name for tried in study.space]
    short = [name.rpartition(".")[2] for name in names]
    score = "mistakes, 95 %" if study.config.score == "mistakes" else "Elo, 95 %"
    for title in ("trial", *(short if len(set(short)) == len(short) else names)):
        table.add_column(title, justify="right", overflow="fold")
    for title in ("rung", "gen", score, "min", "k eval"):
        table.add_column(title, justify="right", no_wrap=True)
    for result in order:
        values = study.trials[result.trial]
        table.add_row(
            str(result.trial),
            *(value_text(values[name]) for name in names),
            str(result.rung),
            str(result.generations),
            "" if result.score is None else score_text(study, result.score),
            f"{result.minutes:.1f}",
            f"{result.evaluations / 1000:,.0f}",
        )
    Console(highlight=False).print(table)
    if study.config.score == "elo" and not study.config.against:
        click.echo("the mean of a rung is 0, so compare Elo within a rung only; trial 0: the defaults")
    else:
        click.echo("trial 0: the defaults")
