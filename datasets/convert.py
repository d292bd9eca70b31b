"""Convert PDN files to rows: `ckai parse` as a function."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ckai.datasets.files import write_whole
from ckai.datasets.games import PdnGames, no_games
from ckai.datasets.schema import HEADERS_SCHEMA, check_rows_path, headers_path, table_writer
from ckai.game.text import printable
from ckai.pdn import PdnError
from ckai.pdn.lexer import NO_RESULT, UNKNOWN
from ckai.pdn.reader import SQUARE_0
from ckai.pdn.sources import STDIN, open_sources, read_chunks, source_name, source_size


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
    forfeits: int = 0
    """Games with a result that their Termination tag says was not played (on time, an illegal move,
    abandoned): rows without z."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Truncated and rejected games by category of error."""
    without_games: list[PdnError] = field(default_factory=list)
    """The errors of the files skipped because they have no games."""


def parse_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tally:
    """Convert the games of PDN files to rows and headers, and list the games that are incomplete.

    Rows number the games from 0 across all files, messages and the list from 1 within each file. A game with
    an error keeps the legal moves before it; a game without any legal move, of another draughts variant or
    from an impossible position is rejected. Games without moves are kept and have no rows.

    Args:
        paths: one or several PDN files: plain, gzip, zip (the `.pdn` files in it), or "-" for standard
            input.
        output: the Parquet file of rows to write, a name that ends in `.parquet`; an existing one is
            replaced. The headers (`<name>.headers.parquet`) and the list of incomplete games
            (`<name>.refused.jsonl`) are written next to it. If no game can be used, only the list is.
        progress: called after each chunk of text with the stored bytes read, and the bytes in all; not for
            standard input.

    Returns:
        The tally. The output files appear under their names only when it is returned.

    Raises:
        PdnError: no games in any file, none with moves, or a damaged archive; or a file of which fewer than a
            tenth of two or more games are whole, or a tenth have a square 0 (the list says why).
        DatasetError: an output with another suffix than `.parquet`, or a name for headers.
        OSError: a file that cannot be read.
        WriteError: output that cannot be written, or is a folder, an OSError.
    """
    sources = [paths] if isinstance(paths, str | Path) else list(paths)
    output = Path(output)
    sizes = [source_size(path) for path in sources]
    check_rows_path(output)
    tally = Tally(output, output.with_name(f"{output.stem}.refused.jsonl"))
    refused: list[PdnError] = []
    broken: PdnError | None = None
    total = 0 if STDIN in map(str, sources) else sum(sizes)
    done = 0
    with (
        table_writer(output) as write_rows,
        table_writer(headers_path(output), HEADERS_SCHEMA) as write_headers,
    ):
        for path, size in zip(sources, sizes, strict=True):
            for source in open_sources(path):
                before, earlier, length = tally.games_read, len(refused), 0
                for chunk in read_chunks(source):
                    length = chunk.offset + len(chunk.data)
                    games = PdnGames(chunk, before + chunk.number, source.name)
                    refused += _count(tally, games)
                    write_rows(games.table())
                    write_headers(games.found(np.flatnonzero(games.readable)))
                    if total and source.raw:
                        progress(done + source.raw.tell(), total)
                if read := tally.games_read - before:
                    broken = broken or _broken(refused[earlier:], read, tally.refused)
                else:
                    tally.without_games.append(no_games(source.name, length))
            done += size
        if not tally.games_read:
            raise tally.without_games[0]
        write_whole(tally.refused, "".join(map(_json_line, refused)))
        if broken is None and not tally.rows:
            broken = PdnError("expected games with moves, found none with any", source_name(sources[0]))
            broken = _with(refused[0], "no game can be used", tally.refused) if refused else broken
        if broken is not None:
            raise broken
    return tally


def _count(tally: Tally, games: PdnGames) -> list[PdnError]:
    """Count games; return the errors of those that are not whole."""
    played = games.played
    found, whole, moved = played.games, played.whole, played.games["plies"] > 0
    tally.games_read += len(found)
    tally.games_kept += int(whole.sum())
    tally.games_truncated += int((~whole & moved).sum())
    tally.games_rejected += int((~whole & ~moved).sum())
    tally.games_without_moves += int((whole & ~moved).sum())
    tally.plies += int(found["plies"].sum())
    tally.rows += int(found["rows"].sum())
    decided = ~np.isin(played.results, (NO_RESULT, UNKNOWN))
    tally.forfeits += int((played.forfeit & decided & moved).sum())
    refused = []
    for g in np.flatnonzero(~whole).tolist():
        error = games.read(g).problem
        assert error is not None
        known_reasons = (name for words, name in _CATEGORIES.items() if words in error.reason)
        tally.reasons[next(known_reasons, "other")] += 1
        refused.append(error)
    return refused


def _broken(refused: list[PdnError], read: int, listed: Path) -> PdnError | None:
    """The error of a file of `read` games that is probably of another kind, with its first game's reason."""
    zeros, whole = [error for error in refused if SQUARE_0 in error.reason], read - len(refused)
    if zeros and 10 * len(zeros) >= read:
        return _with(zeros[0], "renumber the file if it counts them from 0", listed)
    if read > 1 and 10 * whole < read:
        return _with(refused[0], f"only {whole:,} of {read:,} games can be read whole", listed)
    return None


def _with(first: PdnError, more: str, listed: Path) -> PdnError:
    reason = f"{first.reason}; {more}; {source_name(listed)} says why"
    return PdnError(reason, first.path, first.line, first.game, first.ply)


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


def _json_line(error: PdnError) -> str:
    """A line of the list of incomplete games."""
    line = {
        "file": error.path,
        "line": error.line,
        "game": error.game,
        "ply": error.ply,
        "status": "truncated" if error.ply else "rejected",
        "reason": error.reason,
        "text": error.text,
        "legal": error.legal,
    }
    return printable(json.dumps(line, ensure_ascii=False)) + "\n"
