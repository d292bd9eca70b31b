"""The row format: one Parquet row per hop, sorted by (game, ply, hop), and one headers row per game.

Columns keep the names of version 1, in files as in memory (`Rows`, batches). Elsewhere the field's terms
are used:

    label       the action played, 0..127: index * 4 + direction
    quiet       the halfmove clock
    surprise    the policy KL: divergence of the search's policy from the network's prior, KL(search || prior)
    z, q        the game's result and the search's root value, for the side to move

Version history of the row format:
    1: first version.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa

from ckai.datasets.choices import DEFAULT_GAME_NAME

SCHEMA_VERSION: Final = 1
VERSION_KEY: Final = b"ckai.rows"
"""Metadata key of the format's version."""
GAME_KEY: Final = b"ckai.game"
"""Metadata key of the game's name; absent for checkers."""
COPIES_KEY: Final = b"ckai.copies"
"""Metadata key of games with the moves of an earlier one: JSON, a list of [game, first such game]; absent
without any."""
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
    ("surprise", pa.float32(), True),  # KL(search || prior), in nats; files written before may lack it
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

SELFPLAY_HEADERS_SCHEMA: Final = HEADERS_SCHEMA.append(
    pa.field("network", pa.string())  # hash of the network that played; null in files of earlier versions
)


def headers_path(rows: Path) -> Path:
    """The headers file of a row file: `games.parquet` -> `games.headers.parquet`."""
    return rows.with_name(f"{rows.stem}.headers.parquet")


def is_headers_path(path: Path) -> bool:
    """Whether a file is named like a headers file."""
    return path.name.endswith(".headers.parquet")


class DatasetError(ValueError):
    """A data set that cannot be used; names the file, what was expected and what it has instead."""
