"""What a command may write rows over: nothing, or what the same command can write again."""

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.schema import VERSION_KEY, DatasetError, headers_path, is_headers_path


def check_output(output: Path, sources: Sequence[str] | None) -> None:
    """Check that rows may be written to a file, before any work is done.

    Args:
        output: the Parquet file of rows to write.
        sources: names of the PDN files whose rows it is going to hold; None: rows of no games, which have no
            headers file beside them.

    Raises:
        DatasetError: a folder, another suffix than `.parquet`, a name for headers, or a file with something
            else than rows of these sources.
    """
    check_no_folder(output)
    above = next(parent for parent in output.absolute().parents if parent.exists())
    if not above.is_dir():
        raise DatasetError(f"{output}: expected a folder to write to, found the file {above}")
    if output.suffix != ".parquet":
        suffix = f"the suffix {output.suffix}" if output.suffix else "no suffix"
        raise DatasetError(
            f"{output}: expected an output that ends in .parquet, found {suffix}: rows are written as Parquet"
        )
    if is_headers_path(output):
        raise DatasetError(f"{output}: expected a name for rows, found one for headers: leave out .headers")
    if output.is_file() and output.stat().st_size:
        found = _other_content(output, sources)
        if found:
            raise DatasetError(
                f"{output}: would be replaced, but holds {found}: choose another output, or remove it first"
            )


def check_no_folder(output: Path) -> None:
    """Raise DatasetError if the output is a folder."""
    if output.is_dir():
        raise DatasetError(f"{output}: expected a file to write, found a folder: name a file in it")


def _other_content(output: Path, sources: Sequence[str] | None) -> str:
    """What a file holds besides rows of `sources`, "" if nothing."""
    try:
        metadata = pq.read_schema(output).metadata or {}
    except (pa.ArrowException, OSError):
        return "no rows of ckai"
    if VERSION_KEY not in metadata:
        return "no rows of ckai"
    if metadata.get(b"ckai.kind") == b"selfplay":
        return "rows of self-play"
    headers = headers_path(output)
    if sources is None:
        return "rows of games" if headers.exists() else ""
    if not headers.exists():
        return "rows that are not of PDN files"
    try:
        # `pq.read_table` would import pandas, which takes longer than to parse thousands of games.
        column = pq.ParquetFile(headers).read(columns=["source"]).column("source")
    except (pa.ArrowException, OSError):
        return f"rows whose headers, {headers.name}, cannot be read"
    now = [os.path.abspath(source) for source in sources]
    for before in column.unique().to_pylist():
        path = os.path.abspath(before)
        if not any(path == each or path.startswith(each + os.sep) for each in now):  # or in an archive
            return f"rows of {before} too" if len(column.unique()) > 1 else f"rows of {before}"
    return ""
