"""The progress of a run of self-play, read from its files while another process works on it."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ckai.rl.loop.folder import RunFolder
from ckai.rl.selfplay.shards import games_so_far


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
    return run.path(n, "games.pdn").exists() or any(run.path(n, "shards").glob("*.parquet"))


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
