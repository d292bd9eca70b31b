"""Convert PDN files to rows: `ckai parse` as a function."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.files import write_whole
from ckai.datasets.schema import COPIES_KEY, EXPERT_SCHEMA, HEADERS_SCHEMA, check_rows_path, headers_path
from ckai.datasets.writer import TableWriter, from_numpy, from_strings, row_arrays, table_writer
from ckai.pdn import PdnError
from ckai.pdn.kernels import FINE, GAME, UNKNOWN_Z, Columns, make_columns, replay_chunk
from ckai.pdn.reader import build_game
from ckai.pdn.segments import BLACK, DATE, EVENT, OPENING, RESULT_TEXT, WHITE
from ckai.pdn.sources import STDIN, open_sources, source_name, source_size
from ckai.pdn.stream import Chunk, first_positions, read_chunks

ROWS_AT_ONCE = 1 << 17


@dataclass
class Tally:
    """Counts of what happened to the games; read = kept + truncated + rejected."""

    output: Path
    """The rows."""
    refused: Path
    """The list of incomplete games and dropped duplicates, one JSON object a line."""
    games_read: int = 0
    games_kept: int = 0
    """Games kept complete."""
    games_truncated: int = 0
    """Games kept up to an error."""
    games_rejected: int = 0
    """Games that contribute nothing: unusable ones, and duplicates if they are dropped."""
    duplicates: int = 0
    """Games with the first position and the moves of an earlier one. They are kept (and counted there) unless
    `parse_files` is asked to drop them."""
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
    without_games: list[PdnError] = field(default_factory=list)
    """The files skipped because they have no games, as the errors that `strict` makes of them."""


ProgressCallback = Callable[[int, int, Tally], None]
"""Called with the stored bytes read, the bytes in all (0 if unknown), and the tally so far."""


def parse_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    strict: bool = False,
    dedupe: bool = False,
    progress: ProgressCallback | None = None,
) -> Tally:
    """Convert the games of PDN files to rows and headers, and list the games that are incomplete.

    Games are numbered from 0 across all files. A game with an error keeps the legal moves before it; a game
    without any legal move, of another draughts variant or from an impossible position is rejected. Games
    without moves are kept and have no rows.

    Games with the same first position (halfmove clock aside) and the same moves are duplicates, whatever
    their tags. They are kept, and the rows note which they are, so that all of them fall on one side of a
    split (`RowFile.split_numbers`).

    Args:
        paths: one or several PDN files: plain, gzip, bzip2, zip (the `.pdn` files in it), or "-" for standard
            input.
        output: the Parquet file of rows to write, a name that ends in `.parquet`; an existing one is
            replaced. The headers (`<name>.headers.parquet`) and the list of incomplete games
            (`<name>.refused.jsonl`) are written beside it. If no game can be used, only the list is.
        strict: stop at the first game with an error, and at the first file without games.
        dedupe: drop duplicates of earlier games. They count as rejected and are listed with the others.
        progress: called after each chunk of text with the stored bytes read, the bytes in all (0 if unknown),
            and the tally.

    Returns:
        The tally. The output files appear under their names only when it is returned.

    Raises:
        PdnError: no games in any file (strict: in one), no usable game (the list says why), a game with an
            error (strict), or a damaged archive.
        DatasetError: an output with another suffix than `.parquet`, or a name for headers.
        ReadError: a file that cannot be read, an OSError.
        WriteError: output that cannot be written, or is a folder, an OSError.

    Examples:
        >>> tally = parse_files("games.pdn", "again.parquet")
        >>> tally.games_read, tally.games_kept, tally.plies, tally.rows
        (2, 2, 11, 11)
    """
    sources = [paths] if isinstance(paths, str | Path) else list(paths)
    output = Path(output)
    sizes = [source_size(path) for path in sources]
    check_rows_path(output)
    tally = Tally(output, output.with_name(f"{output.stem}.refused.jsonl"))
    with table_writer(output) as rows, table_writer(headers_path(output), HEADERS_SCHEMA) as headers:
        converter = _Converter(tally, rows, headers, strict=strict, dedupe=dedupe)
        refused, first_error = _convert(converter, sources, sizes, progress)
        write_whole(tally.refused, "".join(refused))
        if not tally.rows:
            raise _nothing_usable(first_error, tally, source_name(sources[0]))
        if converter.copies:
            rows.add_metadata({COPIES_KEY: json.dumps(converter.copies).encode()})
    return tally


def _convert(
    converter: "_Converter",
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    progress: ProgressCallback | None,
) -> tuple[list[str], PdnError | None]:
    """Convert all files; return the lines of the list of incomplete games, and the error of the first."""
    tally = converter.tally
    lines: list[str] = []
    first_error: PdnError | None = None
    total = 0 if STDIN in map(str, sources) else sum(sizes)
    done = 0
    for path, size in zip(sources, sizes, strict=True):
        for source in open_sources(path):
            before = tally.games_read
            length = 0
            for chunk in read_chunks(source.file):
                for error, rejected in converter.convert(chunk, before, source.name):
                    first_error = first_error or error
                    tally.reasons[_category(error)] += 1
                    lines.append(_json_line(error, rejected) + "\n")
                length = chunk.offset + len(chunk.data)
                if progress:
                    progress(done + (source.raw.tell() if source.raw else 0), total, tally)
            if tally.games_read == before:
                tally.without_games.append(_no_games(source.name, length))
                if converter.strict:
                    raise tally.without_games[-1]
        done += size
    if not tally.games_read:
        raise tally.without_games[0]
    return lines, first_error


def _no_games(name: str, length: int) -> PdnError:
    found = f"{length:,} byte" if length == 1 else f"{length:,} bytes"
    return PdnError(
        'expected games of PDN (tags such as [Event "..."], moves such as 1. 11-15 22-18), '
        f"found none in {found}",
        name,
    )


def _nothing_usable(first: PdnError | None, tally: Tally, name: str) -> PdnError:
    """The error of files without any row, with the place and reason of the first game with an error."""
    if first is None:
        return PdnError("expected games with moves, found none with any", name)
    if tally.games_read == 1:
        rest = f"the only game cannot be used; see {source_name(tally.refused)}"
    else:
        listed = source_name(tally.refused)
        rest = f"none of {tally.games_read:,} games can be used; {listed} says why for each"
    return PdnError(f"{first.reason}; {rest}", first.path, first.line, first.game, first.ply)


def _category(error: PdnError) -> str:
    """The reason without the details of this game."""
    return next((category for words, category in _CATEGORIES.items() if words in error.reason), "other")


_CATEGORIES = {
    "the moves of game": "with the moves of an earlier game",
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
    status = "rejected" if rejected else "truncated"
    line = {
        "file": error.path,
        "line": error.line,
        "game": error.game,
        "ply": error.ply,
        "status": status,
        "reason": error.reason,
        "text": error.text,
        "legal": error.legal,
    }
    return json.dumps(line, ensure_ascii=False)


class _Converter:
    """Writes the games of chunks, and remembers them to find duplicates (about 200 bytes a game)."""

    def __init__(
        self, tally: Tally, rows: TableWriter, headers: TableWriter, *, strict: bool, dedupe: bool
    ) -> None:
        self.tally, self.rows, self.headers = tally, rows, headers
        self.strict, self.dedupe = strict, dedupe
        self.copies: list[tuple[int, int]] = []
        """Numbers of the duplicates that were kept, each with that of the first such game."""
        self._seen: dict[bytes, int] = {}

    def convert(self, chunk: Chunk, first: int, path: str) -> Iterator[tuple[PdnError, bool]]:
        """Write a chunk's games; yield what to list, and whether each rejects its game; strict: raise it."""
        tally = self.tally
        tally.stray_words += chunk.stray
        count = len(chunk.segments)
        if not count:
            return
        number = first + chunk.number
        starts, refused = first_positions(chunk)
        games = np.zeros(count, GAME)
        longest = int((chunk.segments["last"] - chunk.segments["first"]).max())
        columns = make_columns(max(ROWS_AT_ONCE, 2 * longest + 1024))
        dropped: dict[int, int] = {}
        g = 0
        while g < count:
            begin = g
            g, written = replay_chunk(chunk.read, chunk.segments, starts, games, columns, begin, number)
            copies = self._find_copies(
                games[begin:g], starts[begin:g], columns.label[:written], number + begin
            )
            tally.duplicates += len(copies)
            if self.dedupe and copies:
                dropped.update((copy - number, original) for copy, original in copies)
                kept = ~np.isin(columns.game[:written], [copy for copy, _ in copies])
                self.rows.write(_table(columns, np.flatnonzero(kept)))
            else:
                self.copies += copies
                self.rows.write(_table(columns, slice(written)))
        duplicate = np.zeros(count, np.bool_)
        duplicate[list(dropped)] = True
        problem = games["problem"] != FINE
        rejected = problem & (games["plies"] == 0) | duplicate
        fine = ~problem & ~duplicate
        tally.games_read += count
        tally.games_kept += int(np.count_nonzero(fine))
        tally.games_rejected += int(np.count_nonzero(rejected))
        tally.games_truncated += int(np.count_nonzero(problem & ~rejected))
        tally.plies += int(games["plies"][~duplicate].sum())
        tally.rows += int(games["rows"][~duplicate].sum())
        tally.games_without_moves += int(np.count_nonzero(fine & (games["plies"] == 0)))
        tally.result_conflicts += int(np.count_nonzero(games["conflict"] & ~duplicate))
        self.headers.write(_headers(chunk, games, np.flatnonzero(~rejected), first, path))
        for g in np.flatnonzero(problem | duplicate).tolist():
            error = build_game(chunk, g, starts[g], refused.get(g), path).problem if problem[g] else None
            if error is None and problem[g]:
                raise RuntimeError(f"{path}: game {number + g}: the two readers disagree")
            if error is not None and self.strict:
                error.game = number + g
                raise error
            if error is None or duplicate[g]:
                line = int(chunk.segments["line"][g]) + chunk.line + 1
                error = PdnError(f"has the first position and the moves of game {dropped[g]}", path, line)
            error.game = number + g
            yield error, bool(rejected[g])

    def _find_copies(
        self, games: NDArray[Any], starts: NDArray[Any], actions: NDArray[np.uint8], number: int
    ) -> list[tuple[int, int]]:
        """The numbers of games that repeat an earlier one, each with the number of the first such game.

        Args:
            games: `[G]` GAME, as replayed.
            starts: `[G]` START.
            actions: `[N]` uint8 of all their hops; `first_row` points into them.
            number: of the first of the games.
        """
        boards = np.stack(
            [starts[name].astype(np.int64) for name in ("own", "opp", "kings", "black")], axis=1
        )
        positions, played = boards.tobytes(), actions.tobytes()
        width = boards.itemsize * boards.shape[1]
        copies: list[tuple[int, int]] = []
        for i, (row, count) in enumerate(
            zip(games["first_row"].tolist(), games["rows"].tolist(), strict=True)
        ):
            if count:
                text = positions[i * width : (i + 1) * width] + played[row : row + count]
                original = self._seen.setdefault(blake2b(text, digest_size=16).digest(), number + i)
                if original != number + i:
                    copies.append((number + i, original))
        return copies


def _table(columns: Columns, which: slice | NDArray[np.int64]) -> pa.Table:
    # Copies: the buffers are reused while these rows still wait for their row group to fill.
    arrays = row_arrays(
        **{name: column[which].copy() for name, column in columns._asdict().items()}, unknown=UNKNOWN_Z
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
