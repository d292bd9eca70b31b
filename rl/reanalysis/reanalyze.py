"""Reanalysis of a row file: some of its rows get the targets of new searches, in a file of their own.

The rows are searched in shards, each by one thread from an empty batch, so that a shard is the same whichever
others there are already: a killed reanalysis goes on where it was and leaves the same bytes.
"""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.files import first_line, locked, remove_temporaries, write_whole
from ckai.datasets.reader import RowFile, check_dataset, read_rows
from ckai.datasets.rows import Rows
from ckai.datasets.schema import DatasetError
from ckai.datasets.tables import Tables
from ckai.models.inference.devices import use_one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.spec import GameSpec
from ckai.rl.reanalysis.replay import Replay, replay
from ckai.rl.reanalysis.searching import PositionSearches, visits_of
from ckai.rl.reanalysis.targets import (
    Reanalysis,
    ReanalysisError,
    read_new_targets,
    shard_of,
    write_rows,
)
from ckai.rl.search.threads import run_all
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.setup import search_rules
from ckai.rl.selfplay.shards import read_table, write_table

if TYPE_CHECKING:
    from ckai.rl.selfplay.config import SelfPlayConfig

SHARD_ROWS = 2048
"""Most rows of a shard: many times the searches of a thread, as its last batches are smaller."""


@dataclass
class ReanalysisCounts(SelfPlayCounts):
    """Progress of a reanalysis: `rows` are the positions searched."""

    kept: int = 0
    """Rows searched in earlier calls."""


def drawn_rows(path: Path, share: float, seed: int) -> NDArray[np.int64]:
    """Draw the rows of a file to reanalyze, each with probability `share`; return their indices, ascending.

    Args:
        path: the file.
        share: probability of each row, [0, 1].
        seed: seed of the choice.

    Raises:
        DatasetError: the file cannot be read.
    """
    check_dataset(path)
    try:
        count = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error
    return np.flatnonzero(np.random.default_rng(seed).random(count) < share)


def _damaged(path: Path, error: Exception) -> DatasetError:
    return DatasetError(f"{path}: expected rows, found a damaged file ({first_line(error)})")


def settings_of(config: "SelfPlayConfig", share: float, seed: int, network: str) -> dict[str, Any]:
    """Return the settings of a reanalysis as plain data, which tell its files from others.

    Args:
        config: the settings of the searches.
        share, seed: see `drawn_rows`.
        network: identifies the network that searches.
    """
    return {"network": network, "visits": config.sims, "share": share, "seed": seed}


