"""The row format: one Parquet row per hop, sorted by (game, ply, hop), and one headers row per game.

Columns have short names, in files as in memory (`Rows`, batches). Elsewhere the field's terms are used:

    label       the action played, 0..127: index * 4 + direction
    quiet       the halfmove clock
    z, q        the game's result and the search's root value, for the side to move
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.rows import Rows, Visits

SCHEMA_VERSION: Final = 1
VERSION_KEY: Final = b"ckai.rows"
"""Metadata key of the format's version."""
GAME_KEY: Final = b"ckai.game"
"""Metadata key of the game's name; absent for checkers."""
COPIES_KEY: Final = b"ckai.copies"
"""Metadata key of games with the moves (endgame rows: the position) of an earlier one: JSON, a list of
[game, first such game]; absent without any."""
LEGAL_MASK_BYTES: Final = 16
"""Bytes of the mask of legal actions in checkers, and in every game of 128 actions or fewer."""

_COLUMNS: Final = [
    # name, type, nullable
    ("game", pa.int32(), False),  # number of the game in the source
    ("ply", pa.int16(), False),  # 0-based half-move; hops of one move share it
    ("hop", pa.int8(), False),  # 0-based within the move
    ("black", pa.bool_(), False),  # Black is to move
    ("board", pa.list_(pa.int8(), 32), False),  # mover's view: 1 own man, 3 own king, -1 / -3 theirs, 0 empty
    ("jumper", pa.int8(), False),  # index of the piece that must continue a capture, -1 if none
    ("quiet", pa.int16(), False),  # plies since the last capture or man's move
    ("legal", pa.binary(LEGAL_MASK_BYTES), False),  # bit i of the 128: action i is legal, little-endian bits
    ("label", pa.uint8(), False),  # the action played
    ("z", pa.int8(), True),  # the game's result for the side to move: 1, 0, -1; null for '*'
]

_SELFPLAY_COLUMNS: Final = [
    ("q", pa.float32(), False),  # the search's root value for the side to move, [-1, 1]
    (
        "visits",
        pa.list_(pa.struct([pa.field("label", pa.uint8(), False), pa.field("count", pa.uint32(), False)])),
        False,
    ),
    ("generation", pa.int32(), False),  # of the network that played
]


def _schema(columns: list[tuple[str, pa.DataType, bool]], source: str) -> pa.Schema:
    fields = [pa.field(name, type_, nullable) for name, type_, nullable in columns]
    return pa.schema(
        fields, metadata={VERSION_KEY: str(SCHEMA_VERSION).encode(), b"ckai.kind": source.encode()}
    )


EXPERT_SCHEMA: Final = _schema(_COLUMNS, "expert")
"""Rows of games read from PDN (an Arrow schema)."""
SELFPLAY_SCHEMA: Final = _schema(_COLUMNS + _SELFPLAY_COLUMNS, "selfplay")
"""Rows of self-play: the same columns and the results of the search."""


READ_COLUMNS: Final = ["game", "ply", "board", "jumper", "quiet", "legal", "label", "z"]
"""Columns of all rows that training and evaluation read."""
SEARCH_COLUMNS: Final = ["q", "visits"]
"""Those that self-play adds."""


def selfplay_schema(game: str, squares: int, mask_bytes: int = LEGAL_MASK_BYTES) -> pa.Schema:
    """The schema of a game's self-play rows.

    Args:
        game: its name, such as "checkers".
        squares: entries of the `board` column.
        mask_bytes: bytes of the `legal` column.
    """
    if game == DEFAULT_GAME_NAME:
        return SELFPLAY_SCHEMA
    schema = SELFPLAY_SCHEMA.with_metadata({**SELFPLAY_SCHEMA.metadata, GAME_KEY: game.encode()})
    for name, type_ in (
        ("board", pa.list_(pa.int8(), squares)),
        ("legal", pa.binary(mask_bytes)),
    ):
        at = schema.get_field_index(name)
        schema = schema.set(at, pa.field(name, type_, schema.field(at).nullable))
    return schema


