"""Convert PDN files to rows: `ckai parse` as a function."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.schema import EXPERT_SCHEMA, HEADERS_SCHEMA, headers_path
from ckai.datasets.writer import TableWriter, from_numpy, from_strings, row_arrays
from ckai.pdn import PdnError
from ckai.pdn.kernels import FINE, GAME, UNKNOWN_Z, Columns, make_columns, replay_chunk
from ckai.pdn.reader import build_game
from ckai.pdn.segments import BLACK, DATE, EVENT, OPENING, RESULT_TEXT, WHITE
from ckai.pdn.stream import Chunk, first_positions, read_chunks

ROWS_AT_ONCE = 1 << 17


@dataclass
class Tally:
    """Counts of what happened to the games; read = kept + truncated + rejected."""

    output: Path
    """The rows."""
    refused: Path
    """The list of incomplete games, one JSON object a line."""
    games_read: int = 0
    games_kept: int = 0
    """Games kept complete."""
    games_truncated: int = 0
    """Games kept up to an error."""
    games_rejected: int = 0
    """Games that contribute nothing."""
    plies: int = 0
    rows: int = 0
    """One a hop, so at least as many as plies."""
    games_without_moves: int = 0
    """Kept games that have headers but no rows."""
    result_conflicts: int = 0
    """Games whose Result tag contradicts the result after their moves; the latter is used."""
    stray_words: int = 0
    """Words outside all games, skipped."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Truncated and rejected games by category of error."""


ProgressCallback = Callable[[int, int, Tally], None]
"""Called with the bytes read, the bytes in all, and the tally so far."""


def parse_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    strict: bool = False,
    progress: ProgressCallback | None = None,
) -> Tally:
    """Convert the games of PDN files to rows and headers, and list the games that are incomplete.

    Games are numbered from 0 across all files. A game with an error keeps the legal moves before it; a game
    without any legal move, of another draughts variant or from an impossible position is rejected. Games
    without moves are kept and have no rows.

    Args:
        paths: one or several PDN files.
        output: the Parquet file of rows to write. The headers (`<name>.headers.parquet`) and the list of
            incomplete games (`<name>.refused.jsonl`) are written beside it.
        strict: stop at the first game with an error.
        progress: called after each chunk of text with the bytes read, the bytes in all, and the tally.

    Returns:
        The tally. The output files appear under their names only when it is returned.

    Raises:
        PdnError: no games, no usable game (the list says why), a game with an error (strict), or an output
            that would overwrite one of `paths`.
        OSError: a file that cannot be read or written.

    Examples:
        >>> tally = parse_files("games.pdn", "again.parquet")
        >>> tally.games_read, tally.games_kept, tally.plies, tally.rows
        (2, 2, 11, 11)
    """
    sources = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    output = Path(output)
    refused_path = output.with_name(f"{output.stem}.refused.jsonl")
    for path in sources:
        if path.is_dir():
            raise PdnError("expected a PDN file, found a folder", _name(path))
        for written in (output, headers_path(output), refused_path):
            if written.exists() and written.samefile(path):
                raise PdnError("expected another file to write to, found the one to read", _name(path))
    tally = Tally(output, refused_path)
    total = sum(path.stat().st_size for path in sources)
    done = 0
    temporary = refused_path.with_name(f".{refused_path.name}.{os.getpid()}.tmp")
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            TableWriter(output, EXPERT_SCHEMA) as rows,
            TableWriter(headers_path(output), HEADERS_SCHEMA) as headers,
            temporary.open("w", encoding="utf-8") as refused,
        ):
            for path in sources:
                before = tally.games_read
                with path.open("rb") as file:
                    for chunk in read_chunks(file):
                        for error, rejected in _convert(chunk, before, _name(path), tally, rows, headers):
                            if strict:
                                raise error
                            tally.reasons[_category(error)] += 1
                            refused.write(_json_line(error, rejected) + "\n")
                        if progress:
                            progress(done + chunk.offset + len(chunk.data), total, tally)
                if tally.games_read == before:
                    raise PdnError(
                        'expected games of PDN (tags such as [Event "..."], moves such as 1. 11-15 22-18), '
                        f"found none in {path.stat().st_size} bytes",
                        _name(path),
                    )
                done += path.stat().st_size
            refused.flush()
            os.fsync(refused.fileno())
            unusable = tally.games_kept + tally.games_truncated == 0
            if not unusable:
                rows.finish()
                headers.finish()
                # Remove the old rows first and add the new ones last: a kill never leaves a mixed set.
                output.unlink(missing_ok=True)
            temporary.replace(refused_path)
            if unusable:
                raise PdnError(
                    f"none of {tally.games_read} games can be used; {_name(refused_path)} says why",
                    _name(sources[0]),
                )
            headers.commit()
            rows.commit()
    finally:
        with suppress(OSError):
            temporary.unlink()
    return tally


