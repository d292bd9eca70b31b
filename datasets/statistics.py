"""Statistics of a data set: one pass over its row groups, whole columns at a time, in bounded memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ckai.datasets.files import first_line
from ckai.datasets.reader import RowFiles
from ckai.datasets.rows import Rows
from ckai.datasets.schema import DatasetError, headers_path
from ckai.datasets.split import position_keys
from ckai.game.kernels import JUMP_TO, STEP_TO
from ckai.game.squares import SQUARES

Counts = NDArray[np.int64]
ProgressCallback = Callable[[int, int], None]
"""Called with the rows done and the rows in all."""

PHASE_PLIES = 10
_PHASES = 3277  # as many as a game of 32,767 plies has
_RESULTS = ("white", "drawn", "black", "unknown")
_KEY_BYTES = 24  # memory for the key of one position while keys are sorted


@dataclass(frozen=True)
class Phase:
    """Plies `first_ply` to `first_ply` + 9 of all games."""

    first_ply: int
    plies: int
    rows: int
    forced: float
    """Share of rows with one legal hop."""
    legal_hops: float
    """Mean number of legal hops of a row."""
    captures: float
    """Share of plies that capture."""
    king_moves: float
    """Share of plies played by a king."""
    pieces: float
    """Mean number of pieces on the board."""
    kings: float
    """Mean number of kings on the board."""


@dataclass(frozen=True)
class Repeats:
    """Repeated positions: equal board (in mover's view) and jumper."""

    positions: int
    """Distinct positions."""
    positions_repeated: int
    """Distinct positions that occur more than once."""
    rows_repeated: int
    """Rows whose position occurs in another row too."""
    share: float
    """`rows_repeated` as a share of all rows."""
    rows_seen_before: int
    """Rows whose position occurs in an earlier row: all but the first of each."""
    share_seen_before: float
    """`rows_seen_before` as a share of all rows."""
    most: int
    """Rows of the most frequent position."""


@dataclass(frozen=True)
class Lengths:
    """Length of games in plies."""

    least: int
    mean: float
    median: float
    most: int


@dataclass(frozen=True)
class Headers:
    """Contents of the games' headers; each list has the most frequent (name, games) first."""

    games: int
    players: int
    events: int
    openings: int
    top_players: list[tuple[str, int]]
    top_events: list[tuple[str, int]]
    top_openings: list[tuple[str, int]]


@dataclass(frozen=True)
class Statistics:
    """Statistics of a data set; see `describe`."""

    files: list[str]
    rows: int
    games: int
    plies: int
    results: dict[str, int]
    """Games won by `black` and by `white`, `drawn`, and of `unknown` result."""
    lengths: Lengths
    forced_rows: int
    forced_share: float
    legal_hops: float
    """Mean number of legal hops of a row."""
    capture_rows: int
    """Hops that capture a piece."""
    capture_plies: int
    """Moves that capture at least one piece."""
    multi_jumps: int
    """Moves that capture at least two pieces."""
    most_captured: int
    """Most pieces captured by one move."""
    king_plies: int
    """Moves played by a king."""
    crownings: int
    repeats: Repeats
    phases: list[Phase]
    headers: Headers | None
    """None if there is no headers file."""
    from_squares: list[int]
    """`[32]`: hops that leave PDN square i + 1."""
    to_squares: list[int]
    """`[32]`: hops that land on PDN square i + 1."""
    games_of_length: list[int]
    """Entry i: games of i plies."""
    games_of_length_by_result: dict[str, list[int]]
    """`games_of_length` for each result, named as in `results`."""

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain dicts, lists and numbers."""
        return asdict(self)


def describe(
    paths: str | Path | Sequence[str | Path],
    *,
    memory_mb: int = 512,
    progress: ProgressCallback | None = None,
) -> Statistics:
    """Compute the statistics of a data set.

    Args:
        paths: one or several row files, taken as one data set.
        memory_mb: MiB for the keys of positions; a data set that needs more is read several times.
        progress: called with the rows read and the rows to read in all.

    Raises:
        DatasetError: a file that is missing, damaged, or of another format.

    Examples:
        >>> statistics = describe(["games.parquet"])
        >>> statistics.games, statistics.plies, statistics.results
        (2, 11, {'black': 1, 'white': 0, 'drawn': 1, 'unknown': 0})
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    files = RowFiles(paths)
    per_pass = max(1, memory_mb * 2**20 // _KEY_BYTES)
    passes = -(-files.rows // per_pass)
    total = files.rows * passes
    tally = _Tally()
    keys: list[NDArray[np.uint64]] = []
    done = 0
    last_file = None
    for file, group in files.groups:
        rows = file.read(group)
        if not len(rows):
            continue
        tally.add(rows, *file.turns(group), new_file=file is not last_file)
        last_file = file
        keys.append(_share(position_keys(rows.board, rows.jumper), 0, passes))
        done += len(rows)
        if progress:
            progress(done, total)
    repeats = _Repeats()
    repeats.add(keys)
    for part in range(1, passes):
        keys = []
        for file, group in files.groups:
            _, board, jumper = file.positions(group)
            keys.append(_share(position_keys(board, jumper), part, passes))
            done += len(jumper)
            if progress:
                progress(done, total)
        repeats.add(keys)
    names = [str(path) for path in paths]
    return tally.finish(names, repeats.finish(files.rows), _headers([Path(path) for path in paths]))


class _Tally:
    """Sums over blocks of rows."""

    def __init__(self) -> None:
        self.rows = self.games = self.plies = 0
        self.capture_plies = self.multi_jumps = self.most_captured = self.king_plies = self.crownings = 0
        self.squares = np.zeros((2, SQUARES), np.int64)
        self.lengths = np.zeros((4, 1), np.int64)  # lost, drawn, won for Black, unknown; by plies
        # By phase: plies, rows, forced, legal hops, captured plies, king plies, pieces, kings, captures
        self.phases = np.zeros((9, _PHASES), np.int64)
        self._game: int | None = None  # the game that the last block ended in; below, its plies and result
        self._length = self._result = 0

    def add(self, rows: Rows, black: NDArray[np.bool_], hop: NDArray[np.int8], *, new_file: bool) -> None:
        """Add a block of rows; the first block of a file always begins a new game."""
        n = len(rows)
        at = np.arange(n)
        first = hop == 0
        origin, action = rows.label >> 2, rows.label
        capture = rows.board[at, STEP_TO[action]] < 0
        to = np.where(capture, JUMP_TO[action], STEP_TO[action])
        king = rows.board[at, origin] == 3
        legal = np.bitwise_count(np.ascontiguousarray(rows.legal).view(np.uint64)).sum(1, dtype=np.int64)
        pieces = (rows.board != 0).sum(1)
        kings = (np.abs(rows.board) == 3).sum(1)

        begins = self._games(rows, first, black, new_file)
        self.rows += n
        self.games += int(begins.sum())
        self.plies += int(first.sum())
        self.capture_plies += int((capture & first).sum())
        self.multi_jumps += int((hop == 1).sum())
        self.most_captured = max(self.most_captured, int((hop[capture] + 1).max(initial=0)))
        self.king_plies += int((king & first).sum())
        self.crownings += int((~king & (to >= 28)).sum())
        for row, squares in enumerate((origin, to)):
            self.squares[row] += np.bincount(np.where(black, squares, 31 - squares), minlength=SQUARES)
        phase = np.maximum(rows.ply, 0) // PHASE_PLIES
        one = np.ones(n, np.int64)
        columns = (first, one, legal == 1, legal, capture & first, king & first, pieces, kings, capture)
        for row, column in enumerate(columns):
            # Sums of whole numbers, far below 2**53: exact in floating point.
            self.phases[row] += np.bincount(phase, column, minlength=_PHASES).astype(np.int64)

    def _games(
        self, rows: Rows, first: NDArray[np.bool_], black: NDArray[np.bool_], new_file: bool
    ) -> NDArray[np.bool_]:
        """Which rows begin a game, `[N]` bool; counts the games that ended, by result and length."""
        begins = np.empty(len(rows), np.bool_)
        begins[1:] = rows.game[1:] != rows.game[:-1]
        begins[0] = new_file or rows.game[0] != self._game
        starts = np.flatnonzero(begins)
        result = np.where(rows.z_known, np.where(black, rows.z, -rows.z) + 1, 3).astype(np.int64)
        # Plies of the games: the one continued from the last block, those that end here, the one still open.
        starts = np.concatenate([[0], starts[starts > 0]])
        plies = np.add.reduceat(first, starts, dtype=np.int64)
        if begins[0]:
            self._close()
        plies[0] += self._length
        results = result[starts]
        if not begins[0]:
            results[0] = self._result
        self._count_lengths(plies[:-1], results[:-1])
        self._game, self._length, self._result = int(rows.game[-1]), int(plies[-1]), int(results[-1])
        return begins

    def _close(self) -> None:
        if self._game is not None:
            self._count_lengths(np.array([self._length]), np.array([self._result]))
        self._length = 0

    def _count_lengths(self, plies: Counts, results: Counts) -> None:
        longest = self.lengths.shape[1]
        width = max(longest, int(plies.max(initial=0)) + 1)
        counts = np.bincount(results * width + plies, minlength=4 * width).reshape(4, width)
        counts[:, :longest] += self.lengths
        self.lengths = counts

    def finish(self, files: list[str], repeats: Repeats, headers: Headers | None) -> Statistics:
        """The statistics from the sums."""
        self._close()
        forced, legal = int(self.phases[2].sum()), int(self.phases[3].sum())
        white, drawn, black, unknown = self.lengths.sum(1).tolist()
        lengths = self.lengths.sum(0)
        return Statistics(
            files=files,
            rows=self.rows,
            games=self.games,
            plies=self.plies,
            results={"black": black, "white": white, "drawn": drawn, "unknown": unknown},
            lengths=_lengths(lengths),
            forced_rows=forced,
            forced_share=forced / self.rows,
            legal_hops=legal / self.rows,
            capture_rows=int(self.phases[8].sum()),
            capture_plies=self.capture_plies,
            multi_jumps=self.multi_jumps,
            most_captured=self.most_captured,
            king_plies=self.king_plies,
            crownings=self.crownings,
            repeats=repeats,
            phases=[self._phase(i) for i in np.flatnonzero(self.phases[1]).tolist()],
            headers=headers,
            from_squares=self.squares[0].tolist(),
            to_squares=self.squares[1].tolist(),
            games_of_length=lengths.tolist(),
            games_of_length_by_result=dict(zip(_RESULTS, self.lengths.tolist(), strict=True)),
        )

    def _phase(self, i: int) -> Phase:
        plies, rows, forced, legal, captures, king_moves, pieces, kings, _ = self.phases[:, i].tolist()
        return Phase(
            first_ply=i * PHASE_PLIES,
            plies=plies,
            rows=rows,
            forced=forced / rows,
            legal_hops=legal / rows,
            captures=captures / max(1, plies),
            king_moves=king_moves / max(1, plies),
            pieces=pieces / rows,
            kings=kings / rows,
        )


class _Repeats:
    """Counts of equal keys; no key occurs in two passes."""

    def __init__(self) -> None:
        self.positions = self.positions_repeated = self.rows_repeated = self.most = 0

    def add(self, keys: list[NDArray[np.uint64]]) -> None:
        """Count the keys of one pass; empties the list."""
        mixed = np.concatenate(keys)
        keys.clear()
        if not len(mixed):
            return
        mixed.sort()
        ends = np.flatnonzero(np.concatenate([mixed[1:] != mixed[:-1], [True]]))
        counts = np.diff(ends, prepend=-1)
        again = counts[counts > 1]
        self.positions += len(counts)
        self.positions_repeated += len(again)
        self.rows_repeated += int(again.sum())
        self.most = max(self.most, int(counts.max()))

    def finish(self, rows: int) -> Repeats:
        """The statistics from the counts."""
        before = rows - self.positions
        return Repeats(
            positions=self.positions,
            positions_repeated=self.positions_repeated,
            rows_repeated=self.rows_repeated,
            share=self.rows_repeated / rows,
            rows_seen_before=before,
            share_seen_before=before / rows,
            most=self.most,
        )


def _share(keys: NDArray[np.uint64], part: int, parts: int) -> NDArray[np.uint64]:
    return keys if parts == 1 else keys[keys % np.uint64(parts) == part]


def _lengths(games: Counts) -> Lengths:
    plies = np.flatnonzero(games)
    upto = np.cumsum(games)
    total = int(upto[-1])
    middle = [int(np.searchsorted(upto, half, side="right")) for half in ((total - 1) // 2, total // 2)]
    return Lengths(
        least=int(plies[0]),
        mean=float((np.arange(len(games)) * games).sum() / total),
        median=sum(middle) / 2,
        most=int(plies[-1]),
    )


def _headers(paths: list[Path]) -> Headers | None:
    """Contents of the headers files beside the rows; None if there are none."""
    files = [headers_path(path) for path in paths if headers_path(path).exists()]
    if not files:
        return None
    games = 0
    names: dict[str, Counter[str]] = {"player": Counter(), "event": Counter(), "opening": Counter()}
    for path in files:
        try:
            file = pq.ParquetFile(path)
            for batch in file.iter_batches(columns=["black", "white", "event", "opening"]):
                games += batch.num_rows
                for column, name in zip(batch.columns, ("player", "player", "event", "opening"), strict=True):
                    names[name].update(n for n in column.to_pylist() if n and n != "?")
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            reason = first_line(error)
            raise DatasetError(
                f"{path}: expected the headers of games, found another file ({reason})"
            ) from error
    players, events, openings = names["player"], names["event"], names["opening"]
    return Headers(
        games=games,
        players=len(players),
        events=len(events),
        openings=len(openings),
        top_players=players.most_common(5),
        top_events=events.most_common(5),
        top_openings=openings.most_common(5),
    )
