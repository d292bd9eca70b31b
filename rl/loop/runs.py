"""The runs of self-play under a folder side by side: what each was changed, and how far it came."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckai.models.training.runs import flat_settings
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import RunError
from ckai.rl.loop.report import elo_curve, seconds_of
from ckai.rl.loop.run import Run


@dataclass(frozen=True)
class RunSummary:
    """One run, whether it ended or not."""

    path: Path
    changed: dict[str, Any]
    """Settings that differ from the defaults, by their dotted names."""
    generations: int
    games: int
    """Of self-play, in the generations that are over."""
    accepted: int
    """Generations whose network was taken."""
    elo: float | None
    """Sum of the Elo differences of the matches that networks were taken after; None without matches."""
    seconds: float
    """Of play, learning and matches."""
    last: dict[str, Any]
    """What was measured in the last generation, empty if there is none."""


def find_selfplay(folder: Path) -> list[RunSummary]:
    """All runs of self-play under a folder, by name; folders that hold something else are passed over."""
    found = []
    for config in sorted(folder.rglob("config.json")):
        if not (config.parent / "gen_0000").is_dir():
            continue
        try:
            found.append(_summary(Run.open(config.parent)))
        except RunError:  # of another version
            continue
    return found


def _summary(run: Run) -> RunSummary:
    history = run.history()
    matches = [measured["match"] for measured in history if measured["match"]["games"]]
    settings, defaults = (flat_settings(asdict(config)) for config in (run.config, RunConfig()))
    return RunSummary(
        path=run.folder,
        changed={name: value for name, value in settings.items() if value != defaults[name]},
        generations=len(history),
        games=sum(measured["selfplay"]["games"] for measured in history),
        accepted=sum(bool(measured["accepted"]) for measured in history),
        elo=elo_curve(history)[-1] if matches else None,
        seconds=sum(map(seconds_of, history)),
        last=history[-1] if history else {},
    )