def reanalyze(
    source: Path,
    output: Path,
    evaluator: Evaluator,
    config: "SelfPlayConfig",
    *,
    spec: GameSpec,
    folder: Path,
    share: float = 1.0,
    seed: int = 0,
    network: str = "",
    counts: ReanalysisCounts | None = None,
    on_shard: Callable[[], None] = lambda: None,
    warn: Callable[[str], None] = lambda line: None,
    stop: threading.Event | None = None,
) -> Reanalysis | None:
    """Search some positions of a row file again, and write the rows with the new targets.

    The visit counts, q and the policy KL of these rows are those of a full search of self-play with
    `config.sims` visits, in an empty tree and without noise at the root; everything else stays. Rows whose
    games cannot be recreated stay as they are.

    Args:
        source: rows of self-play; not changed.
        output: the file to write; replaced if it exists.
        evaluator: evaluates the leaves; called by several threads.
        config: settings of the searches: visits, rule at the root, tables, threads, searches at once.
        spec: the game.
        folder: where to keep the shards until the end; those of other settings are dropped.
        share: share of the rows, see `drawn_rows`.
        seed: seed of their choice.
        network: identifies the network of `evaluator`.
        counts: progress, increased during the call.
        on_shard: called after each shard.
        warn: called with one line for each damaged shard, which is set aside and made again.
        stop: event for an early end; the shards stay.

    Returns:
        What was done; None after an early end.

    Raises:
        DatasetError: `source` cannot be used.
        LockedError: another process works in `folder`.
        TableError: there are no tablebases of `config.tables` pieces.
        ValueError: see `Searches.search`.
    """
    counts, stop = counts or ReanalysisCounts(), stop or threading.Event()
    settings = settings_of(config, share, seed, network)
    rows = read_rows(source, game=spec.name)
    if rows.visits is None:
        raise DatasetError(f"{source}: expected rows of self-play, found rows without searches")
    try:
        table = read_table(source)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(source, error) from error
    replayed = replay(rows, table["hop"].to_numpy(), search_rules(config, spec), spec)
    drawn = drawn_rows(source, share, seed)
    exact = drawn[replayed.exact[drawn]]
    with locked(folder / ".lock"):
        remove_temporaries(folder)
        size = max(1, min(SHARD_ROWS, -(-len(exact) // config.group_count)))
        fingerprint = RowFile(source, spec.name).fingerprint()
        _drop_others(folder, {**settings, "searches": asdict(config), "source": fingerprint, "rows": size})
        parts = [exact[start : start + size] for start in range(0, len(exact), size)]
        work = _Work(evaluator, config, spec, rows, replayed, parts, folder, seed, counts, on_shard, warn)
        work.run(stop)
        if stop.is_set():
            return None
        shards = [read_new_targets(work.path(n), part) for n, part in enumerate(parts)]
    left_games = len(np.unique(rows.game[~replayed.exact]))
    measured = write_rows(output, table, shards, settings, len(drawn) - len(exact), left_games)
    shutil.rmtree(folder)
    return measured


def _drop_others(folder: Path, settings: dict[str, Any]) -> None:
    """Remove the shards of other settings."""
    path, text = folder / "config.json", json.dumps(settings, indent=2) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        for shard in folder.glob("*.parquet"):
            shard.unlink()
        write_whole(path, text)


class _Work:
    """The shards of a reanalysis, and the threads that write them."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: "SelfPlayConfig",
        spec: GameSpec,
        rows: Rows,
        replayed: Replay,
        parts: list[NDArray[np.int64]],
        folder: Path,
        seed: int,
        counts: ReanalysisCounts,
        on_shard: Callable[[], None],
        warn: Callable[[str], None],
    ) -> None:
        """Find the shards that are there.

        Args:
            evaluator, config, spec, folder, seed, counts, on_shard, warn: see `reanalyze`.
            rows: the rows.
            replayed: their games.
            parts: indices of the rows of each shard.
        """
        self.evaluator, self.config, self.spec, self.seed = evaluator, config, spec, seed
        self.rows, self.replayed, self.parts, self.folder = rows, replayed, parts, folder
        self.counts, self.on_shard, self.lock = counts, on_shard, threading.Lock()
        self.tables = Tables.open(config.tables) if config.tables else None
        missing = []
        for n, part in enumerate(parts):
            try:
                if self.path(n).exists():
                    read_new_targets(self.path(n), part)
                    counts.rows += len(part)
                    counts.kept += len(part)
                    continue
            except ReanalysisError as error:
                self.path(n).replace(self.path(n).with_suffix(".damaged"))
                warn(f"{error}; set aside, searching its rows again")
            missing.append(n)
        self.waiting = iter(missing)

    def path(self, n: int) -> Path:
        """Return the file of a shard."""
        return self.folder / f"{n:06d}.parquet"

    def run(self, stop: threading.Event) -> None:
        """Write the missing shards; ends early if `stop` is set.

        Raises:
            Exception: the first that a thread raised.
        """

        def work() -> None:
            use_one_torch_thread()
            while not stop.is_set():
                with self.lock:
                    n = next(self.waiting, None)
                if n is None:
                    return
                self._search(n, stop)

        run_all([work] * min(self.config.group_count, len(self.parts)), stop, name="reanalysis")

    def _search(self, n: int, stop: threading.Event) -> None:
        """Write shard `n`, unless `stop` is set."""
        part = self.parts[n]
        trees = min(self.config.group_size, len(part))
        searches = PositionSearches(self.evaluator, self.config, self.spec, self.tables, trees, self.seed)
        found = searches.run(self.replayed, part, self.counts, stop)
        if stop.is_set():
            return
        shard = shard_of(self.rows.take(part), part, found.q, found.policy_kl, visits_of(found))
        write_table(shard, self.path(n))
        with self.lock:
            self.on_shard()
