"""Read row files, a row group at a time straight into numpy; a kernel checks every row. What is in them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import file_digest, first_line
from ckai.datasets.rows import Rows, Visits, concatenate
from ckai.datasets.schema import (
    EXPERT_SCHEMA,
    SEARCH_COLUMNS,
    SHARD_KEY,
    DatasetError,
    check_schema,
    game_of,
    is_headers_path,
    shard_of,
    to_numpy,
)
from ckai.datasets.split import position_keys
from ckai.game.jit import kernel
from ckai.game.kernels import read_board, write_legal
from ckai.pdn.reader import UNKNOWN_Z

Key: TypeAlias = tuple[int, int, int]
"""(game, ply, hop): rows are sorted by it, and each is there once."""

_ROUNDING: Final = 1e-4
"""How far a q may be outside [-1, 1]."""

_FAULTS: Final = (
    ("", ""),
    ("key", "a row after the one before by (game, ply, hop)"),
    ("z", "a z of -1, 0 or 1"),
    ("q", "a q in [-1, 1]"),
    ("quiet", "quiet >= 0"),
    ("board", "a board of -3, -1, 0, 1 and 3"),
    ("jumper", "a jumper from -1 to 31 that is one of the mover's pieces"),
    ("legal", "the legal actions of the position"),
    ("label", "a legal label of"),
    ("visits", "visits of the legal actions"),
)
"""Column and what is expected of it, by the number that `_first_fault` returns."""
_, _ORDER, _Z, _Q, _QUIET, _BOARD, _JUMPER, _LEGAL, _LABEL, _VISITS = range(len(_FAULTS))
_RESULTS = {"black": 1, "white": -1, "drawn": 0, "unknown": UNKNOWN_Z}
"""By name, the value of `z` for Black."""


class RowFile:
    """One Parquet file of rows. Iterating over it reads and checks its row groups, one `Rows` each.

    Attributes:
        path: its path.
        rows: number of rows, at least 1.
        selfplay: whether it has `q` and `visits`.
        shard: what a shard of self-play says of its games, see `ckai.datasets.schema.shard_of`, else None.
        repeated: numbers of games that iterating leaves out.
        game: name of the game its rows are of.
        schema: of its rows.

    Raises:
        DatasetError: on construction, if it is missing, cut short, empty, or not of this row format; when
            rows are read, if data are damaged, or there are rows that cannot be.
    """

    def __init__(self, path: str | Path, game: str | None = DEFAULT_GAME_NAME) -> None:
        """Open and check a file; its rows must be of `game`, None: of any."""
        self.path = Path(path)
        self._file = _open(self.path)
        schema = self._file.schema_arrow
        self.game = game or game_of(schema)
        self.selfplay = check_schema(self.path, schema, self.game)
        self.schema = schema.with_metadata({k: v for k, v in schema.metadata.items() if k != SHARD_KEY})
        self.rows = self._file.metadata.num_rows
        if not self.rows:
            raise DatasetError(f"{self.path}: expected rows, found none")
        self.repeated = set[int]()
        try:
            self.shard = shard_of(schema.metadata)
        except ValueError as error:
            raise DatasetError(f"{self.path}: damaged data ({first_line(error)})") from error

    def fingerprint(self) -> str:
        """A hash of the file's bytes, 16 hexadecimal digits: unchanged if the file is moved."""
        return file_digest(self.path)[:16]

    def __iter__(self) -> Iterator[Rows]:
        first, before = 0, (-1, -1, -1)
        names = EXPERT_SCHEMA.names
        for columns in self._columns(names + (SEARCH_COLUMNS if self.selfplay else [])):
            wide = {
                "board": to_numpy(columns["board"].flatten()).reshape(-1, columns["board"].type.list_size),
                "legal": _fixed_bytes(columns["legal"]),
            }
            rows = Rows(
                **wide,
                **{name: to_numpy(columns[name]) for name in names if name not in wide},
                z_known=to_numpy(columns["z"].is_valid()),
                q=to_numpy(columns["q"]) if self.selfplay else None,
                visits=_visits(columns["visits"]) if self.selfplay else None,
            )
            before = _check(self.path, rows, first, before, self.game)
            first += len(rows)
            yield rows.take(~np.isin(rows.game, list(self.repeated))) if self.repeated else rows

    def read(self) -> Rows:
        """All rows, checked."""
        return concatenate([*self])

    def table(self, *names: str) -> pa.Table:
        """Some columns of all rows; reads nothing else."""
        return pa.concat_tables(map(pa.table, self._columns(list(names))))

    def _columns(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """Yield the columns of each row group."""
        for group in range(self._file.metadata.num_row_groups):
            try:
                table = self._file.read_row_group(group, columns=names, use_threads=False)
            except (pa.ArrowException, OSError) as error:
                reason = first_line(error)
                raise DatasetError(f"{self.path}: damaged data in row group {group} ({reason})") from error
            columns = {name: pa.concat_arrays(table.column(name).chunks) for name in names}
            for name, column in columns.items():
                if name != "z" and column.null_count:
                    raise DatasetError(f"{self.path}: expected no null in {name}, found {column.null_count}")
            yield columns


class RowFiles:
    """Several row files read as one data set; games of different files may have the same number.

    A game of self-play that two shards have is read once.
    """

    def __init__(self, paths: Sequence[str | Path], game: str | None = DEFAULT_GAME_NAME) -> None:
        """Open and check all files, one or more; see `RowFile`."""
        if not paths:
            raise DatasetError("expected at least one data set, found none")
        self.files = [RowFile(path, game) for path in paths]
        seen = set[tuple[str, int]]()
        for file in self.files:
            if file.shard is not None:
                games = {(file.shard["worker"], header["game"]) for header in file.shard["games"]}
                file.repeated = {number for _, number in games & seen}
                seen |= games
        self.rows = sum(file.rows for file in self.files)
        self.selfplay = any(file.selfplay for file in self.files)


def read_rows(paths: str | Path | Sequence[str | Path], *, game: str = DEFAULT_GAME_NAME) -> Rows:
    """Read row files into memory, in checkers about 64 bytes a row without a search.

    Args:
        paths: one or several Parquet files of rows; their rows follow one another.
        game: the game the rows must be of.

    Returns:
        The columns as numpy arrays, see `Rows`.

    Raises:
        DatasetError: a file that is missing, damaged, without rows, or of another format or game.
    """
    files = RowFiles([paths] if isinstance(paths, str | Path) else paths, game).files
    return concatenate([file.read() for file in files])


@dataclass(frozen=True)
class Statistics:
    """Statistics of a data set; see `describe`."""

    rows: int
    games: int
    plies: int
    results: dict[str, int]
    """Games won by `black` and by `white`, `drawn`, and of `unknown` result."""
    lengths: dict[str, float]
    """Plies of a game: `least`, `mean` and `most`."""
    forced_rows: int
    """Rows with one legal action."""
    positions: int
    """Distinct positions: board in mover's view, and jumper."""


def describe(
    paths: str | Path | Sequence[str | Path],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Statistics:
    """Compute the statistics of a data set; takes about 40 bytes of memory a row.

    Args:
        paths: one or several row files, taken as one data set.
        progress: called with the rows read and the rows to read in all.

    Raises:
        DatasetError: a file that is missing, damaged, or of another format.
    """
    files = RowFiles([paths] if isinstance(paths, str | Path) else paths)
    parts, done = [], 0
    for number, file in enumerate(files.files):
        for rows in file:
            legal = np.bitwise_count(np.ascontiguousarray(rows.legal).view(np.uint64)).sum(1, dtype=np.uint8)
            result = np.where(rows.z_known, np.where(rows.black, rows.z, -rows.z), np.int8(UNKNOWN_Z))
            game = rows.game.astype(np.int64) + (number << 32)
            keys = position_keys(rows.board, rows.jumper)
            parts.append((game, rows.hop == 0, result, legal == 1, keys))
            progress(done := done + len(rows), files.rows)
    game, first, result, forced, keys = map(np.concatenate, zip(*parts, strict=True))
    begins = np.flatnonzero(np.diff(game, prepend=-1))
    plies = np.add.reduceat(first, begins, dtype=np.int64)
    return Statistics(
        rows=len(game),
        games=len(plies),
        plies=int(first.sum()),
        results={name: int((result[begins] == of).sum()) for name, of in _RESULTS.items()},
        lengths={"least": int(plies.min()), "mean": float(plies.mean()), "most": int(plies.max())},
        forced_rows=int(forced.sum()),
        positions=len(np.unique(keys)),
    )


def newest_dataset(folder: Path) -> Path:
    """The most recently written row file in a folder; DatasetError if there is none."""
    files = [p for p in folder.glob("*.parquet") if not is_headers_path(p)]
    if not files:
        raise DatasetError(
            f"expected a data set (*.parquet) in {folder}/, found none; `ckai parse` writes one"
        )
    return max(files, key=lambda p: (p.stat().st_mtime_ns, p.name))


def check_dataset(path: Path) -> None:
    """Raise DatasetError if there is no such file, or it is a folder."""
    if not path.exists():
        raise DatasetError(f"{path}: expected a data set, found no such file; check the path")
    if path.is_dir():
        raise DatasetError(f"{path}: expected a Parquet file, found a folder")


def _open(path: Path) -> Any:
    check_dataset(path)
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except PermissionError as error:
        raise DatasetError(f"{path}: may not be read ({error.strerror}): change its permissions") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = first_line(error)
        raise DatasetError(
            f"{path}: expected a Parquet file, found a file that is not one or is cut short ({reason})"
        ) from error


def _fixed_bytes(array: Any) -> NDArray[np.uint8]:
    width, buffer = array.type.byte_width, array.buffers()[1]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    return data[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def _visits(array: Any) -> Visits:
    offsets = to_numpy(array.offsets).astype(np.int64)
    entries = array.flatten()
    return Visits(offsets - offsets[0], to_numpy(entries.field("label")), to_numpy(entries.field("count")))


def _check(path: Path, rows: Rows, first: int, before: Key, game: str) -> Key:
    """Refuse rows that cannot be, which would spoil what is learned from all others; return the last key.

    They are one row group, which begins with row `first` of the file; `before` is the key of the row before.
    Boards, jumpers and legal actions are checked in checkers only.
    """
    visits = rows.visits or Visits(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint32))
    arrays: tuple[NDArray[Any], ...] = (
        rows.game, rows.ply, rows.hop, rows.board, rows.jumper, rows.quiet, rows.legal, rows.label, rows.z,
        np.empty(0, np.float32) if rows.q is None else rows.q, visits.offsets, visits.labels, visits.counts,
    )  # fmt: skip
    at, fault, entry = _first_fault(game == DEFAULT_GAME_NAME, before, *map(_read_only, arrays))
    number = at if fault else -1
    key = int(rows.game[number]), int(rows.ply[number]), int(rows.hop[number])
    if not fault:
        return key
    name, expected = _FAULTS[fault]
    legal = np.flatnonzero(rows.legal_mask()[at]).tolist()
    if name in ("label", "visits"):
        expected += f" {legal}"
    if name == "key":
        found: Any = f"{key}; a file has each row once, in order, with ply and hop from 0"
    elif name == "visits":
        found = f"{visits.counts[entry]} of {visits.labels[entry]}"
    else:
        found = legal if name == "legal" else getattr(rows, name)[at].tolist()
    raise DatasetError(f"{path}: row {first + at}: expected {expected}, found {found}")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view with one type for Numba, whether the columns come from a file or from a program."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def _first_fault(  # type: ignore[no-untyped-def]
    checkers, before, game, ply, hop, board, jumper, quiet, legal, label, z, q, offsets,
    visited, counts,
):  # fmt: skip
    """The first row with a fault, its number in `_FAULTS` (0: there is none), and the entry of its visits."""
    mask = np.empty(16, np.uint8)
    actions = 8 * legal.shape[1]
    for i in range(len(game)):
        here = (np.int64(game[i]), np.int64(ply[i]), np.int64(hop[i]))
        last = before if i == 0 else (np.int64(game[i - 1]), np.int64(ply[i - 1]), np.int64(hop[i - 1]))
        if not here > last or ply[i] < 0 or hop[i] < 0:
            return i, _ORDER, 0
        if z[i] < -1 or z[i] > 1:
            return i, _Z, 0
        if len(q) and abs(q[i]) > 1 + _ROUNDING:
            return i, _Q, 0
        if quiet[i] < 0:
            return i, _QUIET, 0
        if checkers:
            for piece in board[i]:
                if piece not in (-3, -1, 0, 1, 3):
                    return i, _BOARD, 0
            mine, theirs, crowned = read_board(board[i])
            if jumper[i] < -1 or jumper[i] > 31 or (jumper[i] >= 0 and not mine >> jumper[i] & 1):
                return i, _JUMPER, 0
            write_legal(mine, theirs, crowned, np.int64(jumper[i]), mask)
            for byte in range(16):
                if legal[i, byte] != mask[byte]:
                    return i, _LEGAL, 0
        if label[i] >= actions or not legal[i, label[i] >> 3] >> (label[i] & 7) & 1:
            return i, _LABEL, 0
        if len(offsets):
            for entry in range(offsets[i], offsets[i + 1]):
                action = visited[entry]
                if action >= actions or (counts[entry] and not legal[i, action >> 3] >> (action & 7) & 1):
                    return i, _VISITS, entry
    return len(game), 0, 0
