"""Reads self-play runs, also while another process works on them: summaries, progress, games."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import save_figure
from ckai.datasets.settings import flat_settings
from ckai.rl.run.config import RunConfig
from ckai.rl.run.dashboard import STAGES, elo_curve, metrics
from ckai.rl.run.run import Run, RunError


def find_selfplay(folder: Path) -> list[dict[str, Any]]:
    """Summarise all self-play runs under a folder, sorted by path; runs that cannot be read are skipped.

    Returns:
        Of each its `path`; `changed`, the settings that differ from the defaults of the game, by dotted name,
        and `game` if it is not checkers; `status`, see `Run.status`; of its finished `generations` the number
        of `games`, of networks `accepted`, the `elo`, see `elo_curve`, None without matches, the `seconds` of
        all stages, and the `last` measurements, empty without any; `target`, see `Run.target`.
    """
    runs = []
    for config in sorted(folder.glob("**/config.json")):
        if (config.parent / "networks").is_dir():
            with suppress(RunError):  # from another version
                runs.append(_summary(Run.open(config.parent)))
    return runs


def _summary(run: Run) -> dict[str, Any]:
    history = run.history()
    usual = RunConfig.defaults_for(run.config.game)
    settings, defaults = (flat_settings(asdict(config)) for config in (run.config, usual))
    defaults["game"] = DEFAULT_GAME_NAME
    return {
        "path": run.folder,
        "changed": {name: value for name, value in settings.items() if value != defaults[name]},
        "status": run.status,
        "generations": len(history),
        "target": run.target,
        "games": sum(measured["selfplay"]["games"] for measured in history),
        "accepted": sum(bool(measured["accepted"]) for measured in history),
        "elo": elo_curve(history)[-1] if any(each["match"]["games"] for each in history) else None,
        "seconds": sum(each[stage].get("seconds", 0.0) for each in history for stage in STAGES),
        "last": history[-1] if history else {},
    }


CURVES = {
    "elo": "Elo above the first network, sum of the matches",
    "heldout_policy_loss": "policy loss against the action played, held out",
    "heldout_value_mse": "value: squared error against the result, held out",
    "plies_mean": "plies of a game",
}
"""Columns that `plot_runs` draws, with titles."""


def plot_runs(path: Path, runs: Sequence[Run]) -> None:
    """Plot runs by generation: of those that differ in the seed alone, the mean and its 95 % interval.

    The interval is Student's, over the seeds; a single run is a line alone.
    """
    import pandas as pd  # takes half a second, as the next one does
    from matplotlib.figure import Figure

    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(replace(run.config, seed=0).hash(), []).append(run)
    figure = Figure(figsize=(12, 8), layout="constrained")
    for axis, (column, title) in zip(figure.subplots(2, 2).flat, CURVES.items(), strict=True):
        for of in groups.values():
            rows = [row for run in of for row in metrics(run.history())]
            frame = pd.DataFrame(rows, columns=["generation", column]).astype(float)
            values = frame.groupby("generation")[column]
            mean = values.mean()
            half = values.sem().fillna(0.0) * [t95(max(1, n - 1)) for n in values.count()]
            name = of[0].folder.name + (f" and {len(of) - 1} more" if len(of) > 1 else "")
            (drawn,) = axis.plot(mean.index, mean, marker="o", label=name)
            axis.fill_between(mean.index, mean - half, mean + half, alpha=0.2, color=drawn.get_color())
        axis.set(title=title, xlabel="generation")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend(fontsize="small")
    save_figure(path, figure, dpi=110)


def t95(degrees: int) -> float:
    """Return the quantile 0.975 of Student's distribution, to one percent."""
    exact = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
    return exact[degrees - 1] if degrees <= len(exact) else 1.96 + 2.6 / degrees


def unfinished_run(runs: Path = Path("runs")) -> Run | None:
    """Return the last of the runs `runs/run-001`, `runs/run-002`, ..., if it is unfinished."""
    folders = [runs / f"run-{number:03d}" for number in sorted(_numbers(runs), reverse=True)]
    newest = next(filter(Run.exists, folders), None)
    with suppress(RunError):  # of another version
        if newest is not None and (run := Run.open(newest)).status == "unfinished":
            return run
    return None


def fresh_folder(runs: Path = Path("runs")) -> Path:
    """Return the folder after the last of `runs/run-001`, `runs/run-002`, ..."""
    return runs / f"run-{max(_numbers(runs), default=0) + 1:03d}"


def _numbers(runs: Path) -> list[int]:
    """Numbers of the folders `run-NNN`."""
    names = [path.name.removeprefix("run-") for path in runs.glob("run-*")]
    return [int(name) for name in names if name.isdecimal()]
