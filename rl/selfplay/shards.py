"""Shards: finished games on disk, a few at a time, so that a killed run loses none of them.

A shard is a Parquet file of complete games, written under a temporary name, synced and renamed. The rows of a
game and its PDN are in the same file (the PDN in the metadata), so that they cannot get out of step. Rows
have checksums and the games in the metadata digests; files of earlier versions have neither.
"""

import hashlib
import json
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.files import first_line, whole_file, write_whole
from ckai.datasets.schema import SELFPLAY_SCHEMA, same_type
from ckai.rl.selfplay.pdn import ending_of, finished_pdn, tags_of
from ckai.rl.selfplay.rows import Ending, FinishedGame, to_table
from ckai.rl.selfplay.snapshots import GameSnapshot, save_snapshot

_GAMES_KEY, _DIGEST, _SPENT = b"ckai.games", "digest", "spent.json"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file with checksums; it is replaced as a whole."""
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd", row_group_size=65536, write_page_checksum=True)


def read_table(path: Path | pa.BufferReader) -> pa.Table:
    """Read a Parquet file and compare its checksums, if it has any.

    Raises:
        OSError, ArrowException: it is damaged.
    """
    return pq.read_table(path, page_checksum_verification=True)


def shard_table(games: Sequence[FinishedGame], generation: int, network: str | None = None) -> pa.Table:
    """Return a shard as a table: the rows of the games, with their PDN and endings in the metadata.

    Args:
        games: one or more games of the same `GameSpec`.
        generation: number of the generation that played them.
        network: hash of the network that played them; None: not known.
    """
    games = sorted(games, key=lambda game: game.number)
    table = to_table(games, generation)
    texts = [
        {"game": g.number, "pdn": finished_pdn(g, generation), "ending": asdict(g.ending), "network": network}
        for g in games
    ]
    texts = [{**text, _DIGEST: _digest(text)} for text in texts]
    return table.replace_schema_metadata({**table.schema.metadata, _GAMES_KEY: json.dumps(texts).encode()})


class ShardWriter:
    """Collects finished games and writes a shard every `games` games or `seconds` seconds.

    Each game is written once: what is added again is dropped. May be called by several threads.
    """

    def __init__(
        self,
        folder: Path,
        generation: int,
        *,
        games: int = 64,
        seconds: float = 10.0,
        written: Collection[int] = (),
        network: str | None = None,
    ) -> None:
        """Make the folder.

        Args:
            folder: where to write.
            generation: number of the generation that plays the games.
            games: most games of a shard.
            seconds: most time before a finished game is written.
            written: numbers of the games that are there already, and are dropped.
            network: hash of the network that plays them; None: not known.
        """
        self.folder, self.generation, self.network = folder, generation, network
        self.games, self.seconds = games, seconds
        self._waiting: list[FinishedGame] = []
        self._added = set(written)
        self._flushed = time.monotonic()
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, game: FinishedGame) -> bool:
        """Add a finished game, and write a shard if it is due; return False for a game that was there."""
        with self._lock:
            if game.number in self._added:
                return False
            self._added.add(game.number)
            self._waiting.append(game)
            if len(self._waiting) >= self.games or time.monotonic() - self._flushed > self.seconds:
                self.flush()
            return True

    def add_table(self, table: pa.Table) -> pa.Table:
        """Write a shard that was made elsewhere.

        Args:
            table: a table of `shard_table`.

        Returns:
            Its rows without the games that were there.
        """
        with self._lock:
            texts = json.loads(table.schema.metadata[_GAMES_KEY])
            new = [text for text in texts if text["game"] not in self._added]
            if len(new) < len(texts):
                kept = np.isin(table["game"].to_numpy(), [text["game"] for text in new])
                table = table.filter(pa.array(kept))
            if new:
                games = {_GAMES_KEY: json.dumps(new).encode()}
                number = new[0]["game"]
                self._write(number, table.replace_schema_metadata({**table.schema.metadata, **games}))
                self._added.update(text["game"] for text in new)
            return table

    def flush(self) -> None:
        """Write the collected games to a shard, if there are any."""
        with self._lock:
            if self._waiting:
                number = min(game.number for game in self._waiting)
                self._write(number, shard_table(self._waiting, self.generation, self.network))
                self._waiting = []
            self._flushed = time.monotonic()

    def _write(self, first: int, table: pa.Table) -> None:
        # Named after its first game: no two shards share one, and a game is only ever in one shard.
        write_table(table, self.folder / f"{first:012d}.parquet")

    def snapshot(self, group: int, games: list[GameSnapshot]) -> None:
        """Write the snapshots of a group's unfinished games, in place of its earlier ones."""
        # Finished games are written first, so that every game is in a shard or in a snapshot.
        self.flush()
        save_snapshot(self.folder / f"under-way-{group}.npz", games)


