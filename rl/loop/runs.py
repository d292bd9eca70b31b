"""Summaries of the self-play runs under a folder: changed settings and progress."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.training.runs import flat_settings
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import RunError
from ckai.rl.loop.report import elo_curve, seconds_of
from ckai.rl.loop.run import Run


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run, finished or not."""

    path: Path
    changed: dict[str, Any]
    """Settings that differ from the defaults of the game, by dotted name; `game` too if not checkers."""
    status: str
    """`running`, `finished` or `unfinished`, see `RunFolder.status`."""
    generations: int
    """Finished generations."""
    target: int
    """Generations that the run was last asked for."""
    games: int
    """Self-play games of the finished generations."""
    accepted: int
    """Generations whose network was accepted."""
    elo: float | None
    """Sum of the Elo differences of the accepted networks' gate matches; None without matches."""
    seconds: float
    """Seconds spent on self-play, training and gate matches."""
    last: dict[str, Any]
    """Measurements of the last finished generation; empty if there is none."""


def find_selfplay(folder: Path) -> list[RunSummary]:
    """Find all self-play runs under a folder, sorted by path; runs that cannot be read are skipped."""
    runs = []
    for config in sorted(folder.rglob("config.json")):
        if not (config.parent / "gen_0000").is_dir():
            continue
        try:
            runs.append(_summary(Run.open(config.parent)))
        except RunError:  # from another version
            continue
    return runs


def _summary(run: Run) -> RunSummary:
    history = run.history()
    matches = [measured["match"] for measured in history if measured["match"]["games"]]
    usual = RunConfig.defaults_for(run.config.game)
    settings, defaults = (flat_settings(asdict(config)) for config in (run.config, usual))
    defaults["game"] = DEFAULT_GAME_NAME
    return RunSummary(
        path=run.folder,
        changed={name: value for name, value in settings.items() if value != defaults[name]},
        status=run.status,
        generations=len(history),
        target=run.target,
        games=sum(measured["selfplay"]["games"] for measured in history),
        accepted=sum(bool(measured["accepted"]) for measured in history),
        elo=elo_curve(history)[-1] if matches else None,
        seconds=sum(map(seconds_of, history)),
        last=history[-1] if history else {},
    )
