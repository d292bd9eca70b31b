"""The games of a run on disk: its shards, and which of them each generation learns from."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ckai.datasets.files import write_whole
from ckai.datasets.schema import to_numpy
from ckai.rl.run.config import RunConfig
from ckai.rl.run.report import describe
from ckai.rl.selfplay.rows import GameHeader
from ckai.rl.selfplay.shards import Shard, ckai_version

OWN = "run"
"""Name of the worker in the run's own process where playing and learning take turns; else before a point."""


class LearnedGames(NamedTuple):
    """What a generation learns from, besides games of those before: `games/NNNN.json`."""

    files: dict[str, int]
    """Games of each shard, by its name."""
    measured: dict[str, Any]
    """What was measured of them, see `describe`."""


def shard_names(folder: Path) -> set[str]:
    """Return the names of the files in a folder that are named as shards."""
    with suppress(FileNotFoundError):
        return {name for name in os.listdir(folder) if name.endswith(".parquet") and name[0] != "."}
    return set()


@dataclass
class Played:
    """What a worker has played for a generation."""

    games: int = 0
    evaluations: int = 0
    seconds: float = 0.0


@dataclass
class _Waiting:
    files: dict[str, int] = field(default_factory=dict)
    headers: list[GameHeader] = field(default_factory=list)
    workers: dict[str, Played] = field(default_factory=dict)
    refused: int = 0
    rows: int = 0
    known: int = 0
    """Rows with a result."""
    squares: float = 0.0
    """Sum of the squared errors of q against z in them."""

    def add(self, table: pa.Table) -> None:
        """Count rows of self-play."""
        q, z = to_numpy(table["q"]).astype(np.float64), to_numpy(table["z"])
        known = to_numpy(table["z"].is_valid())
        self.rows, self.known = self.rows + len(q), self.known + int(known.sum())
        self.squares += float(np.sum((q[known] - z[known]) ** 2))


class NewGames:
    """The games that no generation has learned from yet, each once, as shards come.

    Shards that are damaged, or of another version or configuration, are left alone and warned of.
    """

    def __init__(self, folder: Path, schema: pa.Schema, config: RunConfig, learned: set[str]) -> None:
        """Begin; nothing is read yet. `learned` names the shards that generations have learned from."""
        self.folder, self._schema, self._settings, self._known = folder, schema, config.hash(), set(learned)
        self._config, self._seen = config, set[tuple[str, int]]()
        self._now = _Waiting()
        self.own = set[int]()
        """Numbers of the games of `OWN`."""

    @property
    def count(self) -> int:
        """Number of games."""
        return len(self._now.headers)

    @property
    def workers(self) -> dict[str, Played]:
        """What each worker has played, by its name."""
        return self._now.workers

    @property
    def others(self) -> dict[str, Played]:
        """What each worker of another process has played; may be read while shards come."""
        return {name: played for name, played in list(self.workers.items()) if not is_own(name)}

    def look(self) -> list[str]:
        """Read the shards that have come; return a line for each that is left out."""
        warnings, now = [], self._now
        for name in sorted(shard_names(self.folder) - self._known):
            path = self.folder / name
            if not path.is_file():
                continue
            self._known.add(name)
            try:
                shard, table = Shard.read_rows(path, self._schema)
                self._check(shard)
            except ValueError as error:
                now.refused += 1
                warnings.append(f"{path}: left out: {error}")
                continue
            keys = [(shard.worker, header.game) for header in shard.games]
            new = [header for key, header in zip(keys, shard.games, strict=True) if key not in self._seen]
            if not new:
                continue
            self._seen.update(keys)
            now.files[name] = len(new)
            now.headers += new
            now.add(table)
            played = now.workers.setdefault(shard.worker, Played())
            played.games += len(new)
            played.evaluations += shard.evaluations
            played.seconds += shard.seconds
            if shard.worker == OWN:
                self.own |= {header.game for header in new}
        return warnings

    def _check(self, shard: Shard) -> None:
        for what, found, expected in (
            ("ckai", shard.version, ckai_version()),
            ("the settings", shard.settings, self._settings),
        ):
            if found != expected:
                raise ValueError(f"expected {what} {expected}, found {found or 'none'} of {shard.worker}")

    def learn(self, path: Path, **more: Any) -> None:
        """Give the games that are there to a generation: write `LearnedGames`, with more measurements."""
        now = self._now
        measured = describe(now.headers, self._config.selfplay)
        seconds = max((played.seconds for played in now.workers.values()), default=0.0)
        evaluations = sum(played.evaluations for played in now.workers.values())
        measured |= {
            "rows": now.rows,
            "q_z_mse": now.squares / now.known if now.known else None,
            "seconds": round(seconds, 3),
            "evaluations_per_second": round(evaluations / max(seconds, 1e-9), 1),
        }
        others = {name: played.games for name, played in self.others.items()}
        if others or now.refused:
            measured["workers"] = {
                "count": len(others),
                "games": sum(others.values()),
                "refused": now.refused,
                "by_worker": others,
            }
        files = dict(sorted(now.files.items()))
        write_whole(path, json.dumps(LearnedGames(files, {**measured, **more})._asdict()) + "\n")
        self._now = _Waiting()
        self.own = set()


def is_own(worker: str) -> bool:
    """Return whether a worker is one of the run's own process."""
    return worker.partition(".")[0] == OWN


class ListedGame(NamedTuple):
    """A game of a run, and where it is."""

    path: Path
    place: int
    """In the shard."""
    header: GameHeader


def listed_games(folder: Path, names: list[str]) -> Iterator[ListedGame]:
    """Yield the games of shards; those that cannot be read are left out."""
    for name in names:
        with suppress(ValueError):
            for place, header in enumerate(Shard.read(folder / name).games):
                yield ListedGame(folder / name, place, header)
