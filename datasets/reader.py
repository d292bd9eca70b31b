"""Row files: opened, checked and read a row group at a time, straight into numpy."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.rows import Rows, Visits
from ckai.datasets.schema import (
    DEFAULT_GAME_NAME,
    EXPERT_SCHEMA,
    GAME_KEY,
    SCHEMA_VERSION,
    SELFPLAY_SCHEMA,
    VERSION_KEY,
    DatasetError,
    headers_path,
)

_COLUMNS = ["game", "ply", "board", "jumper", "quiet", "legal", "label", "z"]
_SEARCH_COLUMNS = ["q", "visits"]
_LATER_COLUMNS = ["surprise"]
"""Columns that files of before do not have, and that may be null."""


class RowFile:
    """One Parquet file of rows.

    Attributes:
        path: where it is.
        rows: number of rows, at least 1.
        group_rows: rows of each row group.
        selfplay: whether it has `q` and `visits`.

    Raises:
        DatasetError: on construction, if it is missing, cut short, empty, or not of this row format.
    """

    def __init__(self, path: str | Path, game: str = DEFAULT_GAME_NAME) -> None:
        """Open and check a file.

        Args:
            path: of the file.
            game: that its rows must be of.
        """
        self.path = Path(path)
        self._file = _open(self.path)
        self.selfplay = _check_schema(self.path, self._file.schema_arrow, game)
        self._squares = self._file.schema_arrow.field("board").type.list_size
        self._mask_bytes = self._file.schema_arrow.field("legal").type.byte_width
        metadata = self._file.metadata
        self.group_rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self.rows = sum(self.group_rows)
        if not self.rows:
            raise DatasetError(f"{self.path}: expected rows, found none")

    def fingerprint(self) -> str:
        """A short name of the content: differs when rows were written anew, not when the file was moved."""
        metadata = self._file.metadata
        digest = hashlib.sha256(f"{self.rows} {metadata.serialized_size}".encode())
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            sizes = [group.column(c).total_compressed_size for c in range(group.num_columns)]
            digest.update(f"{group.num_rows} {sizes}".encode())
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            for at in range(8):
                file.seek(size * at // 8)
                digest.update(file.read(4096))
        return digest.hexdigest()[:16]

    def read(self, group: int) -> Rows:
        """The rows of one row group, checked.

        Raises:
            DatasetError: damaged data, a null where none may be, or a label that is not legal.
        """
        names = _COLUMNS + (_SEARCH_COLUMNS if self.selfplay else [])
        names += [name for name in _LATER_COLUMNS if name in self._file.schema_arrow.names]
        columns = self._columns(group, names)
        rows = Rows(
            game=_numbers(columns["game"]),
            ply=_numbers(columns["ply"]),
            board=_numbers(columns["board"].flatten()).reshape(-1, self._squares),
            jumper=_numbers(columns["jumper"]),
            quiet=_numbers(columns["quiet"]),
            legal=_fixed_bytes(columns["legal"], self._mask_bytes),
            label=_numbers(columns["label"]),
            z=_numbers(columns["z"].fill_null(0)),
            z_known=_numbers(columns["z"].is_valid()),
            q=_numbers(columns["q"]) if self.selfplay else None,
            visits=_visits(columns["visits"]) if self.selfplay else None,
            surprise=_numbers(columns["surprise"].fill_null(0)) if "surprise" in columns else None,
        )
        self._check_labels(group, rows)
        return rows

    def games(self, group: int) -> NDArray[np.int32]:
        """`[N]` int32, the game numbers of one row group; reads nothing else."""
        return _numbers(self._columns(group, ["game"])["game"])

    def positions(self, group: int) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int8]]:
        """Game numbers `[N]`, boards `[N, squares]`, jumpers `[N]` of one row group; reads nothing else."""
        columns = self._columns(group, ["game", "board", "jumper"])
        board = _numbers(columns["board"].flatten()).reshape(-1, self._squares)
        return _numbers(columns["game"]), board, _numbers(columns["jumper"])

    def turns(self, group: int) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
        """Whether Black is to move, and the hop within the move, both `[N]`, of one row group."""
        columns = self._columns(group, ["black", "hop"])
        return _numbers(columns["black"]), _numbers(columns["hop"])

    def _columns(self, group: int, names: list[str]) -> dict[str, Any]:
        try:
            table = self._file.read_row_group(group, columns=names, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DatasetError(f"{self.path}: damaged data in row group {group} ({reason})") from error
        columns = {name: pa.concat_arrays(table.column(name).chunks) for name in names}
        for name, column in columns.items():
            if name not in ("z", *_LATER_COLUMNS) and column.null_count:
                raise DatasetError(f"{self.path}: expected no null in {name}, found {column.null_count}")
        return columns

    def _check_labels(self, group: int, rows: Rows) -> None:
        byte, bit = rows.label >> 3, rows.label & 7
        inside = byte < rows.legal.shape[1]
        legal = rows.legal[np.arange(len(rows)), np.where(inside, byte, 0)] >> bit & 1
        bad = np.flatnonzero(~inside | (legal == 0))
        if len(bad):
            at = int(bad[0])
            allowed = np.flatnonzero(rows.take(bad[:1]).legal_mask()[0]).tolist()
            where = f"row {sum(self.group_rows[:group]) + at} (game {rows.game[at]}, ply {rows.ply[at]})"
            raise DatasetError(
                f"{self.path}: {where}: expected a legal label of {allowed}, found {rows.label[at]}"
            )


class RowFiles:
    """Several row files read as one data set; games of different files may bear the same number."""

    def __init__(self, paths: Sequence[str | Path], game: str = DEFAULT_GAME_NAME) -> None:
        """Open and check all; their rows must be of `game`.

        Raises:
            DatasetError: see `RowFile`; or no path was given.
        """
        if not paths:
            raise DatasetError("expected at least one data set, found none")
        self.files = [RowFile(path, game) for path in paths]
        self.rows = sum(file.rows for file in self.files)
        self.selfplay = any(file.selfplay for file in self.files)
        self.groups = [(file, group) for file in self.files for group in range(len(file.group_rows))]
        """(file, row group) in order."""

    def blocks(self, order: Sequence[int] | None = None) -> Iterator[Rows]:
        """The row groups as blocks, in file order or in that of `order` (indices into `groups`)."""
        for i in range(len(self.groups)) if order is None else order:
            file, group = self.groups[i]
            yield file.read(group)


def newest_dataset(folder: Path) -> Path:
    """The row file in a folder that was written last; headers files do not count.

    Raises:
        DatasetError: if there is none.
    """
    found = [p for p in folder.glob("*.parquet") if not p.name.endswith(headers_path(Path("x")).name[1:])]
    if not found:
        raise DatasetError(
            f"expected a data set (*.parquet) in {folder}/, found none; `ckai parse` writes one"
        )
    return max(found, key=lambda p: (p.stat().st_mtime_ns, p.name))


def _open(path: Path) -> Any:
    if not path.exists():
        raise DatasetError(f"{path}: no such file")
    if path.is_dir():
        raise DatasetError(f"{path}: expected a Parquet file, found a folder")
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DatasetError(
            f"{path}: expected a Parquet file, found another kind of file or one cut short ({reason})"
        ) from error


def _check_schema(path: Path, schema: Any, game: str) -> bool:
    """Whether the columns of self-play are there; see `RowFile`."""
    metadata = schema.metadata or {}
    if metadata.get(b"ckai.kind") == b"headers":
        name = path.name.replace(".headers.parquet", ".parquet")
        raise DatasetError(f"{path}: expected rows, found game headers; the rows are in {name}")
    version = metadata.get(VERSION_KEY)
    if version != str(SCHEMA_VERSION).encode():
        found = "none" if version is None else version.decode(errors="replace")
        raise DatasetError(f"{path}: expected row format version {SCHEMA_VERSION}, found {found}")
    played = metadata.get(GAME_KEY, DEFAULT_GAME_NAME.encode()).decode(errors="replace")
    if played != game:
        raise DatasetError(f"{path}: expected rows of {game}, found rows of {played}")
    selfplay = metadata.get(b"ckai.kind") == b"selfplay"
    expected = SELFPLAY_SCHEMA if selfplay else EXPERT_SCHEMA
    missing = [name for name in expected.names if name not in (*schema.names, *_LATER_COLUMNS)]
    if missing:
        raise DatasetError(f"{path}: expected the column {missing[0]}, found {', '.join(schema.names)}")
    for name in _COLUMNS + (_SEARCH_COLUMNS if selfplay else []):
        want, have = expected.field(name).type, schema.field(name).type
        if name == "board" and game != DEFAULT_GAME_NAME and pa.types.is_fixed_size_list(have):
            want = pa.list_(pa.int8(), have.list_size)
        if name == "legal" and game != DEFAULT_GAME_NAME and pa.types.is_fixed_size_binary(have):
            want = have
        if not _same_type(want, have):
            raise DatasetError(f"{path}: expected column {name} of type {want}, found {have}")
    return selfplay


def _same_type(want: Any, have: Any) -> bool:
    """Equal but for the names of list items, which writers choose."""
    if pa.types.is_fixed_size_list(want):
        return bool(
            pa.types.is_fixed_size_list(have)
            and have.list_size == want.list_size
            and have.value_type == want.value_type
        )
    if pa.types.is_list(want) and pa.types.is_list(have) and pa.types.is_struct(have.value_type):
        names = [(f.name, f.type) for f in want.value_type], [(f.name, f.type) for f in have.value_type]
        return names[0] == names[1]
    return bool(want == have)


def _numbers(array: Any) -> NDArray[Any]:
    result: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return result


def _fixed_bytes(array: Any, width: int) -> NDArray[np.uint8]:
    buffer = array.buffers()[1]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    return data[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def _visits(array: Any) -> Visits:
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    entries = array.flatten()
    return Visits(offsets - offsets[0], _numbers(entries.field("label")), _numbers(entries.field("count")))
