"""The plot of a study: the score against each setting that was tried."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ckai.datasets.files import save_figure
from ckai.rl.matches.plots import short
from ckai.rl.tuning.folder import Score, StudyFolder
from ckai.rl.tuning.space import Choices, Range, Tried, value_text

COLUMNS = 3
"""Most panels beside each other."""
SPREAD = 0.3
"""Width over which the trials with one of several choices are spread."""


def score_label(study: StudyFolder) -> str:
    """Return what the score of a study is, with its zero."""
    if study.config.score == "mistakes":
        return "mistakes, %"
    against = study.config.against
    return f"Elo above {short(against)}" if against else "Elo (mean of the rung 0)"


def plot_study(path: Path, study: StudyFolder, scored: Sequence[tuple[int, int, Score]]) -> None:
    """Plot a panel for each setting: the score of every trial, with its interval, by rung.

    Trial 0, with the defaults, is a square; it is left out where its value is no number on a range.

    Args:
        path: PNG file to write.
        study: the study.
        scored: the number of a trial, of a rung, and the score.
    """
    from matplotlib.figure import Figure  # not pyplot: needs no display and keeps no global state

    columns = min(COLUMNS, len(study.space))
    lines = -(-len(study.space) // columns)
    figure = Figure(figsize=(1.5 + 4.2 * columns, 0.8 + 3.2 * lines), layout="constrained")
    panels: Any = figure.subplots(lines, columns, squeeze=False, sharey=True)
    scale = 100 if study.config.score == "mistakes" else 1
    for panel, tried in zip(panels.flat, study.space, strict=False):
        places = _Places(tried, [values[tried.name] for values in study.trials])
        places.prepare(panel)
        for rung in study.schedule:
            for trial, number, score in scored:
                x = places.of(trial)
                if number != rung.number or x is None:
                    continue
                value, low, high = (scale * each for each in (score.value, score.low, score.high))
                panel.errorbar(
                    x,
                    value,
                    [[value - low], [high - value]],
                    fmt="o" if trial else "s",
                    color=f"C{rung.number - 1}",
                    capsize=2,
                    elinewidth=1,
                    alpha=0.8,
                )
        panel.set_xlabel(tried.name)
        panel.grid(alpha=0.3)
    for panel in panels.flat[len(study.space) :]:
        panel.set_visible(False)
    for row in panels:
        row[0].set_ylabel(score_label(study))
    reached = {number for _, number, _ in scored}
    for rung in study.schedule:
        if rung.number in reached:
            text = f"rung {rung.number}: to generation {rung.generations}"
            panels.flat[0].plot([], [], "o", color=f"C{rung.number - 1}", label=text)
    panels.flat[0].plot([], [], "s", color="grey", label="the defaults")
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save_figure(path, figure, 130)


class _Places:
    """Where trials are on the axis of a setting.

    Args:
        tried: the setting.
        values: its value in each trial.
    """

    def __init__(self, tried: Tried, values: Sequence[Any]) -> None:
        self.tried, self.values = tried.values, values
        self.choices: list[Any] = []
        if isinstance(self.tried, Choices):
            self.choices = [*self.tried.values, *([values[0]] if values[0] not in self.tried else [])]
            if all(isinstance(value, int | float) for value in self.choices):
                self.choices.sort()

    def prepare(self, panel: Any) -> None:
        """Set the ticks or the scale of the axis."""
        if self.choices:
            panel.set_xticks(range(len(self.choices)), map(value_text, self.choices))
            panel.set_xlim(-0.5, len(self.choices) - 0.5)
        elif isinstance(self.tried, Range):
            numbers = [value for value in self.values if isinstance(value, int | float)]
            if self.tried.log and min(numbers) > 0:
                panel.set_xscale("log")
            elif self.tried.log:
                panel.set_xscale("symlog", linthresh=self.tried.low)
            # All of the range is shown, also where no trial is.
            panel.update_datalim([(self.tried.low, 0), (self.tried.high, 0)], updatey=False)

    def of(self, trial: int) -> float | None:
        """Return the place of a trial; None if its value is not a number."""
        value = self.values[trial]
        if self.choices:
            return self.choices.index(value) + SPREAD * (trial / max(1, len(self.values) - 1) - 0.5)
        return float(value) if isinstance(value, int | float) else None