HEADERS_SCHEMA: Final = pa.schema(
    [
        pa.field("game", pa.int32(), False),
        pa.field("event", pa.string()),
        pa.field("date", pa.string()),
        pa.field("black", pa.string()),
        pa.field("white", pa.string()),
        pa.field("result", pa.string(), False),
        pa.field("opening", pa.string()),
        pa.field("plies", pa.int32(), False),
        pa.field("line", pa.int64(), False),  # where the game starts in the source, 1-based
        pa.field("source", pa.string(), False),
    ],
    metadata={VERSION_KEY: str(SCHEMA_VERSION).encode(), b"ckai.kind": b"headers"},
)

SELFPLAY_HEADERS_SCHEMA: Final = HEADERS_SCHEMA.append(
    pa.field("network", pa.string())  # hash of the network that played
)


def headers_path(rows: Path) -> Path:
    """The headers file of a row file: `games.parquet` -> `games.headers.parquet`."""
    return rows.with_name(f"{rows.stem}.headers.parquet")


def is_headers_path(path: Path) -> bool:
    """Whether a file is named like a headers file."""
    return path.name.endswith(".headers.parquet")


class DatasetError(ValueError):
    """A data set that cannot be used; names the file, what was expected and what it has instead."""


def check_rows_path(path: Path) -> None:
    """Refuse a name for rows to write with another suffix than `.parquet`, or that of a headers file."""
    if path.suffix != ".parquet":
        raise DatasetError(f"{path}: expected a name that ends in .parquet: rows are written as Parquet")
    if is_headers_path(path):
        raise DatasetError(f"{path}: expected a name for rows, found one for headers: leave out .headers")


def check_schema(path: Path, schema: Any, game: str) -> bool:
    """Check the columns of a row file.

    Args:
        path: the file.
        schema: its Arrow schema.
        game: the game its rows must be of.

    Returns:
        Whether it has the columns of self-play.

    Raises:
        DatasetError: it has other columns, or is of another version or game.
    """
    metadata = schema.metadata or {}
    if metadata.get(b"ckai.kind") == b"headers":
        name = path.name.replace(".headers.parquet", ".parquet")
        raise DatasetError(f"{path}: expected rows, found game headers; the rows are in {name}")
    version = metadata.get(VERSION_KEY, b"none").decode(errors="replace")
    if version != str(SCHEMA_VERSION):
        raise DatasetError(
            f"{path}: expected row format version {SCHEMA_VERSION}, found {version}; make the rows again: "
            "`ckai parse`, or self-play"
        )
    played = metadata.get(GAME_KEY, DEFAULT_GAME_NAME.encode()).decode(errors="replace")
    if played != game:
        raise DatasetError(f"{path}: expected rows of {game}, found rows of {played}")
    selfplay = metadata.get(b"ckai.kind") == b"selfplay"
    for field in SELFPLAY_SCHEMA if selfplay else EXPERT_SCHEMA:
        if field.name not in schema.names:
            raise DatasetError(f"{path}: expected the column {field.name}, found {', '.join(schema.names)}")
        want, have = field.type, schema.field(field.name).type
        # Boards and masks of other games have other sizes.
        of_any_size = game != DEFAULT_GAME_NAME and field.name in ("board", "legal") and want.id == have.id
        if not of_any_size and want != have:
            raise DatasetError(f"{path}: expected column {field.name} of type {want}, found {have}")
    return selfplay


ROUNDING: Final = 1e-4
"""How far a q may be outside [-1, 1]."""
_CHECKED_AT_ONCE = 8192
"""Rows checked at a time, so that their intermediate arrays stay in a core's cache."""


