"""Convert PDN files to rows: `ckai parse` as a function."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.files import write_whole
from ckai.datasets.games import PdnGames, no_games
from ckai.datasets.schema import EXPERT_SCHEMA, HEADERS_SCHEMA, check_rows_path, headers_path
from ckai.datasets.writer import from_numpy, table_writer, to_numpy
from ckai.game.text import printable
from ckai.pdn import PdnError
from ckai.pdn.kernels import FINE
from ckai.pdn.lexer import NO_RESULT, UNKNOWN
from ckai.pdn.reader import SQUARE_0
from ckai.pdn.segments import RESULT_TAG, RESULT_TEXT
from ckai.pdn.sources import STDIN, open_sources, source_name, source_size
from ckai.pdn.stream import Chunk, read_chunks


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
    """Games with the first position and the moves of a better copy; a game cut short by an error is one where
    another begins with its moves. They are kept, and counted there, unless `parse_files` drops them."""
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
    stray_words: int = 0
    """Words outside all games, skipped."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Truncated and rejected games by category of error."""
    without_games: list[PdnError] = field(default_factory=list)
    """The errors of the files skipped because they have no games."""

    def count(self, games: NDArray[Any], sign: int = 1) -> None:
        """Count `[G]` GAMES, or with -1 take them away."""
        played = games["plies"] > 0
        self.games_kept += sign * int(games["whole"].sum())
        self.games_truncated += sign * int((~games["whole"] & played).sum())
        self.games_rejected += sign * int((~games["whole"] & ~played).sum())
        self.games_without_moves += sign * int((games["whole"] & ~played).sum())
        self.plies += sign * int(games["plies"].sum())
        self.rows += sign * int(games["rows"].sum())
        self.result_conflicts += sign * int(games["conflict"].sum())
        self.results_unread += sign * int(games["unread"].sum())
        self.forfeits += sign * int(games["forfeit"].sum())


ProgressCallback = Callable[[int, int, Tally], None]
"""Called with the stored bytes read, the bytes in all (0 if unknown), and the tally so far."""


