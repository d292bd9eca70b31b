"""The games of PDN collections and row files: searched, and converted to rows and PDN."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import first_line, write_whole
from ckai.datasets.reader import RowFile, RowFiles
from ckai.datasets.schema import (
    EXPERT_SCHEMA,
    HEADERS_SCHEMA,
    DatasetError,
    check_rows_path,
    from_numpy,
    from_strings,
    headers_path,
    row_table,
    table_writer,
    to_numpy,
)
from ckai.game import Game, Position
from ckai.game.kernels import JUMP_TO, STEP_TO
from ckai.game.openings import POSITIONS, openings_by_position
from ckai.game.squares import SQUARES
from ckai.game.text import printable
from ckai.pdn import PdnError, PdnGame, from_game, write_game
from ckai.pdn.lexer import RESULT_TEXT
from ckai.pdn.reader import SQUARE_0, UNKNOWN_Z, PlayedGames
from ckai.pdn.sources import STDIN, Chunk, open_sources, read_chunks, source_name, source_size

_RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1", None: "*"}
_NOTHING = (None, "", "?")
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
"""Kinds of what stops the reader, by words of its reason."""


@dataclass(frozen=True)
class Query:
    """What games must have; each part that is left out says nothing. Texts are parts, in any case."""

    player: str = ""
    """Of the name of Black or White."""
    opening: str = ""
    """Of the opening's name."""
    event: str = ""
    result: str = ""
    """As PDN; "1-0": Black won."""
    positions: tuple[Position, ...] = ()
    """All reached, at the start, between two moves or at the end; the halfmove clock does not count."""
    min_plies: int = 0


