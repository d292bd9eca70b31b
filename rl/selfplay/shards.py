"""Shards: finished games on disk, a few at a time, so that a killed run loses none of them.

A shard is a Parquet file of complete games, written under a temporary name, synced and renamed. The rows of a
game and its PDN are in the same file (the PDN in the metadata), so that they cannot get out of step. Rows
have the checksums of Parquet; the metadata, which Parquet gives none, begin with one of their own.
"""

import json
import threading
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.files import files_in, first_line, whole_file, write_whole
from ckai.datasets.schema import SELFPLAY_SCHEMA
from ckai.rl.selfplay.pdn import finished_pdn, tags_of
from ckai.rl.selfplay.rows import Ending, FinishedGame, to_table

_GAMES_KEY, _SPENT = b"ckai.games", "spent.json"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file with checksums; it is replaced as a whole."""
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd", row_group_size=65536, write_page_checksum=True)


def read_table(path: Path | pa.BufferReader) -> pa.Table:
    """Read a Parquet file and compare its checksums.

    Raises:
        OSError, ArrowException: it is damaged.
    """
    return pq.read_table(path, page_checksum_verification=True)


def _packed(games: Sequence[dict[str, Any]]) -> bytes:
    """Return what the metadata say of games: a checksum, and JSON."""
    data = json.dumps(games).encode()
    return b"%08x " % zlib.crc32(data) + data


def _unpacked(data: bytes) -> list[dict[str, Any]]:
    """Read the output of `_packed`; raises ValueError if it is damaged."""
    checksum, _, text = data.partition(b" ")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("the games do not have their checksum")
    games: list[dict[str, Any]] = json.loads(text)
    return games


def shard_table(games: Sequence[FinishedGame], generation: int, network: str) -> pa.Table:
    """Return a shard as a table: the rows of the games, with their PDN and endings in the metadata.

    Args:
        games: one or more games of the same `GameSpec`.
        generation: number of the generation that played them.
        network: hash of the network that played them.
    """
    games = sorted(games, key=lambda game: game.number)
    table = to_table(games, generation)
    texts = [
        {"game": g.number, "pdn": finished_pdn(g, generation), "ending": asdict(g.ending), "network": network}
        for g in games
    ]
    return table.replace_schema_metadata({**table.schema.metadata, _GAMES_KEY: _packed(texts)})


class ShardWriter:
    """Collects finished games and writes a shard every `games` games, or when it is told to.

    Each game is written once: what is added again is dropped. May be called by several threads.
    """

    def __init__(
        self,
        folder: Path,
        generation: int,
        network: str,
        *,
        games: int = 64,
        written: Collection[int] = (),
    ) -> None:
        """Make the folder.

        Args:
            folder: where to write.
            generation: number of the generation that plays the games.
            network: hash of the network that plays them.
            games: most games of a shard.
            written: numbers of the games that are there already, and are dropped.
        """
        self.folder, self.generation, self.network, self.games = folder, generation, network, games
        self._waiting: list[FinishedGame] = []
        self._added = set(written)
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, game: FinishedGame) -> bool:
        """Add a finished game, write a shard if there are enough; return False for one that was there."""
        with self._lock:
            if game.number in self._added:
                return False
            self._added.add(game.number)
            self._waiting.append(game)
            if len(self._waiting) >= self.games:
                self.flush()
            return True

    def add_table(self, table: pa.Table, drop: Collection[int] = ()) -> pa.Table:
        """Write a shard that was made elsewhere.

        Args:
            table: a table of `shard_table`.
            drop: numbers of games to leave out.

        Returns:
            Its rows without the games that were there.
        """
        with self._lock:
            texts = _unpacked(table.schema.metadata[_GAMES_KEY])
            new = [text for text in texts if text["game"] not in self._added and text["game"] not in drop]
            if len(new) < len(texts):
                kept = np.isin(table["game"].to_numpy(), [text["game"] for text in new])
                table = table.filter(pa.array(kept))
            if new:
                metadata = {**table.schema.metadata, _GAMES_KEY: _packed(new)}
                self._write(new[0]["game"], table.replace_schema_metadata(metadata))
                self._added.update(text["game"] for text in new)
            return table

    def flush(self) -> None:
        """Write the collected games to a shard, if there are any."""
        with self._lock:
            if self._waiting:
                number = min(game.number for game in self._waiting)
                self._write(number, shard_table(self._waiting, self.generation, self.network))
                self._waiting = []

    def _write(self, first: int, table: pa.Table) -> None:
        # Named after its first game: no two shards share one, and a game is only ever in one shard.
        write_table(table, self.folder / f"{first:012d}.parquet")


@dataclass(frozen=True)
class Spent:
    """The effort for the games of a folder of shards, finished or not."""

    seconds: float = 0.0
    """Time."""
    evaluations: int = 0
    """Network evaluations in that time."""

    @classmethod
    def read(cls, folder: Path) -> "Spent":
        """Read what `write` wrote; nothing spent if there is no such file."""
        with suppress(OSError, ValueError, TypeError):
            return cls(**json.loads((folder / _SPENT).read_text(encoding="utf-8")))
        return cls()

    def write(self, folder: Path) -> None:
        """Write it next to the shards."""
        write_whole(folder / _SPENT, json.dumps(asdict(self)) + "\n")


@dataclass(frozen=True)
class ShardGame:
    """What a shard has of a game besides its rows."""

    pdn: str
    """The game as PDN text."""
    ending: Ending
    """How it ended."""
    network: str
    """Hash of the network that played it."""

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
        schema: of the game's rows.

    Returns:
        The table of rows and the games by number.

    Raises:
        ShardError: it is not a whole shard; says why.
    """
    try:
        table = read_table(source)
        if not table.schema.equals(schema):
            raise ValueError(f"columns {', '.join(table.schema.names)}")
        read: dict[int, ShardGame] = {}
        for game in _unpacked(table.schema.metadata[_GAMES_KEY]):
            if game["game"] in read:
                raise ValueError(f"game {game['game']} twice")
            read[game["game"]] = ShardGame(game["pdn"], Ending(**game["ending"]), game["network"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError) as error:
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
    for path in files_in(folder, "*.parquet"):
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


def merge(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate the tables of shards, sorted by (game, ply, hop), without the shards' own metadata."""
    table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
    table = table.sort_by([("game", "ascending"), ("ply", "ascending"), ("hop", "ascending")])
    metadata = {key: value for key, value in tables[0].schema.metadata.items() if key != _GAMES_KEY}
    return table.replace_schema_metadata(metadata)


def games_so_far(folder: Path) -> dict[int, str]:
    """Return the PDN of the games in the shards of a folder by number, while others may still be written.

    It changes nothing, and leaves out shards that cannot be read.
    """
    found: dict[int, str] = {}
    for path in files_in(folder, "*.parquet"):
        with suppress(OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError):
            games = _unpacked(pq.read_schema(path).metadata[_GAMES_KEY])
            found |= {int(game["game"]): str(game["pdn"]) for game in games}
    return found
