"""The row format: one Parquet row per hop, sorted by (game, ply, hop), and one headers row per game.

Tables are written here too: a Parquet file appears under its name only when it is complete.

Columns have short names, in files as in memory (`Rows`, batches). Elsewhere the field's terms are used:

    label       the action played, 0..127: index * 4 + direction
    quiet       the halfmove clock
    z, q        the game's result and the search's root value, for the side to move
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import remove_temporaries, whole_file

SCHEMA_VERSION: Final = 1
VERSION_KEY: Final = b"ckai.rows"
"""Metadata key of the format's version."""
GAME_KEY: Final = b"ckai.game"
"""Metadata key of the game's name; absent for checkers."""
LEGAL_MASK_BYTES: Final = 16
"""Bytes of the mask of legal actions in checkers, and in every game of 128 actions or fewer."""
_ROW_GROUP: Final = 65_536


def _metadata(kind: bytes) -> dict[bytes, bytes]:
    return {VERSION_KEY: str(SCHEMA_VERSION).encode(), b"ckai.kind": kind}


EXPERT_SCHEMA: Final = pa.schema(
    [
        pa.field("game", pa.int32(), False),  # number of the game in the source
        pa.field("ply", pa.int16(), False),  # 0-based half-move; hops of one move share it
        pa.field("hop", pa.int8(), False),  # 0-based within the move
        pa.field("black", pa.bool_(), False),  # Black is to move
        # mover's view: 1 own man, 3 own king, -1 / -3 theirs, 0 empty
        pa.field("board", pa.list_(pa.int8(), 32), False),
        pa.field("jumper", pa.int8(), False),  # index of the piece that must continue a capture, -1 if none
        pa.field("quiet", pa.int16(), False),  # plies since the last capture or man's move
        # bit i of the 128: action i is legal, little-endian bits
        pa.field("legal", pa.binary(LEGAL_MASK_BYTES), False),
        pa.field("label", pa.uint8(), False),  # the action played
        pa.field("z", pa.int8()),  # the game's result for the side to move: 1, 0, -1; null for '*'
    ],
    metadata=_metadata(b"expert"),
)
"""Rows of games read from PDN (an Arrow schema)."""
_VISIT: Final = pa.struct([pa.field("label", pa.uint8(), False), pa.field("count", pa.uint32(), False)])
SELFPLAY_SCHEMA: Final = pa.schema(
    [
        *EXPERT_SCHEMA,
        pa.field("q", pa.float32(), False),  # the search's root value for the side to move, [-1, 1]
        pa.field("visits", pa.list_(_VISIT), False),
        pa.field("generation", pa.int32(), False),  # that trained the network which played; 0: the first one
    ],
    metadata=_metadata(b"selfplay"),
)
"""Rows of self-play: the same columns and the results of the search."""
SEARCH_COLUMNS: Final = ["q", "visits"]
"""Columns that only self-play has."""


def selfplay_schema(game: str, squares: int, mask_bytes: int = LEGAL_MASK_BYTES) -> pa.Schema:
    """The schema of a game's self-play rows: `squares` entries in `board`, `mask_bytes` in `legal`."""
    if game == DEFAULT_GAME_NAME:
        return SELFPLAY_SCHEMA
    schema = SELFPLAY_SCHEMA.with_metadata({**SELFPLAY_SCHEMA.metadata, GAME_KEY: game.encode()})
    for name, type_ in ("board", pa.list_(pa.int8(), squares)), ("legal", pa.binary(mask_bytes)):
        at = schema.get_field_index(name)
        schema = schema.set(at, pa.field(name, type_, schema.field(at).nullable))
    return schema


HEADERS_SCHEMA: Final = pa.schema(
    [
        pa.field("game", pa.int32(), False),
        pa.field("event", pa.string()),
        pa.field("date", pa.string()),
        pa.field("black", pa.string()),
        pa.field("white", pa.string()),
        pa.field("result", pa.string(), False),
        pa.field("opening", pa.string()),
        pa.field("plies", pa.int32(), False),
        pa.field("line", pa.int64(), False),  # where the game starts in the source, 1-based
        pa.field("source", pa.string(), False),
    ],
    metadata=_metadata(b"headers"),
)

SHARD_KEY: Final = b"ckai.shard"
"""Metadata key of what a shard of self-play says of its games, see `ckai.rl.selfplay.shards`."""


def pack_json(data: Any) -> bytes:
    """Plain data as JSON for the metadata of a file, with a checksum before it."""
    text = json.dumps(data).encode()
    return b"%08x " % zlib.crc32(text) + text


def shard_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any] | None:
    """What a shard of self-play says of its games, among them `worker` and `games`; None for other files.

    Raises:
        ValueError: it is damaged.
    """
    if metadata is None or SHARD_KEY not in metadata:
        return None
    checksum, _, text = metadata[SHARD_KEY].partition(b" ")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("the games do not have their checksum")
    data: dict[str, Any] = json.loads(text)
    return data


def headers_path(rows: Path) -> Path:
    """The headers file of a row file: `games.parquet` -> `games.headers.parquet`."""
    return rows.with_name(f"{rows.stem}.headers.parquet")


