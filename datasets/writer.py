"""Write Parquet files that appear under their name only when complete."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.files import remove_temporaries, whole_file
from ckai.datasets.schema import EXPERT_SCHEMA

ROW_GROUP = 65_536


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
        if name in ("legal", "black", "z"):
            known = _bits(values != unknown) if name == "z" else None
            data = _bits(values) if name == "black" else pa.py_buffer(np.ascontiguousarray(values))
            kind = schema.field(name).type
            more[name] = pa.Array.from_buffers(kind, len(values), [known, data])
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
    raw = [b"" if value is None else value.encode() for value in values]
    offsets = np.zeros(len(raw) + 1, np.int32)
    np.cumsum([len(each) for each in raw], out=offsets[1:])
    valid = np.array([value is not None for value in values], np.bool_)
    buffers = [_bits(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(raw))]
    return pa.Array.from_buffers(pa.string(), len(raw), buffers)


def _bits(values: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


@contextmanager
def table_writer(path: Path, schema: pa.Schema = EXPERT_SCHEMA) -> Iterator[Callable[[pa.Table], None]]:
    """Write a Parquet file during a `with` block; it has its name when the block ends without an error.

    Yields:
        A function that appends a table, in row groups of at most `ROW_GROUP` rows.

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
                parquet.write_table(table, row_group_size=ROW_GROUP)

        yield write
