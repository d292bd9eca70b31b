"""The rows: one Parquet row per hop, sorted by (game, ply, hop), and one headers row per game beside them.

Version history of the row format:
    1: first version.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 1
VERSION_KEY: Final = b"ckai.rows"
"""Key of the version in the file's metadata."""
GAME_KEY: Final = b"ckai.game"
"""Key of the game's name; without it the rows are of checkers."""
DEFAULT_GAME_NAME: Final = "checkers"
"""The game of rows whose file names none."""
LEGAL_MASK_BYTES: Final = 16
"""Bytes of the mask of legal actions in checkers, and in every game of 128 actions or fewer."""

_COLUMNS: Final = [
    # name, type, nullable
    ("game", pa.int32(), False),  # number of the game in the source
    ("ply", pa.int16(), False),  # 0-based half-move; hops of one move share it
    ("hop", pa.int8(), False),  # 0-based within the move
    ("black", pa.bool_(), False),  # Black is to move
    ("board", pa.list_(pa.int8(), 32), False),  # mover's view: 1 own man, 3 own king, -1 / -3 theirs, 0 empty
    ("jumper", pa.int8(), False),  # index of the piece that must go on, -1 if none
    ("quiet", pa.int16(), False),  # plies since the last capture or man's move
    ("legal", pa.binary(LEGAL_MASK_BYTES), False),  # bit i of the 128 = label i is legal, little-endian bits
    ("label", pa.uint8(), False),  # the label played
    ("z", pa.int8(), True),  # the game's result for the mover: 1, 0, -1; null for '*'
]

_SELFPLAY_COLUMNS: Final = [
    ("q", pa.float32(), False),  # the search's value of the position, for the mover, [-1, 1]
    (
        "visits",
        pa.list_(pa.struct([pa.field("label", pa.uint8(), False), pa.field("count", pa.uint32(), False)])),
        False,
    ),
    ("generation", pa.int32(), False),  # of the network that played
    ("surprise", pa.float32(), True),  # divergence of the visits from the network's policy; may be missing
]


def _schema(columns: list[tuple[str, pa.DataType, bool]], kind: str) -> pa.Schema:
    fields = [pa.field(name, type_, nullable) for name, type_, nullable in columns]
    return pa.schema(
        fields, metadata={VERSION_KEY: str(SCHEMA_VERSION).encode(), b"ckai.kind": kind.encode()}
    )


EXPERT_SCHEMA: Final = _schema(_COLUMNS, "expert")
"""Rows of games read from PDN."""
SELFPLAY_SCHEMA: Final = _schema(_COLUMNS + _SELFPLAY_COLUMNS, "selfplay")
"""Rows of self-play: the same columns and what the search found."""


def selfplay_schema(game: str, squares: int, mask_bytes: int = LEGAL_MASK_BYTES) -> pa.Schema:
    """The schema of a game's self-play rows: the board has an entry a square, the mask a bit an action."""
    if game == DEFAULT_GAME_NAME:
        return SELFPLAY_SCHEMA
    schema = SELFPLAY_SCHEMA.with_metadata({**SELFPLAY_SCHEMA.metadata, GAME_KEY: game.encode()})
    for name, type_ in (("board", pa.list_(pa.int8(), squares)), ("legal", pa.binary(mask_bytes))):
        schema = schema.set(schema.get_field_index(name), pa.field(name, type_, False))
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


def headers_path(rows: Path) -> Path:
    """Where the headers of a data set lie: `games.parquet` -> `games.headers.parquet`."""
    return rows.with_name(f"{rows.stem}.headers.parquet")


class DatasetError(ValueError):
    """A data set that cannot be used; says the file, what was expected and what was found."""