def is_headers_path(path: Path) -> bool:
    """Whether a file is named like a headers file."""
    return path.name.endswith(".headers.parquet")


class DatasetError(ValueError):
    """A data set that cannot be used; names the file, what was expected and what it has instead."""


def check_rows_path(path: Path) -> None:
    """Refuse a name for rows to write with another suffix than `.parquet`, or that of a headers file."""
    if path.suffix != ".parquet":
        raise DatasetError(f"{path}: expected a name that ends in .parquet: rows are written as Parquet")
    if is_headers_path(path):
        raise DatasetError(f"{path}: expected a name for rows, found one for headers: leave out .headers")


def game_of(schema: pa.Schema) -> str:
    """The name of the game of rows."""
    name: bytes = (schema.metadata or {}).get(GAME_KEY, DEFAULT_GAME_NAME.encode())
    return name.decode(errors="replace")


def check_schema(path: Path, schema: Any, game: str) -> bool:
    """Check the columns and the game of a row file; return whether it has the columns of self-play.

    Raises:
        DatasetError: it has other columns, or is of another version or game.
    """
    metadata = schema.metadata or {}
    if metadata.get(b"ckai.kind") == b"headers":
        name = path.name.replace(".headers.parquet", ".parquet")
        raise DatasetError(f"{path}: expected rows, found game headers; the rows are in {name}")
    version = metadata.get(VERSION_KEY, b"none").decode(errors="replace")
    if version != str(SCHEMA_VERSION):
        raise DatasetError(
            f"{path}: expected row format version {SCHEMA_VERSION}, found {version}; make the rows again: "
            "`ckai parse`, or self-play"
        )
    if game_of(schema) != game:
        raise DatasetError(f"{path}: expected rows of {game}, found rows of {game_of(schema)}")
    # By its columns too: nothing else would notice a damaged kind.
    selfplay = metadata.get(b"ckai.kind") == b"selfplay" or bool({*SEARCH_COLUMNS} & {*schema.names})
    for field in SELFPLAY_SCHEMA if selfplay else EXPERT_SCHEMA:
        if field.name not in schema.names:
            raise DatasetError(f"{path}: expected the column {field.name}, found {', '.join(schema.names)}")
        want, have = field.type, schema.field(field.name).type
        # Boards and masks of other games have other sizes.
        of_any_size = game != DEFAULT_GAME_NAME and field.name in ("board", "legal") and want.id == have.id
        if not of_any_size and want != have:
            raise DatasetError(f"{path}: expected column {field.name} of type {want}, found {have}")
    return selfplay


def row_table(
    columns: Mapping[str, NDArray[Any]], unknown: int, schema: pa.Schema = EXPERT_SCHEMA, **more: pa.Array
) -> pa.Table:
    """Rows as an Arrow table of a schema; `more` has the columns that `EXPERT_SCHEMA` lacks.

    Args:
        columns: those of `EXPERT_SCHEMA`, `[N]` each, but for `board`, `[N, squares]`, and `legal`, `[N, mask
            bytes]`, little-endian bits.
        unknown: the value of `z` that becomes null.
    """
    for name, values in columns.items():
        if name in ("legal", "z"):
            known = _bits(values != unknown) if name == "z" else None
            buffers = [known, pa.py_buffer(np.ascontiguousarray(values))]
            more[name] = pa.Array.from_buffers(schema.field(name).type, len(values), buffers)
        elif name == "board":
            flat = from_numpy(values.reshape(-1))
            more[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            more[name] = from_numpy(values)
    arrays = [more[field.name].cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def from_numpy(values: NDArray[Any]) -> pa.Array:
    """Numbers or truth values as an Arrow array. `pa.array` would import pandas, in a quarter of a second."""
    raw = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, raw])


def to_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Numbers or truth values of Arrow as numpy, 0 or False where there is none; avoids pandas too."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    truth = pa.types.is_boolean(array.type)
    found = array.drop_null() if array.null_count else array
    values: NDArray[Any] = np.from_dlpack(found.cast(pa.uint8()) if truth else found)
    values = values.view(np.bool_) if truth else values
    if array.null_count:
        given, values = values, np.zeros(len(array), values.dtype)
        values[to_numpy(array.is_valid())] = given
    return values


def from_strings(values: Sequence[str | None]) -> pa.Array:
    """Strings and nulls as an Arrow array; avoids pandas too."""
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


@contextmanager
def table_writer(path: Path, schema: pa.Schema = EXPERT_SCHEMA) -> Iterator[Callable[[pa.Table], None]]:
    """Write a Parquet file during a `with` block; it has its name when the block ends without an error.

    Yields:
        A function that appends a table, in row groups of at most 65,536 rows.

    Raises:
        WriteError: it cannot be written; an existing file is unchanged.
    """
    remove_temporaries(path.parent, of=path.name)
    with (
        whole_file(path) as file,
        pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=["game", "label"],
            write_page_checksum=True,
        ) as parquet,
    ):

        def write(table: pa.Table) -> None:
            if table.num_rows:
                parquet.write_table(table, row_group_size=_ROW_GROUP)

        yield write
