"""Read row files: checked when opened, decoded a row group at a time straight into numpy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.checks import Key, check_rows
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import file_digest, first_line
from ckai.datasets.rows import Rows, Visits, concatenate
from ckai.datasets.schema import (
    READ_COLUMNS,
    SEARCH_COLUMNS,
    SHARD_KEY,
    DatasetError,
    check_schema,
    game_of,
    is_headers_path,
    shard_of,
)
from ckai.datasets.writer import to_numpy


class RowFile:
    """One Parquet file of rows.

    Attributes:
        path: its path.
        rows: number of rows, at least 1.
        group_rows: number of rows of each row group.
        selfplay: whether it has `q` and `visits`.
        shard: what a shard of self-play says of its games, see `ckai.datasets.schema.shard_of`, else None.
        repeated: numbers of games to leave out of `read`.
        game: name of the game its rows are of.
        schema: of its rows.

    Raises:
        DatasetError: on construction, if it is missing, cut short, empty, or not of this row format.
    """

    def __init__(self, path: str | Path, game: str | None = DEFAULT_GAME_NAME) -> None:
        """Open and check a file; its rows must be of `game`, None: of any."""
        self.path = Path(path)
        self._file = _open(self.path)
        self.game = game or game_of(self._file.schema_arrow)
        self.selfplay = check_schema(self.path, self._file.schema_arrow, self.game)
        self._squares = self._file.schema_arrow.field("board").type.list_size
        self._mask_bytes = self._file.schema_arrow.field("legal").type.byte_width
        schema = self._file.schema_arrow
        self.schema = schema.with_metadata({k: v for k, v in schema.metadata.items() if k != SHARD_KEY})
        metadata = self._file.metadata
        self.group_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self.rows = sum(self.group_rows)
        if not self.rows:
            raise DatasetError(f"{self.path}: expected rows, found none")
        self._last_keys: dict[int, Key] = {}
        self.repeated = set[int]()
        try:
            self.shard = shard_of(self._file.schema_arrow.metadata)
        except ValueError as error:
            raise DatasetError(f"{self.path}: damaged data ({first_line(error)})") from error

    def fingerprint(self) -> str:
        """A hash of the file's bytes, 16 hexadecimal digits: unchanged if the file is moved."""
        return file_digest(self.path)[:16]

    def read(self, group: int) -> Rows:
        """Read and check one row group; DatasetError for damaged data, or rows that cannot be."""
        columns = self._columns(group, READ_COLUMNS + (SEARCH_COLUMNS if self.selfplay else []))
        wide = {
            "board": to_numpy(columns["board"].flatten()).reshape(-1, self._squares),
            "legal": _fixed_bytes(columns["legal"], self._mask_bytes),
        }
        rows = Rows(
            **wide,
            **{name: to_numpy(columns[name]) for name in READ_COLUMNS if name not in wide},
            z_known=to_numpy(columns["z"].is_valid()),
            q=to_numpy(columns["q"]) if self.selfplay else None,
            visits=_visits(columns["visits"]) if self.selfplay else None,
        )
        first, before = sum(self.group_rows[:group]), self._last_keys.get(group - 1)
        self._last_keys[group] = check_rows(self.path, rows, first, before, self.game)
        return rows.take(~np.isin(rows.game, list(self.repeated))) if self.repeated else rows

    def table(self, *names: str) -> pa.Table:
        """Some columns of all rows; reads nothing else."""
        groups = range(len(self.group_rows))
        return pa.concat_tables(pa.table(self._columns(group, list(names))) for group in groups)

    def _columns(self, group: int, names: list[str]) -> dict[str, Any]:
        try:
            table = self._file.read_row_group(group, columns=names, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            reason = first_line(error)
            raise DatasetError(f"{self.path}: damaged data in row group {group} ({reason})") from error
        columns = {name: pa.concat_arrays(table.column(name).chunks) for name in names}
        for name, column in columns.items():
            if name != "z" and column.null_count:
                raise DatasetError(f"{self.path}: expected no null in {name}, found {column.null_count}")
        return columns


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
        self.groups = [(file, group) for file in self.files for group in range(len(file.group_rows))]
        """All (file, row group) pairs in order."""


def read_rows(paths: str | Path | Sequence[str | Path], *, game: str = DEFAULT_GAME_NAME) -> Rows:
    """Read row files into memory, in checkers about 64 bytes a row without a search.

    Args:
        paths: one or several Parquet files of rows; their rows follow one another.
        game: the game the rows must be of.

    Returns:
        The columns as numpy arrays, see `Rows`.

    Raises:
        DatasetError: a file that is missing, damaged, without rows, or of another format or game.

    Examples:
        >>> rows = read_rows("games.parquet")
        >>> rows.board.shape == (len(rows), 32)
        True
        >>> black_to_move_or_white = rows.take(rows.ply % 2 == 0)  # any index that numpy takes
    """
    files = RowFiles([paths] if isinstance(paths, str | Path) else paths, game)
    return concatenate([file.read(group) for file, group in files.groups])


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


def _fixed_bytes(array: Any, width: int) -> NDArray[np.uint8]:
    buffer = array.buffers()[1]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    return data[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def _visits(array: Any) -> Visits:
    offsets = to_numpy(array.offsets).astype(np.int64)
    entries = array.flatten()
    return Visits(offsets - offsets[0], to_numpy(entries.field("label")), to_numpy(entries.field("count")))
