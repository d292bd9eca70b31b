"""Mistakes over the generations of a self-play run, against the time they took: a CSV file and a plot."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.files import save_figure, write_whole
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.loop.folder import RunFolder
from ckai.rl.loop.report import seconds_of
from ckai.rl.solved.mistakes import POLICY, Classes, Mistakes, mistakes_of_network, visits_name

CSV, PNG = "solved.csv", "solved.png"
"""Files in the folder of the run."""


@dataclass(frozen=True)
class ClimbRow:
    """The mistakes of one player in one class; a line of the CSV file."""

    generation: int
    digest: str
    """SHA-256 digest of the checkpoint."""
    core_minutes: float
    """Minutes of self-play, training and gate matches so far, times the cores."""
    player: str
    """`policy`, or the visits of a search."""
    position_class: str
    positions: int
    mistakes: int

    @property
    def counted(self) -> Mistakes:
        """The mistakes, with share and interval."""
        return Mistakes(self.positions, self.mistakes)


COLUMNS = (
    *("generation", "digest", "core_minutes", "player", "class"),
    *("positions", "mistakes", "share", "low", "high"),
)


def measure_run(
    run: RunFolder,
    visits: Sequence[int],
    classes: Classes,
    cores: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[ClimbRow]:
    """Measure every finished generation and write `solved.csv` and `solved.png` into the folder of the run.

    What the file already has of the same networks and positions is not measured again, so that a killed
    command goes on, and a longer run costs only its new generations.

    Args:
        run: the run.
        visits: of the searches, besides the bare policy.
        classes: see `ckai.rl.solved.mistakes.solved_classes`.
        cores: that the run was using.
        progress: called with the generations done and their number.

    Raises:
        RunError: a file of the run cannot be read.
        CheckpointError: a network cannot be read.
        ValueError: `solved.csv` is not such a file.
    """
    path, history = run.folder / CSV, run.history()
    known = {(row.digest, row.player, row.position_class): row for row in read_rows(path)}
    players, rows, seconds = [POLICY, *map(visits_name, visits)], list[ClimbRow](), 0.0
    for generation in range(len(history) + 1):
        progress(generation, len(history) + 1)
        seconds += seconds_of(history[generation - 1]) if generation else 0.0
        network = run.path(generation, "network.ckpt")
        digest = load_checkpoint(network).digest
        mine = [known.get((digest, player, name)) for player in players for name in classes]
        if not digest or any(
            row is None or row.positions != len(classes[row.position_class]) for row in mine
        ):
            evaluator = load_evaluator(network, game=run.spec.name)
            found = mistakes_of_network(evaluator, run.spec, visits, classes)
        else:
            found = {player: {} for player in players}
            for row in mine:
                assert row is not None
                found[row.player][row.position_class] = row.counted
        minutes = round(seconds * cores / 60, 2)
        rows += [
            ClimbRow(generation, digest, minutes, player, name, each.positions, each.mistakes)
            for player in players
            for name, each in found[player].items()
        ]
        fresh = {(row.digest, row.player, row.position_class) for row in rows}
        write_rows(path, [*rows, *(row for key, row in known.items() if key not in fresh)])
    progress(len(history) + 1, len(history) + 1)
    plot_climb(run.folder / PNG, rows)
    return rows


def write_rows(path: Path, rows: Sequence[ClimbRow]) -> None:
    """Write the CSV file, see `COLUMNS`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        low, high = row.counted.interval
        figures = (f"{number:.4f}" for number in (row.counted.share, low, high))
        writer.writerow(
            [
                *(row.generation, row.digest, row.core_minutes, row.player, row.position_class),
                *(row.positions, row.mistakes, *figures),
            ]
        )
    write_whole(path, text.getvalue())


def read_rows(path: Path) -> list[ClimbRow]:
    """Read the CSV file; none if it does not exist.

    Raises:
        ValueError: it is not such a file.
    """
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [_row(line) for line in csv.DictReader(file, strict=True)]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ValueError(
            f"{path}: expected the columns {', '.join(COLUMNS)}, found another file ({error}); move it away"
        ) from error


def _row(line: Mapping[str, str]) -> ClimbRow:
    return ClimbRow(
        int(line["generation"]),
        line["digest"],
        float(line["core_minutes"]),
        line["player"],
        line["class"],
        int(line["positions"]),
        int(line["mistakes"]),
    )


def plot_climb(path: Path, rows: Sequence[ClimbRow]) -> None:
    """Plot the share of mistakes over core-minutes, one panel for each class, a line for each player."""
    from matplotlib.figure import Figure  # not pyplot: needs no display and keeps no global state

    names = list(dict.fromkeys(row.position_class for row in rows))
    players = list(dict.fromkeys(row.player for row in rows))
    columns = min(3, len(names))
    figure = Figure(figsize=(4.5 * columns, 3.4 * -(-len(names) // columns)), layout="constrained")
    panels: Any = figure.subplots(-(-len(names) // columns), columns, squeeze=False, sharex=True)
    for axis, name in zip(panels.flat, names, strict=False):
        for player in players:
            mine = [row for row in rows if (row.position_class, row.player) == (name, player)]
            x = [row.core_minutes for row in mine]
            low, high = zip(*(row.counted.interval for row in mine), strict=True)
            (line,) = axis.plot(x, [100 * row.counted.share for row in mine], marker=".", label=player)
            axis.fill_between(
                x,
                [100 * each for each in low],
                [100 * each for each in high],
                alpha=0.15,
                color=line.get_color(),
            )
        axis.set(title=name, xlabel="core-minutes", ylabel="mistakes, %", ylim=(0, None))
        axis.grid(alpha=0.3)
    panels.flat[0].legend(fontsize="small")
    for axis in panels.flat[len(names) :]:
        axis.set_visible(False)
    save_figure(path, figure, dpi=110)