class Games(ABC):
    """Whole games of one source.

    Attributes:
        headers: `HEADERS_SCHEMA`, one row a game.
        name: of the file.
    """

    headers: pa.Table
    name: str

    @abstractmethod
    def table(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of the rows, in order of play."""

    @abstractmethod
    def texts(self, which: NDArray[np.int64]) -> Iterator[str]:
        """Yield the games at `which`, in ascending order, as PDN."""

    def found(self, which: NDArray[np.int64]) -> pa.Table:
        """Return the headers of the games at `which`."""
        return self.headers.take(from_numpy(which))

    def rows(
        self, which: NDArray[np.int64], first: int = 0, schema: pa.Schema = EXPERT_SCHEMA
    ) -> tuple[pa.Table, pa.Table]:
        """Return the rows and the headers of the games at `which`, which are numbered anew from `first`."""
        headers, table = self.found(which).sort_by("game"), self.table(schema.names).cast(schema)
        numbers = _column(headers, "game")
        table = table.filter(from_numpy(np.isin(_column(table, "game"), numbers)))
        fresh = np.searchsorted(numbers, _column(table, "game")) + first
        field, every = schema.field("game"), np.arange(first, first + len(numbers))
        return (
            table.set_column(0, field, from_numpy(fresh.astype(np.int32))),
            headers.set_column(0, field, from_numpy(every.astype(np.int32))),
        )

    def find(self, query: Query) -> NDArray[np.int64]:
        """Return the indices of the games that have what is asked for."""
        headers = self.headers
        found = _column(headers, "plies") >= query.min_plies
        parts = {"black white": query.player, "opening": query.opening, "event": query.event}
        for names, part in (parts | {"result": query.result}).items():
            if part:
                has = [pc.match_substring(headers[name], part, ignore_case=True) for name in names.split()]
                found = found & to_numpy(pc.or_kleene(has[0], has[-1]))
        for position in query.positions:
            game, _, black, masks = self._positions
            wanted = np.array([position.own, position.opp, position.kings], np.uint32)
            at = game[(masks == wanted).all(1) & (black == position.black)]
            found = found & np.isin(_column(headers, "game"), at)
        return np.flatnonzero(found)

    @cached_property
    def _positions(self) -> tuple[NDArray[Any], ...]:
        """Game, ply, whether Black is to move, and `_masks` of the positions between moves and at the end."""
        table = self.table(("game", "ply", "hop", "black", "board", "label"))
        if table.schema.field("board").type.list_size != SQUARES:
            raise DatasetError(f"{self.name}: expected checkers, to search for positions, found another game")
        game, ply, hop, black, board, label = (_column(table, name) for name in table.column_names)
        first = np.flatnonzero(hop == 0)
        last = np.flatnonzero(np.append(game[1:] != game[:-1], True)[: len(game)])
        return (
            np.concatenate([game[first], game[last]]),
            np.concatenate([ply[first], ply[last] + 1]),
            np.concatenate([black[first], ~black[last]]),
            _masks(np.concatenate([board[first], _after(board[last], label[last])])),
        )

    def _name_openings(self, headers: pa.Table) -> pa.Table:
        """Name the openings of the games whose tags do not, see `ckai.game.openings`."""
        pairs = list(zip(headers["opening"].to_pylist(), headers["game"].to_pylist(), strict=True))
        if all(name not in _NOTHING for name, _ in pairs):
            return headers
        game, ply, black, masks = self._positions
        early = np.flatnonzero(ply < POSITIONS)
        early = early[np.argsort(ply[early], kind="stable")]  # of each game the last name counts
        columns = game[early], *masks[early].T[:2], black[early]
        keys = zip(*(column.tolist() for column in columns), strict=True)
        known = openings_by_position()
        names = {number: known[key] for number, *rest in keys if (key := tuple(rest)) in known}  # type: ignore[index]
        filled = from_strings([names.get(number) if name in _NOTHING else name for name, number in pairs])
        at = headers.schema.get_field_index("opening")
        return headers.set_column(at, HEADERS_SCHEMA.field(at), filled)


def _masks(board: NDArray[np.int8]) -> NDArray[np.uint32]:
    """`[N, 3]` uint32: own pieces, the opponent's and kings of `[N, 32]` boards, as `Position` has them."""
    sides = np.stack([board > 0, board < 0, abs(board) == 3], axis=1)
    masks: NDArray[np.uint32] = np.packbits(sides, axis=2, bitorder="little").view(np.uint32)[:, :, 0]
    return masks


def _after(board: NDArray[np.int8], label: NDArray[np.uint8]) -> NDArray[np.int8]:
    """`[N, 32]` the boards after hops that end the turn, in the view of the next side to move."""
    board, at, origin, middle = board.copy(), np.arange(len(board)), label >> 2, STEP_TO[label]
    jumps, piece = board[at, middle] < 0, board[at, origin]
    to = np.where(jumps, JUMP_TO[label], middle)
    board[at, origin] = 0
    board[at[jumps], middle[jumps]] = 0
    board[at, to] = np.where(to >= 28, 3, piece)
    return -board[:, ::-1]


class PdnGames(Games):
    """The games of a chunk of PDN.

    Attributes:
        played: the games, played as far as they can be.
        readable: `[G]` bool, whether anything of a game can be read.
    """

    def __init__(self, chunk: Chunk, number: int, path: str = "") -> None:
        """Play the games; the first one is `number` in rows and headers, `path` names the source."""
        self.played, self.name = PlayedGames(chunk, number), path
        self.readable = self.played.whole | (self.played.games["plies"] > 0)
        self._table = row_table(self.played.columns._asdict(), UNKNOWN_Z)
        count, tags = len(self.readable), self.played.tags
        columns = {
            name: from_strings([of_game.get(name) for of_game in tags])
            for name in ("event", "date", "black", "white", "opening")
        } | {
            "game": from_numpy(np.arange(number, number + count, dtype=np.int32)),
            "result": from_strings([RESULT_TEXT[r] or "*" for r in self.played.results.tolist()]),
            "plies": from_numpy(self.played.games["plies"]),
            "line": from_numpy(chunk.lines(chunk.begins)),
            "source": from_strings([self.name] * count),
        }
        arrays = [columns[name] for name in HEADERS_SCHEMA.names]
        self.headers = self._name_openings(pa.Table.from_arrays(arrays, schema=HEADERS_SCHEMA))

    def table(self, names: Sequence[str] = EXPERT_SCHEMA.names) -> pa.Table:
        """See `Games.table`."""
        return self._table.select(names)

    def find(self, query: Query) -> NDArray[np.int64]:
        """See `Games.find`; games of which nothing can be read are not found."""
        return np.intersect1d(super().find(query), np.flatnonzero(self.readable))

    def read(self, g: int) -> PdnGame:
        """Return a game with all that was written of it."""
        return self.played.read(g, self.name)

    def texts(self, which: NDArray[np.int64]) -> Iterator[str]:
        """Yield games as they were written; one that cannot be read whole up to what stops the reader."""
        chunk = self.played.chunk
        for g in which.tolist():
            if self.played.whole[g]:
                first, last = chunk.tokens[chunk.games[g] - (0, 1)]
                yield chunk.text(int(first["start"]), int(last["end"])).strip() + "\n\n"
            else:
                yield write_game(self.read(g))


class RowGames(Games):
    """The games of a row file, with the headers next to it or in it; without any, with what the rows say.

    Attributes:
        file: the rows.
    """

    def __init__(self, file: RowFile) -> None:
        """Read the headers; DatasetError if they cannot be read."""
        self.file, self.name = file, str(file.path)
        self.headers = self._read_headers()
        if file.game == DEFAULT_GAME_NAME:
            self.headers = self._name_openings(self.headers)

    def table(self, names: Sequence[str]) -> pa.Table:
        """See `Games.table`; DatasetError for damaged data."""
        table, most = self.file.table(*names), 8 * self.file.schema.field("legal").type.byte_width
        if "label" in names and pc.max(table["label"]).as_py() >= most:
            raise DatasetError(f"{self.name}: expected actions below {most} in label, found others")
        return table

    def texts(self, which: NDArray[np.int64]) -> Iterator[str]:
        """Yield games of checkers; DatasetError for rows that cannot be."""
        every = self.file.read()
        shard = {each["game"]: each for each in (self.file.shard or {"games": []})["games"]}
        for header in self.found(which).sort_by("game").to_pylist():
            number = header["game"]
            rows = every.take(slice(*np.searchsorted(every.game, (number, number + 1))))
            played = Game()
            if len(rows):
                own, opp, kings = _masks(rows.board[:1])[0].tolist()
                played = Game(Position(own, opp, kings, bool(rows.black[0]), -1, int(rows.quiet[0])))
            for actions in np.split(rows.label, np.flatnonzero(rows.hop == 0)[1:]) if len(rows) else ():
                move = played.position.move_of(actions.tolist())
                if move is None:
                    raise DatasetError(f"{self.name}: expected moves that follow one another, found others")
                played.push(move)
            names = ("event", "date", "black", "white", "opening")
            tags = {name.capitalize(): header[name] for name in names if header[name] is not None}
            if shard:
                tags |= selfplay_tags(shard[number])
            yield write_game(from_game(played, tags, header["result"]))

    def _read_headers(self) -> pa.Table:
        path = headers_path(self.file.path)
        try:
            if self.file.shard is not None:
                games = [each for each in self.file.shard["games"] if each["game"] not in self.file.repeated]
                more = {"event": SELFPLAY_EVENT, "line": 0, "source": str(self.file.path)}
                return pa.Table.from_pylist([each | more for each in games], schema=HEADERS_SCHEMA)
            if path.exists():
                return pq.ParquetFile(path).read().select(HEADERS_SCHEMA.names).cast(HEADERS_SCHEMA)
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
            reason = first_line(error)
            raise DatasetError(
                f"{path}: expected the headers of games, found another file ({reason})"
            ) from error
        table = self.table(["game", "ply", "black", "z"])
        game = _column(table, "game")
        first = np.flatnonzero(np.append(True, game[1:] != game[:-1]))
        plies = _column(table, "ply")[np.append(first[1:], len(game)) - 1] + 1
        pairs = zip(table.take(first).to_pylist(), plies.tolist(), strict=True)
        rows = [
            {"game": row["game"], "plies": n, "line": 0, "source": self.name}
            | {"result": _RESULTS[row["z"] if row["black"] or not row["z"] else -row["z"]]}
            for row, n in pairs
        ]
        return pa.Table.from_pylist(rows, schema=HEADERS_SCHEMA)


SELFPLAY_EVENT = "self-play"
"""Event tag of games of self-play."""
ADJUDICATED = "adjudicated by endgame tables"
"""Termination tag of a game that ended with the result of the tables."""
RESIGNED = "resignation"
"""Termination tag of a game that ended by resignation."""
WOULD_RESIGN = "would have resigned"
"""Termination tag, after the side's name, of a game in which it would have resigned if that were enabled."""


def selfplay_tags(header: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a game of self-play, from its `ckai.rl.selfplay.shards.GameHeader` as a dict."""
    tags = {"Event": SELFPLAY_EVENT, "Round": str(header["game"])}
    tags |= {"Black": str(header["black"]), "White": str(header["white"])}
    ends = [ADJUDICATED] * header["adjudicated"] + [RESIGNED] * header["resigned"]
    ends += [f"{header['resigner']} {WOULD_RESIGN}"] if header["resigner"] else []
    return tags | ({"Termination": "; ".join(ends)} if ends else {})


def _column(table: pa.Table, name: str) -> NDArray[Any]:
    """A column as numpy; boards are `[N, 32]`."""
    array = table[name].combine_chunks()
    return to_numpy(array.flatten()).reshape(-1, 32) if name == "board" else to_numpy(array)


def find_games(paths: Sequence[str | Path], query: Query) -> Iterator[tuple[Games, NDArray[np.int64]]]:
    """Search PDN files, which may be packed, and row files (.parquet), in their order.

    Yields:
        Games of a part of a file, and the indices of those found.

    Raises:
        PdnError: no games in a file, or a damaged archive.
        DatasetError: a row file that cannot be used.
    """
    kept = [Path(path) for path in paths if Path(path).suffix == ".parquet"]
    files = dict(zip(kept, RowFiles(kept, None).files if kept else [], strict=True))
    for path in paths:
        if (file := files.get(Path(path))) is not None:
            games: Games = RowGames(file)
            yield games, games.find(query)
            continue
        for source in open_sources(path):
            length = count = 0
            for chunk in read_chunks(source):
                games = PdnGames(chunk, chunk.number + 1, source.name)
                length, count = chunk.offset + len(chunk.data), count + len(chunk.games)
                yield games, games.find(query)
            if not count:
                raise _no_games(source.name, length)


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
                    tally.without_games.append(_no_games(source.name, length))
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
    tally.plies += int(found["plies"].sum())
    tally.rows += int(found["rows"].sum())
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


@contextmanager
def rows_writer(
    output: Path, paths: Sequence[str | Path]
) -> Iterator[Callable[[Games, NDArray[np.int64]], None]]:
    """Write rows and, next to them, headers of games during a `with` block, numbered from 0.

    Searches are kept if the files at all `paths`, where the games are from, have them.

    Yields:
        A function that writes games at some indices.

    Raises:
        DatasetError: rows of several games.
        WriteError: they cannot be written.
    """
    files = [RowFile(path, None) if Path(path).suffix == ".parquet" else None for path in paths]
    kinds = {file.game if file else DEFAULT_GAME_NAME for file in files}
    if len(kinds) > 1:
        raise DatasetError(
            f"{output}: expected rows of one game, found rows of {' and '.join(sorted(kinds))}"
        )
    schema = files[0].schema if files[0] and all(file and file.selfplay for file in files) else EXPERT_SCHEMA
    with (
        table_writer(output, schema) as write_rows,
        table_writer(headers_path(output), HEADERS_SCHEMA) as write_headers,
    ):
        count = 0

        def write(games: Games, which: NDArray[np.int64]) -> None:
            nonlocal count
            rows, headers = games.rows(which, count, schema)
            write_rows(rows)
            write_headers(headers)
            count += len(which)

        yield write


def _no_games(name: str, length: int) -> PdnError:
    """Return the error of a source of `length` bytes in which there are no games."""
    found = f"{length:,} byte" if length == 1 else f"{length:,} bytes"
    return PdnError(
        'expected games of PDN (tags such as [Event "..."], moves such as 1. 11-15 22-18), '
        f"found none in {found}",
        name,
    )
