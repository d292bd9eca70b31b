"""Finished games on disk, a few at a time: what is written is whole, and a kill loses only games under way.

A shard is a Parquet file of whole games, written to a temporary name, flushed and renamed. The rows and
headers of a game are in the same file (the header as metadata of the shard), so that there is nothing to
fall apart.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.files import whole_file
from ckai.rl.selfplay.pdn import ending_of, finished_pdn
from ckai.rl.selfplay.rows import Ending, FinishedGame, to_table
from ckai.rl.selfplay.snapshots import GameSnapshot, save_snapshot

_GAMES_KEY = b"ckai.games"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file as a whole."""
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd", row_group_size=65536)


class ShardWriter:
    """Collects finished games and writes a shard every `games` games or `seconds` seconds."""

    def __init__(self, folder: Path, generation: int, *, games: int = 64, seconds: float = 10.0) -> None:
        self.folder, self.generation = folder, generation
        self.games, self.seconds = games, seconds
        self._waiting: list[FinishedGame] = []
        self._flushed = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, game: FinishedGame) -> None:
        """Take a game; write when enough wait."""
        self._waiting.append(game)
        if len(self._waiting) >= self.games or time.monotonic() - self._flushed > self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write the games that wait."""
        if self._waiting:
            self._waiting.sort(key=lambda game: game.number)
            table = to_table(self._waiting, self.generation)
            games = [
                {"game": g.number, "pdn": finished_pdn(g, self.generation), "ending": asdict(g.ending)}
                for g in self._waiting
            ]
            metadata = {**table.schema.metadata, _GAMES_KEY: json.dumps(games).encode()}
            # Named after its first game: no two shards share one, and a game is only ever in one shard.
            write_table(
                table.replace_schema_metadata(metadata),
                self.folder / f"{self._waiting[0].number:012d}.parquet",
            )
            self._waiting = []
        self._flushed = time.monotonic()

    def snapshot(self, group: int, games: list[GameSnapshot]) -> None:
        """Write a group's games under way, in place of those before."""
        # The games that ended since are written first: a game is never in neither place.
        self.flush()
        save_snapshot(self.folder / f"under-way-{group}.npz", games)


@dataclass(frozen=True)
class ShardGame:
    """What a shard says of a game beside its rows."""

    pdn: str
    ending: Ending


def read_shards(folder: Path) -> tuple[list[pa.Table], dict[int, ShardGame], list[str]]:
    """Read all shards of a folder.

    Returns:
        Their tables, the games by number, and a line for each shard that was set aside because it cannot be
        read (its games are to be played again).
    """
    tables: list[pa.Table] = []
    games: dict[int, ShardGame] = {}
    damaged = []
    for path in sorted(folder.glob("*.parquet")):
        try:
            table = pq.read_table(path)
            read = {
                game["game"]: ShardGame(
                    game["pdn"], Ending(**game["ending"]) if "ending" in game else ending_of(game["pdn"])
                )
                for game in json.loads(table.schema.metadata[_GAMES_KEY])
            }
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            aside = path.with_suffix(".damaged")
            path.replace(aside)
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            damaged.append(
                f"{path}: expected whole games, found a damaged file ({reason}); set aside as {aside.name}"
            )
            continue
        tables.append(table)
        games.update(read)
    return tables, games, damaged


def merge(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of all shards, sorted by (game, ply, hop)."""
    table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
    table = table.sort_by([("game", "ascending"), ("ply", "ascending"), ("hop", "ascending")])
    metadata = {key: value for key, value in tables[0].schema.metadata.items() if key != _GAMES_KEY}
    return table.replace_schema_metadata(metadata)
