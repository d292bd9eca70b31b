"""What a command may write rows over: nothing, or what the same command can write again."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.schema import (
    ENDGAMES_KEY,
    SOURCES_KEY,
    VERSION_KEY,
    DatasetError,
    headers_path,
    is_headers_path,
)
from ckai.pdn.sources import STDIN_NAME

LIST_KEYS = ("file", "line", "game", "ply", "status", "reason", "text", "legal")
"""Keys of a line of the lists of games that were not kept whole."""


def refused_path(rows: Path) -> Path:
    """The list of games not kept whole, of a row file: `games.parquet` -> `games.refused.jsonl`."""
    return rows.with_name(f"{rows.stem}.refused.jsonl")


def failed_path(rows: Path) -> Path:
    """The list of the games of a failed attempt, beside a row file that was kept: `games.failed.jsonl`."""
    return rows.with_name(f"{rows.stem}.failed.jsonl")


def absolute_sources(names: Sequence[str]) -> list[str]:
    """Names of PDN files as absolute paths, which mean the same in every folder; standard input as it is."""
    return [name if name == STDIN_NAME else os.path.abspath(name) for name in names]


def check_output(output: Path, sources: Sequence[str] | None) -> None:
    """Check that rows may be written to a file, before any work is done.

    Args:
        output: the Parquet file of rows to write.
        sources: names of the PDN files whose rows it is going to hold; None: rows of no games, which have no
            headers file beside them.

    Raises:
        DatasetError: a folder, another suffix than `.parquet`, a name for headers, a file with something
            else than rows of these sources, or one of another kind under the name of headers or a list.
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
        _refuse(output, _other_content(output, sources))
    if sources is not None:
        _refuse(headers_path(output), "" if _are_headers(headers_path(output)) else "no headers of ckai")
        for path in (refused_path(output), failed_path(output)):
            _refuse(path, "" if _is_list(path) else "no list of ckai")


def _refuse(path: Path, found: str) -> None:
    if found:
        raise DatasetError(
            f"{path}: would be replaced, but holds {found}: choose another output, or remove it first"
        )


def _are_headers(path: Path) -> bool:
    """Whether a file has headers of ckai, or nothing."""
    if not path.is_file() or not path.stat().st_size:
        return True
    try:
        return VERSION_KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return False


def _is_list(path: Path) -> bool:
    """Whether a file is a list of games not kept whole, by its first line, or has nothing."""
    if not path.is_file() or not path.stat().st_size:
        return True
    try:
        with path.open("rb") as file:
            line = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(line, dict) and set(LIST_KEYS) <= line.keys()


def check_no_folder(output: Path) -> None:
    """Raise DatasetError if the output is a folder."""
    if output.is_dir():
        raise DatasetError(f"{output}: expected a file to write, found a folder: name a file in it")


def _are_endgames(output: Path) -> bool:
    """Whether a file holds endgame rows: those of versions without `ENDGAMES_KEY` are all of ply 0."""
    metadata = pq.read_metadata(output)
    if ENDGAMES_KEY in (metadata.metadata or {}):
        return True
    column = metadata.schema.names.index("ply")
    statistics = [metadata.row_group(i).column(column).statistics for i in range(metadata.num_row_groups)]
    return all(each is not None and each.has_min_max and each.max == 0 for each in statistics)


def _other_content(output: Path, sources: Sequence[str] | None) -> str:
    """What a file holds besides rows of `sources`, "" if nothing."""
    try:
        metadata = pq.read_schema(output).metadata or {}
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return "no rows of ckai"
    if VERSION_KEY not in metadata:
        return "no rows of ckai"
    if metadata.get(b"ckai.kind") == b"selfplay":
        return "rows of self-play"
    headers = headers_path(output)
    if sources is None:
        return "rows of games" if headers.exists() or not _are_endgames(output) else ""
    if not headers.exists():
        return "rows that are not of PDN files"
    try:
        sources_before = _sources_of(headers)
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError):
        return f"rows whose headers, {headers.name}, cannot be read"
    now = absolute_sources(sources)
    for path in sources_before:
        same = any(path == each or path.startswith(each + os.sep) for each in now)  # or in an archive
        if not same or path == STDIN_NAME:  # what came from there cannot be read again
            here = os.getcwd() + os.sep
            return f"rows of {path.removeprefix(here)}" + (" too" if len(sources_before) > 1 else "")
    return ""


def _sources_of(headers: Path) -> list[str]:
    """Absolute paths of the files whose games have headers; files of archives too in those written before."""
    file = pq.ParquetFile(headers)
    stored = (file.metadata.metadata or {}).get(SOURCES_KEY)
    if stored is not None:
        return [str(path) for path in json.loads(stored)]
    # `pq.read_table` would import pandas, which takes longer than to parse thousands of games.
    return absolute_sources(file.read(columns=["source"]).column("source").unique().to_pylist())
