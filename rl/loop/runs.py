"""Reads self-play runs, also while another process works on them: summaries, progress, games."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import files_in
from ckai.models.training.runs import flat_settings
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import RunError, RunFolder
from ckai.rl.loop.report import elo_curve, seconds_of
from ckai.rl.selfplay.shards import games_so_far


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
    for config in files_in(folder, "**/config.json"):
        if not (config.parent / "gen_0000").is_dir():
            continue
        try:
            runs.append(_summary(RunFolder.open(config.parent)))
        except RunError:  # from another version
            continue
    return runs


def _summary(run: RunFolder) -> RunSummary:
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


class Progress(NamedTuple):
    """Where a run is."""

    text: str
    """In words: `generation 4 of 10: 310 of 500 games played`."""
    generation: int
    """The newest generation of which there are games; 0: none."""


def progress_of(run: RunFolder) -> Progress:
    """Return where a run is.

    Raises:
        RunError: its files cannot be read.
    """
    done, target = run.generations, run.target
    newest = max((n for n in (done, done + 1, done + 2) if n and _has_games(run, n)), default=0)
    if run.status != "running" or done >= target:
        return Progress(f"{done} of {target} generations", newest)
    n = done + 1
    begun = f"generation {n} of {target}"
    if not run.path(n, "selfplay.json").exists():
        played = len(games_so_far(run.path(n, "shards")))
        return Progress(f"{begun}: {played:,} of {run.config.games:,} games played", newest)
    if not run.path(n, "candidate.ckpt").exists():
        return Progress(f"{begun}: training", newest)
    played = 0
    with suppress(OSError, ValueError):
        played = run.path(n, "match.part.pdn").read_text(encoding="utf-8").count("[Round ")
    return Progress(f"{begun}: gate match, {played:,} of {run.config.gate.games:,} games saved", newest)


def _has_games(run: RunFolder, n: int) -> bool:
    return run.path(n, "games.pdn").exists() or bool(files_in(run.path(n, "shards"), "*.parquet"))


def generation_games(run: RunFolder, n: int) -> list[str]:
    """Return the games of a generation as texts in the form of PDN, those that have ended so far.

    Raises:
        OSError: the file cannot be read.
    """
    path = run.path(n, "games.pdn")
    if not path.exists():
        found = games_so_far(run.path(n, "shards"))
        return [found[number] for number in sorted(found)]
    return split_games(path.read_text(encoding="utf-8"))


def split_games(text: str) -> list[str]:
    """Return the games of a text that ckai wrote, each with its tags."""
    parts = text.strip().split("\n\n[")
    return [part if n == 0 else f"[{part}" for n, part in enumerate(parts) if part.strip()]


def newest_files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return name, time and size of the files of a run that change while it goes on."""
    generations = sorted(folder.glob("gen_*"))[-2:]
    places = [folder, *generations, *(each / "shards" for each in generations)]
    found = []
    for place in places:
        with suppress(OSError):
            for path in place.iterdir():
                with suppress(OSError):
                    if path.is_file():
                        status = path.stat()
                        found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))
