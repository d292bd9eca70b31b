"""Files of killed runs that an earlier version wrote still load."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.pdn import ending_of, finished_pdn
from ckai.rl.selfplay.recording import COUNT, row_dtype
from ckai.rl.selfplay.rows import Ending
from ckai.rl.selfplay.shards import ShardWriter, read_shards
from ckai.rl.selfplay.snapshots import GameSnapshot, load_snapshots, save_snapshot
from ckai.rl.selfplay.workers import play_games

OLD_ROW_NAMES = {"policy_kl": "surprise", "first_count": "first", "action": "label", "num_counts": "count"}
OLD_COUNT_NAMES = {"action": "label"}


def renamed(dtype, names):
    """The same record under other names of its fields."""
    fields = dtype.fields
    return np.dtype(
        {
            "names": [names.get(name, name) for name in dtype.names],
            "formats": [fields[name][0] for name in dtype.names],
            "offsets": [fields[name][1] for name in dtype.names],
            "itemsize": dtype.itemsize,
        },
        align=True,
    )


@pytest.fixture(scope="module")
def games():
    games = []
    config = SelfPlayConfig(sims=4, in_flight=8, groups=1, tables=3, resign=0.75, resign_disabled_prob=0.5)
    play_games(RolloutEvaluator(), config, range(40), seed=2, on_game=games.append)
    return games


def test_games_under_way_with_the_field_names_of_before(tmp_path, games):
    now = [GameSnapshot(g.number, g.rows, g.counts, 7) for g in games]
    save_snapshot(tmp_path / "now.npz", now)
    with np.load(tmp_path / "now.npz") as data:
        old = {name: data[name] for name in data.files}
    del old["full"]
    old["rows"] = old["rows"].view(renamed(row_dtype(2), OLD_ROW_NAMES))
    old["counts"] = old["counts"].view(renamed(COUNT, OLD_COUNT_NAMES))
    np.savez(tmp_path / "old.npz", **old)
    with np.load(tmp_path / "old.npz") as data:
        assert "label" in data["rows"].dtype.names
    loaded, damaged = load_snapshots([tmp_path / "old.npz"], 2)
    assert not damaged
    assert sorted(loaded) == sorted(game.number for game in games)
    assert {game.full for game in loaded.values()} == {None}
    for game in games:
        assert np.array_equal(loaded[game.number].rows, game.rows)
        assert np.array_equal(loaded[game.number].counts, game.counts)
        assert loaded[game.number].rows.dtype == row_dtype(2)


def test_rows_of_another_layout_are_damaged(tmp_path, games):
    save_snapshot(tmp_path / "now.npz", [GameSnapshot(g.number, g.rows, g.counts, 7) for g in games])
    _, damaged = load_snapshots([tmp_path / "now.npz"], 3)
    assert len(damaged) == 1
    assert "rows of another version" in damaged[0]


def test_shards_without_endings_are_read_from_their_pdn(tmp_path, games):
    writer = ShardWriter(tmp_path, 1)
    for game in games:
        writer.add(game)
    writer.flush()
    _, now, _ = read_shards(tmp_path)
    (path,) = tmp_path.glob("*.parquet")
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"ckai.games"])
    old = [{name: fact[name] for name in ("game", "pdn")} for fact in facts]
    pq.write_table(
        table.replace_schema_metadata(table.schema.metadata | {b"ckai.games": json.dumps(old).encode()}), path
    )
    _, before, damaged = read_shards(tmp_path)
    assert not damaged
    assert before == now


def test_the_ending_of_a_pdn_is_that_of_the_game(games):
    endings = [game.ending for game in games]
    assert [ending_of(finished_pdn(game, 1)) for game in games] == endings
    assert any(ending.adjudicated for ending in endings)
    assert any(ending.resigned for ending in endings)
    assert any(ending.resigner for ending in endings)
    assert ending_of('[Result "0-1"]\n\n1. 11-15 0-1\n') == Ending("0-1")
