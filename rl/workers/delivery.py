"""What a worker delivers: games that have ended, and who played them, as the bytes of a Parquet file."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.shards import ShardError, read_shard, shard_table

_KEY = b"ckai.worker"


@cache
def ckai_version() -> str:
    """Return the version of ckai, "" if it is not installed but run from its sources."""
    try:
        return version("ckai")
    except PackageNotFoundError:
        return ""


def hash_of(network: bytes) -> str:
    """Return the hash of a checkpoint's bytes, by which a game names the network that played it."""
    return hashlib.sha256(network).hexdigest()[:32]


@dataclass(frozen=True)
class Delivery:
    """What a worker says of the games that it delivers."""

    worker: str
    """Its name."""
    version: str
    """Its version of ckai."""
    generation: int
    """Generation for which the games were begun."""
    network: str
    """`hash_of` the network that played."""
    evaluations: int
    """Network evaluations of the worker since its delivery before."""
    evaluator: str
    """Name of its backend."""


def pack(games: Sequence[FinishedGame], delivery: Delivery) -> bytes:
    """Return games and what to say of them as the bytes of a Parquet file."""
    table = shard_table(games, delivery.generation, delivery.network)
    metadata = {**table.schema.metadata, _KEY: json.dumps(asdict(delivery)).encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(metadata), sink, compression="zstd", write_page_checksum=True
    )
    return bytes(sink.getvalue())


def unpack(data: bytes, schema: pa.Schema) -> tuple[Delivery, pa.Table, set[int]]:
    """Read the output of `pack`.

    Args:
        data: the bytes.
        schema: columns of the rows.

    Returns:
        What the worker says, the table of `shard_table`, and the numbers of the games.

    Raises:
        ShardError: they are not whole games with these columns; says why.
    """
    table, games = read_shard(pa.BufferReader(data), schema)
    metadata: dict[bytes, Any] = dict(table.schema.metadata)
    try:
        delivery = Delivery(**json.loads(metadata.pop(_KEY)))
    except (KeyError, TypeError, ValueError) as error:
        raise ShardError(f"nothing about the worker ({error})") from error
    if not set(table["game"].unique().to_pylist()) <= set(games):
        raise ShardError("rows of games without PDN")
    return delivery, table.replace_schema_metadata(metadata), set(games)