def parse_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    lenient: bool = False,
    from_zero: bool = False,
    dedupe: bool = False,
    progress: ProgressCallback | None = None,
) -> Tally:
    """Convert the games of PDN files to rows and headers, and list the games that are incomplete.

    Rows number the games from 0 across all files, messages and the list from 1 within each file. A game with
    an error keeps the legal moves before it; a game without any legal move, of another draughts variant or
    from an impossible position is rejected. Games without moves are kept and have no rows.

    Games with the same first position (halfmove clock aside) and the same moves are duplicates, whatever
    their tags. They are kept, and fall on one side of a split, as all copies do (`ckai.datasets.split`).

    Args:
        paths: one or several PDN files: plain, gzip, bzip2, zip (the `.pdn` files in it), or "-" for standard
            input.
        output: the Parquet file of rows to write, a name that ends in `.parquet`; an existing one is
            replaced. The headers (`<name>.headers.parquet`) and the list of incomplete games
            (`<name>.refused.jsonl`) are written beside it. If no game can be used, only the list is.
        lenient: also keep what can be read of a file with a square 0, and of one in which fewer than a tenth
            of two or more games are whole.
        from_zero: read the squares of moves, but not of FENs, as numbered from 0.
        dedupe: drop duplicates; of each game the whole, then the longest, then the best tagged copy stays.
            They count as rejected and are listed with the others.
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
    with ExitStack() as stack:
        rows = stack.enter_context(table_writer(output))
        headers = stack.enter_context(table_writer(headers_path(output), HEADERS_SCHEMA))
        write = rows.write
        if dedupe:  # rows wait, in a file without a name, until it is known which games are dropped
            waiting = stack.enter_context(TemporaryFile(dir=output.parent))
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            spool = pa.ipc.new_stream(waiting, EXPERT_SCHEMA, options=options)
            write = spool.write_table
        converter = _Converter(tally, write, lenient=lenient)
        refused, broken = _convert(converter, sources, sizes, progress, from_zero)
        games = converter.games()
        families = converter.families(games)
        tally.duplicates = sum(len(family) - 1 for family in families)
        dropped = sorted(copy for family in families for copy in family[1:]) if dedupe else []
        if dropped:
            for best, *copies in families:
                for copy in copies:
                    refused[copy] = (converter.describe_copy(copy, best, games), True)
            tally.count(games[dropped], -1)
            tally.games_rejected += len(dropped)
        lines = [refused[number] for number in sorted(refused)]
        tally.reasons.update(_category(error) for error, _ in lines)
        write_whole(tally.refused, "".join(_json_line(*line) + "\n" for line in lines))
        if not tally.rows:
            raise _nothing_usable(lines[0][0] if lines else None, tally, source_name(sources[0]))
        if broken is not None and not lenient:
            raise broken
        for table in converter.headers:
            headers.write(_without(table, dropped))
        if dedupe:
            spool.close()
            waiting.seek(0)
            for batch in pa.ipc.open_stream(waiting):
                rows.write(_without(pa.Table.from_batches([batch]), dropped))
    return tally


def _convert(
    converter: "_Converter",
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    progress: ProgressCallback | None,
    from_zero: bool,
) -> tuple[dict[int, tuple[PdnError, bool]], PdnError | None]:
    """Convert all files.

    Returns:
        The errors of incomplete games by number, each with whether it rejects the game; and the error of the
        first file of which hardly a game is whole.
    """
    tally = converter.tally
    refused: dict[int, tuple[PdnError, bool]] = {}
    broken: PdnError | None = None
    total = 0 if STDIN in map(str, sources) else sum(sizes)
    done = 0
    for path, size in zip(sources, sizes, strict=True):
        for source in open_sources(path):
            before, bad = tally.games_read, len(refused)
            length = 0
            converter.sources.append((source.name, before))
            for chunk in read_chunks(source.file, from_zero=from_zero):
                for number, error, rejected in converter.convert(chunk, before, source.name):
                    refused[number] = error, rejected
                length = chunk.offset + len(chunk.data)
                if progress:
                    progress(done + (source.raw.tell() if source.raw else 0), total, tally)
            if tally.games_read == before:
                tally.without_games.append(no_games(source.name, length))
            bad, read = len(refused) - bad, tally.games_read - before
            if broken is None and read > 1 and 10 * (read - bad) < read:
                broken = _hardly_whole(refused[min(n for n in refused if n >= before)][0], read - bad, read)
        done += size
    if not tally.games_read:
        raise tally.without_games[0]
    return refused, broken


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


def _category(error: PdnError) -> str:
    """The reason without the details of this game."""
    return next((category for words, category in _CATEGORIES.items() if words in error.reason), "other")


_CATEGORIES = {
    ", but the result": "with the moves of another game and another result",
    "moves of game": "with the moves of another game",
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


GAMES = np.dtype(
    [
        ("source", np.int32),  # index of its file in `_Converter.sources`
        ("line", np.int64),  # where it starts, from 1
        ("plies", np.int32),
        ("rows", np.int32),
        ("whole", np.bool_),
        ("tags", np.int8),  # how many of those that the readers need say something
        ("result", np.uint8),
        ("conflict", np.bool_),  # see `Tally.result_conflicts`
        ("unread", np.bool_),  # see `Tally.results_unread`
        ("forfeit", np.bool_),  # see `Tally.forfeits`
    ]
)


class _Converter:
    """Writes the rows of chunks, and remembers the games to find duplicates (about 200 bytes a game).

    Args:
        tally: counts what is converted.
        write: writes a table of rows.
        lenient: see `parse_files`.
    """

    def __init__(self, tally: Tally, write: Callable[[pa.Table], None], *, lenient: bool) -> None:
        self.tally, self.write, self.lenient = tally, write, lenient
        self.sources: list[tuple[str, int]] = []
        """The files: name, and number of the games before it."""
        self.headers: list[pa.Table] = []
        self._games: list[NDArray[Any]] = []
        self._keys: list[bytes] = []
        """First position and actions of each game, empty for one without moves."""

    def convert(self, chunk: Chunk, first: int, path: str) -> Iterator[tuple[int, PdnError, bool]]:
        """Write a chunk's games; yield those with an error: number, error, whether it rejects the game.

        Raises:
            PdnError: a square 0, unless it is lenient.
        """
        self.tally.stray_words += chunk.stray
        count = len(chunk.segments)
        if not count:
            return
        number = first + chunk.number
        played = PdnGames(chunk, number, path)
        games, starts = played.games, played.starts
        self._note_keys(games, starts, played.columns.label)
        self.write(played.table())
        noted = self._note(chunk, games, starts)
        self.tally.games_read += count
        self.tally.count(noted)
        kept = np.flatnonzero(noted["whole"] | (noted["plies"] > 0))
        self.headers.append(played.found(kept))
        for g in np.flatnonzero(~noted["whole"]).tolist():
            error = played.read(g).problem
            if error is None:
                raise RuntimeError(f"{path}: game {chunk.number + g + 1}: the two readers disagree")
            if SQUARE_0 in error.reason and not self.lenient:
                error.reason += "; give --from-zero if this file counts them from 0, or --lenient if it errs"
                raise error
            yield number + g, error, not games["plies"][g]

    def _note_keys(self, games: NDArray[Any], starts: NDArray[Any], actions: NDArray[np.uint8]) -> None:
        boards = np.stack(
            [starts[name].astype(np.uint32) for name in ("own", "opp", "kings", "black")], axis=1
        )
        positions, played = boards.tobytes(), actions.tobytes()
        width = boards.itemsize * boards.shape[1]
        for i, (row, count) in enumerate(
            zip(games["first_row"].tolist(), games["rows"].tolist(), strict=True)
        ):
            start = positions[i * width : (i + 1) * width]
            self._keys.append(start + played[row : row + count] if count else b"")

    def _note(self, chunk: Chunk, games: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
        """Remember the games of a chunk; `[G]` GAMES."""
        noted = np.zeros(len(games), GAMES)
        tags, known = chunk.segments["tags"], games["result"] != NO_RESULT
        says = (tags[:, :, 1] > tags[:, :, 0]) & (
            chunk.data[np.minimum(tags[:, :, 0], len(chunk.data) - 1)] != ord("?")
        )
        for name in ("plies", "rows", "result", "conflict"):
            noted[name] = games[name]
        noted["source"] = len(self.sources) - 1
        noted["line"] = chunk.segments["line"].astype(np.int64) + chunk.line + 1
        noted["whole"] = games["problem"] == FINE
        noted["tags"] = says.sum(1)
        noted["unread"] = ~known & says[:, RESULT_TAG]
        noted["forfeit"] = starts["forfeit"] & known & (games["result"] != UNKNOWN) & (games["rows"] > 0)
        self._games.append(noted)
        return noted

    def games(self) -> NDArray[Any]:
        """`[G]` GAMES of all files."""
        return np.concatenate([*self._games, np.zeros(0, GAMES)])

    def families(self, games: NDArray[Any]) -> list[list[int]]:
        """The numbers of games that are copies of each other, two or more a family, the best of them first.

        The best one is whole, then the longest, then the one with the most tags, then the first. A game that
        an error cut short is a copy of any that begins with its moves.
        """
        order = sorted(filter(self._keys.__getitem__, range(len(games))), key=self._keys.__getitem__)
        families: list[list[int]] = []
        after = b""
        for key, group in reversed([(key, [*same]) for key, same in groupby(order, self._keys.__getitem__)]):
            if after.startswith(key) and not games["whole"][group].any():
                families[-1] += group
            else:
                families.append(group)
            after = key

        def worth(number: int) -> tuple[Any, ...]:
            game = games[number]
            return not game["whole"], -int(game["plies"]), -int(game["tags"]), number

        return [sorted(family, key=worth) for family in families if len(family) > 1]

    def describe_copy(self, copy: int, best: int, games: NDArray[Any]) -> PdnError:
        """The reason why a copy is dropped."""
        (path, before), (other, earlier) = (self.sources[games["source"][n]] for n in (copy, best))
        what = "the moves" if games["plies"][copy] == games["plies"][best] else "the first moves"
        reason = f"has the first position and {what} of game {best - earlier + 1}"
        reason += "" if other == path else f" of {other}"
        have, has = (int(games["result"][n]) for n in (copy, best))
        if have != has and not {have, has} & {NO_RESULT, UNKNOWN}:
            reason += f", but the result {RESULT_TEXT[have]}, there {RESULT_TEXT[has]}"
        return PdnError(reason, path, int(games["line"][copy]), copy - before + 1)


def _without(table: pa.Table, dropped: list[int]) -> pa.Table:
    """The rows of other games than those dropped."""
    return table.filter(from_numpy(~np.isin(to_numpy(table["game"]), dropped))) if dropped else table