@dataclass(frozen=True)
class Spent:
    """The effort for the games of a folder of shards, finished or not."""

    seconds: float = 0.0
    """Time."""
    evaluations: int = 0
    """Network evaluations in that time."""

    @classmethod
    def read(cls, folder: Path) -> "Spent":
        """Read what `write` wrote; nothing spent if there is no such file, as in earlier versions."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads((folder / _SPENT).read_text(encoding="utf-8"))
            return cls(float(data["seconds"]), int(data["evaluations"]))
        return cls()

    def write(self, folder: Path) -> None:
        """Write it beside the shards."""
        write_whole(folder / _SPENT, json.dumps(asdict(self)) + "\n")


@dataclass(frozen=True)
class ShardGame:
    """What a shard has of a game besides its rows."""

    pdn: str
    """The game as PDN text."""
    ending: Ending
    """How it ended."""
    network: str | None = None
    """Hash of the network that played it; None in shards of earlier versions."""

    @property
    def tags(self) -> dict[str, str]:
        """Tags of the PDN."""
        return tags_of(self.pdn)


class ShardError(ValueError):
    """A shard that cannot be read."""


def read_shard(
    source: Path | pa.BufferReader, schema: pa.Schema = SELFPLAY_SCHEMA
) -> tuple[pa.Table, dict[int, ShardGame]]:
    """Read a shard.

    Args:
        source: the file, or its bytes.
        schema: of the game's rows; shards of earlier versions may lack columns.

    Returns:
        The table of rows and the games by number.

    Raises:
        ShardError: it is not a whole shard; says why.
    """
    try:
        table = read_table(source)
        for field in table.schema:
            if field.name not in schema.names or not same_type(schema.field(field.name).type, field.type):
                raise ValueError(f"a column {field.name} of {field.type}")
        read: dict[int, ShardGame] = {}
        for game in _games(table.schema.metadata):
            if game["game"] in read:
                raise ValueError(f"game {game['game']} twice")
            read[game["game"]] = ShardGame(
                game["pdn"],
                Ending(**game["ending"]) if "ending" in game else ending_of(game["pdn"]),
                game.get("network"),
            )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ShardError(first_line(error)) from error
    return table, read


def read_shards(
    folder: Path, schema: pa.Schema = SELFPLAY_SCHEMA
) -> tuple[list[pa.Table], dict[int, ShardGame], list[str]]:
    """Read all shards of a folder.

    A shard that cannot be read is renamed to `*.damaged`; its games have to be played again.

    Args:
        folder: the folder.
        schema: see `read_shard`.

    Returns:
        The tables of rows, the games by number, and one message for each damaged shard.
    """
    tables: list[pa.Table] = []
    games: dict[int, ShardGame] = {}
    damaged = []
    for path in sorted(folder.glob("*.parquet")):
        try:
            table, read = read_shard(path, schema)
        except ShardError as error:
            aside = path.with_suffix(".damaged")
            path.replace(aside)
            damaged.append(
                f"{path}: expected whole games, found a damaged file ({error}); set aside as {aside.name}"
            )
            continue
        tables.append(table)
        games.update(read)
    return tables, games, damaged


def _digest(game: dict[str, Any]) -> str:
    """The SHA-256 of what the metadata have of a game."""
    return hashlib.sha256(json.dumps(game, sort_keys=True).encode()).hexdigest()


def _games(metadata: dict[bytes, bytes]) -> Iterator[dict[str, Any]]:
    """The games of a shard.

    Raises:
        KeyError, TypeError, ValueError: there are none, or one is not what was written.
    """
    for game in json.loads(metadata[_GAMES_KEY]):
        written = game.pop(_DIGEST, None)
        if written not in (None, _digest(game)):
            raise ValueError("a game is not the one of its digest")
        yield game


def merge(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate the tables of shards, sorted by (game, ply, hop), without the shards' own metadata."""
    # Shards of earlier versions may lack columns, which are null then.
    table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables], promote_options="default")
    table = table.sort_by([("game", "ascending"), ("ply", "ascending"), ("hop", "ascending")])
    metadata = {key: value for key, value in tables[0].schema.metadata.items() if key != _GAMES_KEY}
    return table.replace_schema_metadata(metadata)


def games_so_far(folder: Path) -> dict[int, str]:
    """Return the PDN of the games in the shards of a folder by number, while others may still be written.

    It changes nothing, and leaves out shards that cannot be read.
    """
    found: dict[int, str] = {}
    for path in sorted(folder.glob("*.parquet")):
        with suppress(OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            metadata = pq.read_schema(path).metadata
            found |= {int(game["game"]): str(game["pdn"]) for game in json.loads(metadata[_GAMES_KEY])}
    return found
