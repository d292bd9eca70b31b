"""Convert PDN files to rows: `ckai parse` as a function."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ckai.datasets.files import write_whole
from ckai.datasets.games import PdnGames, no_games
from ckai.datasets.schema import HEADERS_SCHEMA, check_rows_path, headers_path
from ckai.datasets.writer import table_writer
from ckai.game.text import printable
from ckai.pdn import PdnError
from ckai.pdn.lexer import NO_RESULT, UNKNOWN
from ckai.pdn.reader import SQUARE_0
from ckai.pdn.segments import RESULT_TAG
from ckai.pdn.sources import STDIN, open_sources, source_name, source_size
from ckai.pdn.stream import read_chunks


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
    """Unusable games, which contribute nothing."""
    plies: int = 0
    rows: int = 0
    """One a hop, so at least as many as plies."""
    games_without_moves: int = 0
    """Kept games that have headers but no rows."""
    result_conflicts: int = 0
    """Games whose Result tag contradicts the result after their moves; the latter is used."""
    results_unread: int = 0
    """Games whose Result tag is not a result of PDN, with none after their moves: rows without z."""
    forfeits: int = 0
    """Games with a result that their Termination tag says was not played (on time, an illegal move,
    abandoned): rows without z."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Truncated and rejected games by category of error."""
    without_games: list[PdnError] = field(default_factory=list)
    """The errors of the files skipped because they have no games."""


ProgressCallback = Callable[[int, int, Tally], None]
"""Called with the stored bytes read, the bytes in all (0 if unknown), and the tally so far."""


def parse_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    lenient: bool = False,
    from_zero: bool = False,
    progress: ProgressCallback | None = None,
) -> Tally:
    """Convert the games of PDN files to rows and headers, and list the games that are incomplete.

    Rows number the games from 0 across all files, messages and the list from 1 within each file. A game with
    an error keeps the legal moves before it; a game without any legal move, of another draughts variant or
    from an impossible position is rejected. Games without moves are kept and have no rows. Copies of a game
    are kept, and fall on one side of a split (`ckai.datasets.split`).

    Args:
        paths: one or several PDN files: plain, gzip, bzip2, zip (the `.pdn` files in it), or "-" for standard
            input.
        output: the Parquet file of rows to write, a name that ends in `.parquet`; an existing one is
            replaced. The headers (`<name>.headers.parquet`) and the list of incomplete games
            (`<name>.refused.jsonl`) are written next to it. If no game can be used, only the list is.
        lenient: also keep what can be read of a file with a square 0, and of one in which fewer than a tenth
            of two or more games are whole.
        from_zero: read the squares of moves, but not of FENs, as numbered from 0.
        progress: called after each chunk of text with the stored bytes read, the bytes in all (0 if unknown),
            and the tally.

    Returns:
        The tally. The output files appear under their names only when it is returned.

    Raises:
        PdnError: no games in any file, no usable game or hardly a whole one (the list says why), a square 0,
            or a damaged archive.
        DatasetError: an output with another suffix than `.parquet`, or a name for headers.
        OSError: a file that cannot be read.
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
    refused: list[tuple[PdnError, bool]] = []
    broken: PdnError | None = None
    total = 0 if STDIN in map(str, sources) else sum(sizes)
    done = 0
    with table_writer(output) as rows, table_writer(headers_path(output), HEADERS_SCHEMA) as headers:
        for path, size in zip(sources, sizes, strict=True):
            for source in open_sources(path):
                before, earlier, length = tally.games_read, len(refused), 0
                for chunk in read_chunks(source, from_zero=from_zero):
                    length = chunk.offset + len(chunk.data)
                    games = PdnGames(chunk, before + chunk.number, source.name)
                    refused += _count(tally, games, lenient)
                    rows.write(games.table())
                    headers.write(games.found(np.flatnonzero(games.readable)))
                    if progress:
                        progress(done + (source.raw.tell() if source.raw else 0), total, tally)
                read, bad = tally.games_read - before, refused[earlier:]
                if not read:
                    tally.without_games.append(no_games(source.name, length))
                if broken is None and read > 1 and 10 * (read - len(bad)) < read:
                    broken = _hardly_whole(bad[0][0], read - len(bad), read)
            done += size
        if not tally.games_read:
            raise tally.without_games[0]
        write_whole(tally.refused, "".join(_json_line(*line) + "\n" for line in refused))
        if not tally.rows:
            raise _nothing_usable(refused[0][0] if refused else None, tally, source_name(sources[0]))
        if broken is not None and not lenient:
            raise broken
    return tally


def _count(tally: Tally, games: PdnGames, lenient: bool) -> list[tuple[PdnError, bool]]:
    """Count games; return the errors of those that are not whole, each with whether it rejects the game.

    Raises:
        PdnError: a square 0, unless it is lenient.
    """
    chunk, found, whole = games.chunk, games.games, games.whole
    played, known = found["plies"] > 0, found["result"] != NO_RESULT
    tally.games_read += len(found)
    tally.games_kept += int(whole.sum())
    tally.games_truncated += int((~whole & played).sum())
    tally.games_rejected += int((~whole & ~played).sum())
    tally.games_without_moves += int((whole & ~played).sum())
    tally.plies += int(found["plies"].sum())
    tally.rows += int(found["rows"].sum())
    tally.result_conflicts += int(found["conflict"].sum())
    tags = (chunk.tag(g, RESULT_TAG) for g in np.flatnonzero(~known).tolist())
    tally.results_unread += sum(tag not in (None, "", "?") for tag in tags)
    tally.forfeits += int((games.starts["forfeit"] & known & (found["result"] != UNKNOWN) & played).sum())
    refused = []
    for g in np.flatnonzero(~whole).tolist():
        error = games.read(g).problem
        assert error is not None, "both readers agree"
        if SQUARE_0 in error.reason and not lenient:
            error.reason += "; give --from-zero if this file counts them from 0, or --lenient if it errs"
            raise error
        known_reasons = (name for words, name in _CATEGORIES.items() if words in error.reason)
        tally.reasons[next(known_reasons, "other")] += 1
        refused.append((error, not played[g]))
    return refused


def _hardly_whole(first: PdnError, whole: int, read: int) -> PdnError:
    """The error of a file of which hardly a game is whole, with the place and reason of the first error."""
    rest = f"only {whole} of {read:,} games are" if whole else f"none of {read:,} games is"
    reason = f"{first.reason}; {rest} whole: of another kind? --lenient keeps the moves before the errors"
    return PdnError(reason, first.path, first.line, first.game, first.ply)


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


_CATEGORIES = {
    "a move or a result": "unreadable text",
    "is illegal": "illegal move",
    "is ambiguous": "ambiguous capture",
    SQUARE_0: "square 0",
    "another variant": "another kind of draughts",
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
    return printable(json.dumps(line, ensure_ascii=False))
