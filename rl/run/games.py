"""The games of a run on disk: its shards, and which of them each generation learns from."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ckai.datasets.files import write_whole
from ckai.datasets.schema import to_numpy
from ckai.rl.run.config import RunConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.shards import GameHeader, Shard, ckai_version


def describe(games: Sequence[GameHeader], config: SelfPlayConfig) -> dict[str, Any]:
    """Summarise the games of a generation, one or more, that were played with some settings.

    Returns:
        `games`, `plies_mean`, results (`black_won`, `drawn`, `white_won`, `unknown`); `adjudicated` games,
        whose result is from a tablebase; `resigned` games; `played_out` games in which a side met the
        resignation threshold but played on to a result, and of these the ones that it did not lose
        (`wrongly`); `pool`, see `pool_scores`, if there are games against past networks.
    """
    results = Counter(game.result for game in games)
    found: dict[str, Any] = {
        "games": len(games),
        "plies_mean": float(np.mean([game.plies for game in games])),
        "black_won": results["1-0"],
        "drawn": results["1/2-1/2"],
        "white_won": results["0-1"],
        "unknown": results["*"],
    }
    if config.tables:
        found["adjudicated"] = sum(game.adjudicated for game in games)
    if config.resign:
        found["resigned"] = sum(game.resigned for game in games)
        lost = {"Black": "0-1", "White": "1-0"}
        played_out = [game for game in games if game.resigner is not None and game.result != "*"]
        found["played_out"] = len(played_out)
        found["wrongly"] = sum(game.result != lost[str(game.resigner)] for game in played_out)
    if scores := pool_scores(games):
        found["pool"] = scores
    return found


def pool_scores(games: Sequence[GameHeader]) -> dict[str, dict[str, int]]:
    """Count the results of newer networks against past ones.

    Returns:
        By number of the past network, the counts `won`, `drawn` and `lost` of the newer one; a game without
        a result is drawn.
    """
    counts: dict[str, dict[str, int]] = {}
    for game in games:
        players = game.black, game.white  # see `player_name`
        black, white = (int(name.rpartition(" ")[2]) for name in players)
        if black != white:
            of = counts.setdefault(str(min(black, white)), {"won": 0, "drawn": 0, "lost": 0})
            won = {"1-0": "won" if black > white else "lost", "0-1": "won" if white > black else "lost"}
            of[won.get(game.result, "drawn")] += 1
    return dict(sorted(counts.items(), key=lambda each: int(each[0])))


OWN = "run"
"""Name of the worker in the run's own process where playing and learning take turns; else before a point."""


class LearnedGames(NamedTuple):
    """What a generation learns from, besides games of those before: `games/NNNN.json`."""

    files: dict[str, int]
    """Games of each shard, by its name."""
    measured: dict[str, Any]
    """What was measured of them, see `describe`."""


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
    def others(self) -> dict[str, Played]:
        """What each worker of another process has played; may be read while shards come."""
        workers = list(self._now.workers.items())
        return {name: played for name, played in workers if name.partition(".")[0] != OWN}

    def look(self) -> list[str]:
        """Read the shards that have come; return a line for each that is left out."""
        warnings, now = [], self._now
        there = {path.name for path in self.folder.glob("[!.]*.parquet")}
        for name in sorted(there - self._known):
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
            q, z = to_numpy(table["q"]).astype(np.float64), to_numpy(table["z"])
            known = to_numpy(table["z"].is_valid())
            now.rows, now.known = now.rows + len(q), now.known + int(known.sum())
            now.squares += float(np.sum((q[known] - z[known]) ** 2))
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
        self._now, self.own = _Waiting(), set()