def check_values(path: Path, rows: Rows, first: int, game: str) -> None:
    """Refuse rows with impossible values, which would spoil what is learned from all others.

    Args:
        path: the file of the rows.
        rows: one row group as it was read.
        first: number of its first row in the file.
        game: the game of the rows; boards and jumpers are checked in checkers only.

    Raises:
        DatasetError: an action played, or with visits, that is not legal; a result or a search's value
            outside [-1, 1], other than NaN; a halfmove clock below 0; an impossible
            board or jumper.
    """
    for start in range(0, len(rows), _CHECKED_AT_ONCE):
        _check_part(path, rows.part(start, start + _CHECKED_AT_ONCE), first + start, game)


def _check_part(path: Path, rows: Rows, first: int, game: str) -> None:
    """`check_values` of a few rows."""

    def refuse(bad: NDArray[np.bool_], expected: str, column: NDArray[Any]) -> None:
        if bad.any():  # first of all entries: row by row takes ten times as long
            at = int(np.argmax(bad.reshape(len(bad), -1).any(1)))
            found = column[at] if column.ndim == 1 else np.unique(column[at]).tolist()
            raise DatasetError(f"{path}: row {first + at}: expected {expected}, found {found}")

    _check_labels(path, rows, first)
    if rows.q is not None:
        refuse(np.isinf(rows.q), "a finite q", rows.q)
        refuse(np.abs(rows.q) > 1 + ROUNDING, "a q in [-1, 1]", rows.q)
    if rows.visits is not None:
        _check_visits(path, rows, rows.visits, first)
    refuse((rows.z < -1) | (rows.z > 1), "a z of -1, 0 or 1", rows.z)
    refuse(rows.quiet < 0, "quiet >= 0", rows.quiet)
    if game == DEFAULT_GAME_NAME:
        size = np.abs(rows.board).view(np.uint8)  # as bytes, where -128, which has no opposite, is large
        refuse((size > 1) & (size != 3), "a board of -3, -1, 0, 1 and 3", rows.board)
        refuse((rows.jumper < -1) | (rows.jumper > 31), "a jumper from -1 to 31", rows.jumper)


def _check_labels(path: Path, rows: Rows, first: int) -> None:
    """Refuse actions played that are not legal."""
    bad = np.flatnonzero(~_are_legal(rows, np.arange(len(rows)), rows.label))
    if len(bad):
        at = int(bad[0])
        where = f"row {first + at} (game {rows.game[at]}, ply {rows.ply[at]})"
        raise DatasetError(
            f"{path}: {where}: expected a legal label of {_legal_actions(rows, at)}, found {rows.label[at]}"
        )


def _check_visits(path: Path, rows: Rows, visits: Visits, first: int) -> None:
    """Refuse visits of actions that are not legal, and entries of actions that the mask has no bit for."""
    of_row = np.repeat(np.arange(len(rows)), np.diff(visits.offsets))
    beyond = visits.labels >> 3 >= rows.legal.shape[1]
    bad = np.flatnonzero(~_are_legal(rows, of_row, visits.labels) & ((visits.counts > 0) | beyond))
    if len(bad):
        at = int(of_row[bad[0]])
        raise DatasetError(
            f"{path}: row {first + at}: expected visits of the legal actions {_legal_actions(rows, at)}, "
            f"found {visits.counts[bad[0]]} of {visits.labels[bad[0]]}"
        )


def _are_legal(rows: Rows, of_row: NDArray[np.int64], actions: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether actions are legal in the rows `of_row`; `[N]` bool."""
    byte, width = actions >> 3, rows.legal.shape[1]
    masks = rows.legal.reshape(-1)[of_row * width + np.minimum(byte, width - 1)]
    legal: NDArray[np.bool_] = (masks >> (actions & 7) & 1).view(np.bool_) & (byte < width)
    return legal


def _legal_actions(rows: Rows, at: int) -> list[int]:
    actions: list[int] = np.flatnonzero(rows.take(np.array([at])).legal_mask()[0]).tolist()
    return actions