def _name(path: Path) -> str:
    """A path as printable text; file names need not be valid UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _category(error: PdnError) -> str:
    """The reason without the details of this game."""
    return next((category for words, category in _CATEGORIES.items() if words in error.reason), "other")


_CATEGORIES = {
    "a move or a result": "unreadable text",
    "is illegal": "illegal move",
    "is ambiguous": "ambiguous capture",
    "square that is not": "no such square",
    "GameType": "another kind of draughts",
    "FEN": "impossible first position",
    "closing }": "unclosed comment",
    "closing )": "unclosed variation",
    "at most": "too many plies",
}


def _json_line(error: PdnError, rejected: bool) -> str:
    """A line of the list of incomplete games."""
    return json.dumps(
        {
            "file": error.path,
            "line": error.line,
            "game": error.game,
            "ply": error.ply,
            "status": "rejected" if rejected else "truncated",
            "reason": error.reason,
            "text": error.text,
            "legal": list(error.legal),
        },
        ensure_ascii=False,
    )


def _convert(
    chunk: Chunk, first: int, path: str, tally: Tally, rows: TableWriter, headers: TableWriter
) -> Iterator[tuple[PdnError, bool]]:
    """Write a chunk's games; yield the problems, and whether each rejects its game."""
    count = len(chunk.segments)
    if not count:
        tally.stray_words += chunk.stray
        return
    starts, refused = first_positions(chunk)
    games = np.zeros(count, GAME)
    longest = int((chunk.segments["last"] - chunk.segments["first"]).max())
    columns = make_columns(max(ROWS_AT_ONCE, 2 * longest + 1024))
    g = 0
    while g < count:
        g, written = replay_chunk(chunk.read, chunk.segments, starts, games, columns, g, first + chunk.number)
        rows.write(_table(columns, written))
    problem = games["problem"] != FINE
    rejected = problem & (games["plies"] == 0)
    tally.stray_words += chunk.stray
    tally.games_read += count
    tally.games_kept += int(np.count_nonzero(~problem))
    tally.games_rejected += int(np.count_nonzero(rejected))
    tally.games_truncated += int(np.count_nonzero(problem & ~rejected))
    tally.plies += int(games["plies"].sum())
    tally.rows += int(games["rows"].sum())
    tally.games_without_moves += int(np.count_nonzero(~problem & (games["plies"] == 0)))
    tally.result_conflicts += int(np.count_nonzero(games["conflict"]))
    headers.write(_headers(chunk, games, np.flatnonzero(~rejected), first, path))
    for g in np.flatnonzero(problem).tolist():
        error = build_game(chunk, g, starts[g], refused.get(g), path).problem
        if error is None:
            raise RuntimeError(f"{path}: game {first + chunk.number + g}: the two readers disagree")
        error.game = first + chunk.number + g
        yield error, bool(rejected[g])


def _table(columns: Columns, n: int) -> pa.Table:
    # Copies: the buffers are reused while these rows still wait for their row group to fill.
    arrays = row_arrays(
        **{name: column[:n].copy() for name, column in columns._asdict().items()}, unknown=UNKNOWN_Z
    )
    return pa.Table.from_arrays([arrays[name] for name in EXPERT_SCHEMA.names], schema=EXPERT_SCHEMA)


def _headers(chunk: Chunk, games: NDArray[Any], which: NDArray[Any], first: int, path: str) -> pa.Table:
    numbers = which.tolist()

    def tags(tag: int) -> list[str | None]:
        return [chunk.tag(g, tag) for g in numbers]

    columns = {
        "game": from_numpy((which + first + chunk.number).astype(np.int32)),
        "event": from_strings(tags(EVENT)),
        "date": from_strings(tags(DATE)),
        "black": from_strings(tags(BLACK)),
        "white": from_strings(tags(WHITE)),
        "result": from_strings([RESULT_TEXT[r] or "*" for r in games["result"][which].tolist()]),
        "opening": from_strings(tags(OPENING)),
        "plies": from_numpy(games["plies"][which]),
        "line": from_numpy(chunk.segments["line"][which].astype(np.int64) + chunk.line + 1),
        "source": from_strings([path] * len(numbers)),
    }
    return pa.Table.from_arrays([columns[name] for name in HEADERS_SCHEMA.names], schema=HEADERS_SCHEMA)
