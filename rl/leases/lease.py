"""Leases and shards as data: what crosses from one process to another."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.shards import ShardError, read_shard, shard_table

_SHARD_KEY = b"ckai.lease"
_VERSION = "ckai"
"""Key of the version of ckai in the text of a lease."""


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
class Lease:
    """Games to play."""

    name: str
    """Unique, also among the leases of earlier starts of the run."""
    generation: int
    """Generation of the games."""
    numbers: tuple[int, ...]
    """Numbers of the games, ascending."""
    seed: int
    """Seed of the generation; seed and number give a game its random stream."""
    network: str
    """`hash_of` the network that plays."""

    def to_json(self) -> str:
        """Return the lease as one line of JSON, with the version of ckai that offers it."""
        return json.dumps({_VERSION: ckai_version(), **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Lease":
        """Read the output of `to_json`.

        Raises:
            ValueError: it is not a lease, or of another version of ckai.
        """
        try:
            data = json.loads(text)
            offered = data.pop(_VERSION)
            lease = replace(cls(**data), numbers=tuple(int(number) for number in data["numbers"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"expected a lease, found {text[:80]!r} ({error})") from error
        if offered != ckai_version():
            raise ValueError(
                f"expected ckai {offered} as in the run's process, found {ckai_version()}; install the same "
                "version on all machines"
            )
        return lease


@dataclass(frozen=True)
class ShardInfo:
    """What the player of a shard says of it."""

    lease: str
    """Name of the lease."""
    generation: int
    network: str
    """`hash_of` the network that played."""
    worker: str
    """Name of the process that played."""
    evaluations: int
    """Network evaluations of the worker that no other shard counts."""


class Shard(NamedTuple):
    """The games of a lease, played."""

    info: ShardInfo
    table: pa.Table
    """Rows, with the games' PDN in the metadata, as `ckai.rl.selfplay.shards.shard_table` makes it."""
    numbers: tuple[int, ...]
    """Numbers of the games."""


def pack_shard(games: Sequence[FinishedGame], info: ShardInfo) -> bytes:
    """Return the shard of a lease as the bytes of a Parquet file.

    Args:
        games: all games of the lease.
        info: what to say of them.
    """
    table = shard_table(games, info.generation, info.network)
    metadata = {**table.schema.metadata, _SHARD_KEY: json.dumps(asdict(info)).encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(metadata), sink, compression="zstd", write_page_checksum=True
    )
    return bytes(sink.getvalue())


def unpack_shard(data: bytes, schema: pa.Schema) -> Shard:
    """Read the output of `pack_shard`.

    Args:
        data: the bytes.
        schema: columns of the rows.

    Raises:
        ShardError: they are not a whole shard with these columns; says why.
    """
    table, games = read_shard(pa.BufferReader(data), schema)
    metadata: dict[bytes, Any] = dict(table.schema.metadata)
    try:
        info = ShardInfo(**json.loads(metadata.pop(_SHARD_KEY)))
    except (KeyError, TypeError, ValueError) as error:
        raise ShardError(f"no information on a lease ({error})") from error
    numbers = tuple(sorted(games))
    if not set(table["game"].unique().to_pylist()) <= set(numbers):
        raise ShardError("rows of games without PDN")
    return Shard(info, table.replace_schema_metadata(metadata), numbers)
