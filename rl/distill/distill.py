"""Distillation: rows labelled by a network, its policy in place of visits and its value in place of q.

Hinton et al. 2015, with the logits' softmax at temperature 1. Rows come from walks that begin in positions of
other rows or in openings; or from games of alpha-beta against itself, as the networks of chess and shogi
programs are trained (NNUE). They are written in shards, so that a killed run continues where it was, and put
together at the end, each position of the games once; a walk or game depends on the seed and its number alone.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import locked, refuse_to_replace, remove_temporaries, whole_file, write_whole
from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError, check_rows_path, from_numpy, table_writer
from ckai.datasets.split import position_keys, seed_stream
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator, non_finite_error, pack_rows
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import run_all, use_one_torch_thread
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.distill.config import DistillConfig
from ckai.rl.distill.kernels import STREAM, Walks, arrive, play_game, step_walks
from ckai.rl.games.checkers import states_of
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.selfplay.recording import FINISHED, IDLE, PLAYING, begin_record, make_records
from ckai.rl.selfplay.shards import FinishedGame, copy_game, to_table, write_parquet

IN_FLIGHT = 1024
"""Walks at the same time, over all threads."""
ENTRIES = 1 << 14
"""Size of the table of the searches of a game."""
MAX_PLIES = 300
"""Longest game of alpha-beta, in rows."""


def starting_states(paths: Sequence[str | Path]) -> NDArray[np.int64]:
    """Return the states of rows, `[N, 2]`, without games that `ckai pretrain` holds out by default."""
    data = RowsDataModule(paths, need_both_sides=False)
    if not data.train_rows:
        raise DatasetError(f"expected rows to begin in, found none in {', '.join(map(str, paths))}")
    return np.concatenate([states_of(pack_rows(rows)) for rows in data.blocks("train")])


class _Group:
    """The walks or games of one thread: `size` at a time."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: DistillConfig,
        rules: Any,
        starts: Sequence[NDArray[np.int64]],
        size: int,
    ) -> None:
        """Allocate records; `starts` has the states of openings, and then of rows, if any."""
        self.evaluator, self.config, self.game, self.starts = evaluator, config, rules, starts
        self.records = make_records(rules, size, MAX_PLIES if config.nodes else config.plies)
        self.walks = Walks(
            np.zeros((size, rules.STATE_WORDS), np.int64),
            np.zeros(size, STREAM),
            np.zeros((size, rules.POSITION_BYTES), np.int8),
        )
        self.search: AlphaBetaSearch | None = None
        if isinstance(evaluator, IntegerEvaluator) and config.nodes:
            self.search = AlphaBetaSearch(evaluator, game=rules, entries=ENTRIES)

    def begin(self, t: int, number: int) -> None:
        """Begin walk `number` as record `t`, or play game `number`, with random numbers of its own."""
        config, search, stream = self.config, self.search, self.walks.streams[t : t + 1]
        rng = np.random.default_rng(seed_stream(config.seed, number))
        source, *of_rows = self.starts
        if of_rows and rng.random() >= config.opening_share:
            (source,) = of_rows
        state = tuple(np.int64(word) for word in source[int(rng.integers(len(source)))])
        stream["rng"] = np.uint64(rng.integers(1 << 63))
        begin_record(self.records, t, number)
        if search is None:
            arrive(self.game, self.walks, self.records, t, state)
            return
        search.forget()
        plies = 0 if config.explore else int(rng.integers(config.plies + 1))
        tools = search.game, search.evaluation, search.constants, search.memory, self.records
        play_game(*tools, stream, state, np.int64(plies), config.explore, config.plies, config.nodes)

    def play(self, numbers: range, stop: threading.Event) -> Iterator[FinishedGame]:
        """Yield the walks or games that have a row, until `stop` is set."""
        records, walks, size = self.records, self.walks, len(self.walks.states)
        logits, values = np.zeros((size, self.game.NUM_ACTIONS), np.float32), np.zeros(size, np.float32)
        rules = self.config.explore, self.config.plies
        for first in range(0, len(numbers), size):
            records.games["status"] = IDLE
            for t, number in enumerate(numbers[first : first + size]):
                self.begin(t, number)
            while not stop.is_set() and (records.games["status"] == PLAYING).any():
                self.evaluator.evaluate(walks.boards, logits, values)
                if not step_walks(self.game, walks, records, *rules, logits, values):
                    raise non_finite_error(self.evaluator)
            if stop.is_set():
                return
            for t in np.flatnonzero(records.games["status"] == FINISHED).tolist():
                if records.games[t]["rows"]:
                    yield copy_game(records, t)


