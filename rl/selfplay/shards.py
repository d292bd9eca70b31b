"""Shards: whole games as the bytes of a Parquet file, in a folder or on their way there.

The rows of some games and what is known of them besides are in the same file, so that they cannot get out of
step. Rows have the checksums of Parquet; the metadata, which Parquet gives none, begin with one of their own.
"""

import io
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.files import first_line
from ckai.datasets.schema import SELFPLAY_SCHEMA, SHARD_KEY, pack_json, shard_of
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.rows import FinishedGame, GameHeader, to_table


@cache
def ckai_version() -> str:
    """Return the version of ckai."""
    return version("ckai")


def own_name() -> str:
    """Return a name for a worker of this process; no other call returns it."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())
    # Containers that share a host name, or one that is started again, may have equal PIDs.
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def hash_of(data: bytes) -> str:
    """Return the hash of bytes, by which a shard names the networks and the settings of its games."""
    return sha256(data).hexdigest()[:32]


@dataclass(frozen=True)
class Shard:
    """What a shard says besides its rows."""

    worker: str
    """Name of the process that played; with the number of a game it names the game in the run."""
    settings: str
    """Hash of the settings of the run."""
    version: str = field(default_factory=ckai_version)
    """Version of ckai."""
    networks: dict[str, str] = field(default_factory=dict)
    """Hash of each network that played, by its number."""
    evaluations: int = 0
    """Network evaluations of the worker since its shard before."""
    seconds: float = 0.0
    """Time since then."""
    games: tuple[GameHeader, ...] = ()

    def pack(self, games: Sequence[FinishedGame]) -> bytes:
        """Return a shard of games, one or more of the same `GameSpec`, as bytes."""
        games = sorted(games, key=lambda game: game.number)
        table = to_table(games)
        about = replace(self, games=tuple(game.header for game in games))
        metadata = {**table.schema.metadata, SHARD_KEY: pack_json(asdict(about))}
        out = io.BytesIO()
        write_parquet(table.replace_schema_metadata(metadata), out)
        return out.getvalue()

    @classmethod
    def read(cls, source: Path) -> "Shard":
        """Read what a shard says; its rows stay on disk. A ValueError says that it is not a whole shard."""
        with _reading():
            return cls._of(pq.read_schema(source))

    @classmethod
    def read_rows(cls, source: Path, schema: pa.Schema = SELFPLAY_SCHEMA) -> "tuple[Shard, pa.Table]":
        """Read a shard with its rows, and check them.

        A ValueError says that it is not a whole shard with the columns of the schema.
        """
        with _reading():
            table = pq.read_table(source, page_checksum_verification=True)
            if not table.schema.equals(schema):
                raise ValueError(f"columns {', '.join(table.schema.names)}")
            about = cls._of(table.schema)
            numbers = [game.game for game in about.games]
            if sorted(set(numbers)) != sorted(numbers) or set(numbers) != set(table["game"].to_pylist()):
                raise ValueError("rows and headers of different games")
            return about, table.replace_schema_metadata(schema.metadata)

    @classmethod
    def _of(cls, schema: pa.Schema) -> "Shard":
        data = shard_of(schema.metadata)
        if data is None:
            raise ValueError("no shard of self-play")
        games = tuple(GameHeader(**{**game, "state": tuple(game["state"])}) for game in data.pop("games"))
        return cls(**data, games=games)


@contextmanager
def _reading() -> Iterator[None]:
    """Turn what a damaged shard raises into a ValueError."""
    try:
        yield
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(first_line(error)) from error


def games_as_pdn(path: Path, spec: GameSpec) -> Iterator[str]:
    """Yield the games of a shard as PDN texts, in the order of its headers; see `Shard.read_rows`."""
    about, table = Shard.read_rows(path, spec.schema)
    numbers, actions, hops = (table[name].to_pylist() for name in ("game", "label", "hop"))
    first = 0
    for header in about.games:
        end = first + numbers[first:].count(header.game)
        yield header.pdn(spec, actions[first:end], hops[first:end])
        first = end


def write_parquet(table: pa.Table, file: Any) -> None:
    """Write a table to an open file as Parquet with checksums."""
    pq.write_table(table, file, compression="zstd", row_group_size=65536, write_page_checksum=True)


class ShardWriter:
    """Collects finished games and delivers them as shards; may be called by several threads."""

    def __init__(self, about: Shard, deliver: Callable[[str, bytes], None]) -> None:
        """Begin without games.

        Args:
            about: what its shards say, but for games, networks, evaluations and time.
            deliver: takes the name and the bytes of each shard; no other process gives one that name.
        """
        self.about, self._deliver, self._process, self._number = about, deliver, own_name(), 0
        self.networks: dict[int, str] = {}
        """Hash of each network that may have played, by its number."""
        self._waiting: list[FinishedGame] = []
        self._lock, self._flushing = threading.Lock(), threading.Lock()
        self.begin(0)

    def begin(self, evaluations: int) -> None:
        """Count time and evaluations from now on; `evaluations` is the number of all so far."""
        self._at, self._evaluations = time.monotonic(), evaluations

    def add(self, game: FinishedGame) -> None:
        """Add a finished game."""
        with self._lock:
            self._waiting.append(game)

    def flush(self, evaluations: int) -> None:
        """Deliver the games that were added; `evaluations` is the number of all so far."""
        with self._flushing:
            with self._lock:
                games, self._waiting = self._waiting, []
            if not games:
                return
            now, numbers = time.monotonic(), sorted({int(n) for game in games for n in set(game.networks)})
            about = replace(
                self.about,
                networks={str(n): self.networks[n] for n in numbers},
                evaluations=evaluations - self._evaluations,
                seconds=round(now - self._at, 3),
            )
            name = f"{numbers[-1]:04d}-{self._process}-{self._number:06d}.parquet"
            try:
                self._deliver(name, about.pack(games))
            except BaseException:
                with self._lock:  # a full disk loses nothing
                    self._waiting = games + self._waiting
                raise
            self._number += 1
            self._at, self._evaluations = now, evaluations
