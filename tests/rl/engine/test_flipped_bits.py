"""Nothing is learned from a flipped bit: files that training reads are whole or refused."""

import random

import numpy as np
import pyarrow.parquet as pq
import pytest
from make_rows import random_games, write

from ckai.datasets.reader import read_rows
from ckai.datasets.schema import EXPERT_SCHEMA, DatasetError
from ckai.datasets.writer import table_writer
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.shards import Shard

FLIPS = 150


def flipped(path, seed=0):
    """Flip one bit of a file after the other, and put it right at the end."""
    good, rng = path.read_bytes(), random.Random(seed)
    for _ in range(FLIPS):
        data, at = bytearray(good), rng.randrange(8 * len(good))
        data[at >> 3] ^= 1 << (at & 7)
        path.write_bytes(data)
        yield at >> 3
    path.write_bytes(good)


@pytest.fixture(scope="module")
def games():
    games = []
    config = SelfPlayConfig(sims=4, in_flight=8, groups=1, tables=0)
    play_games(RolloutEvaluator(), config, range(12), seed=2, on_game=games.append)
    return games


def plain(rows):
    """The columns of rows as bytes; None where the file has none."""
    columns = vars(rows) | (vars(rows.visits) if rows.visits is not None else {})
    return {
        name: column.tobytes() if isinstance(column, np.ndarray) else None for name, column in columns.items()
    }


def test_rows(tmp_path):
    path, rows = tmp_path / "rows.parquet", pq.read_table(write(tmp_path / "made.parquet", random_games(60)))
    with table_writer(path, EXPERT_SCHEMA) as writer:
        writer.write(rows.cast(EXPERT_SCHEMA))
    expected, refused = plain(read_rows(path)), 0
    for at in flipped(path):
        try:
            found = plain(read_rows(path))
        except DatasetError:
            refused += 1
        else:
            assert found == expected, at
    assert refused > FLIPS * 0.8


def test_shards(tmp_path, games):
    path = tmp_path / "shard.parquet"
    path.write_bytes(Shard("w", "s").pack(games))
    (shard, table), rows, refused = Shard.read_rows(path), plain(read_rows(path)), 0
    for at in flipped(path):
        try:
            found, found_table = Shard.read_rows(path)
        except ValueError as error:
            refused += "\n" not in str(error)
        else:
            assert found_table.equals(table), at
            assert found == shard, at
            assert plain(read_rows(path)) == rows, at
    assert refused > FLIPS * 0.5