def distill(
    evaluator: Evaluator,
    output: str | Path,
    config: DistillConfig | None = None,
    *,
    teacher: str = "",
    data: Sequence[str | Path] = (),
    threads: int = 1,
    force: bool = False,
    progress: Callable[[int], None] = lambda positions: None,
) -> int:
    """Label positions with a network and write them as rows; after a kill the same call continues.

    The shards are in a folder next to the output (`distilled.shards/`) and removed at the end.

    Args:
        evaluator: the teacher; called by several threads.
        output: the Parquet file to write.
        config: the settings; None: the defaults.
        teacher: identifies the teacher, such as its digest: shards of another one are refused.
        data: rows whose positions walks begin in; empty: they begin in openings.
        threads: threads that walk at the same time.
        force: replace the output, and drop what an interrupted call with other settings left.
        progress: called after each shard with the positions so far, those of earlier calls included.

    Returns:
        The rows of the output.

    Raises:
        ValueError: the output is not named as rows are, or no position can be walked from, or the teacher's
            outputs are not finite.
        FileExistsError: the output exists, or shards of other settings.
        DatasetError: `data` cannot be used.
        LockedError: another process writes this output.
    """
    output, config = Path(output), config or DistillConfig()
    check_rows_path(output)
    if config.nodes and not isinstance(evaluator, IntegerEvaluator):
        raise ValueError(f"expected an integer network to search with, found {evaluator.name}")
    folder = output.with_suffix(".shards")
    refuse_to_replace(output, force)
    files = [RowFile(Path(path)).fingerprint() for path in data]
    settings = json.dumps({**asdict(config), "teacher": teacher, "data": files}, indent=2) + "\n"
    with locked(folder / ".lock"):
        remove_temporaries(folder)
        path = folder / "config.json"
        if path.exists() and path.read_text(encoding="utf-8") != settings:
            if not force:
                raise FileExistsError(
                    f"{folder}: shards of another teacher or other settings; give --force to drop them, or "
                    "another -o"
                )
            for left in (*folder.glob("*.parquet"), path):  # the settings last
                left.unlink()
        write_whole(path, settings)
        _write_shards(evaluator, folder, config, data, threads, progress)
        rows = _merge(folder, output, config)
    shutil.rmtree(folder)
    return rows


def _write_shards(
    evaluator: Evaluator,
    folder: Path,
    config: DistillConfig,
    data: Sequence[str | Path],
    threads: int,
    progress: Callable[[int], None],
) -> None:
    """Write shards until there are enough positions; those that are there already count."""
    tables = Tables.open(config.tables) if config.tables else None
    rules = DEFAULT_GAME.make_rules(tables)
    starts = [np.array([DEFAULT_GAME.state(position) for position in DEFAULT_GAME.openings()], np.int64)]
    if data:
        starts.append(starting_states(data))
    lock, stop = threading.Lock(), threading.Event()
    sizes = {int(path.stem): pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")}
    numbers = count()

    def take() -> int | None:
        """The number of the next shard to write, or None once the first ones have enough positions."""
        with lock:
            for number in numbers:
                if stop.is_set() or sum(sizes.get(n, 0) for n in range(number)) >= config.positions:
                    return None
                if number not in sizes:
                    return number
        return None

    def work() -> None:
        use_one_torch_thread()
        size = 1 if config.nodes else min(max(1, IN_FLIGHT // threads), config.shard_walks)
        group = _Group(evaluator, config, rules, starts, size)
        while (shard := take()) is not None:
            first = shard * config.shard_walks
            games = list(group.play(range(first, first + config.shard_walks), stop))
            if stop.is_set():
                return
            if not games:
                raise ValueError(
                    f"expected positions to walk from, found none in {config.shard_walks:,} walks: they "
                    "are over or in the tablebases; give other --data, or --setting tables or opening_share"
                )
            table = to_table(games)
            with whole_file(folder / f"{shard:09d}.parquet") as file:
                write_parquet(table, file)
            with lock:
                sizes[shard] = table.num_rows
                progress(sum(sizes.values()))

    run_all([work] * threads, stop, name="walks")


def _merge(folder: Path, output: Path, config: DistillConfig) -> int:
    """Put the first shards with enough positions together, in order, and return the number of rows."""
    paths, total, written = list[Path](), 0, 0
    for path in sorted(folder.glob("*.parquet")):
        if total < config.positions:  # several threads may write more than are needed
            paths.append(path)
            total += pq.read_metadata(path).num_rows
    kept = _first_of_each(paths) if config.nodes else None
    with table_writer(output, DEFAULT_GAME.schema) as write:
        for path in paths:
            table = pq.read_table(path, page_checksum_verification=True).cast(DEFAULT_GAME.schema)
            if kept is not None:
                here, kept = kept[: len(table)], kept[len(table) :]
                table = table.filter(from_numpy(here))
            write(table)
            written += table.num_rows
    return written


def _first_of_each(paths: Sequence[Path]) -> NDArray[np.bool_]:
    """Return, for each row of some shards, whether no row before it has the same board."""
    hashes = []
    for path in paths:
        boards = pq.read_table(path, columns=["board"])["board"].combine_chunks()
        boards = boards.values.to_numpy().reshape(len(boards), -1)
        hashes.append(position_keys(boards, np.full(len(boards), -1, np.int8)))
    found = np.concatenate(hashes)
    kept = np.zeros(len(found), np.bool_)
    kept[np.unique(found, return_index=True)[1]] = True
    return kept
