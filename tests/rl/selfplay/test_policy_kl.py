"""The KL divergence of the policy target from the priors: computed, stored in rows, used for sampling."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.merge import merge_positions
from ckai.datasets.reader import RowFile
from ckai.datasets.rows import concatenate
from ckai.datasets.sampling import resample
from ckai.datasets.schema import DatasetError
from ckai.rl.loop.config import LearnConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.rows import to_table
from ckai.rl.selfplay.workers import play_games

rng = np.random.default_rng(5)
LOGITS = rng.normal(size=128).astype(np.float32)


class Fixed:
    """The same logits for every position."""

    name = "fixed"

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits = np.empty((len(boards), 128), np.float32) if out_logits is None else out_logits
        values = np.empty(len(boards), np.float32) if out_values is None else out_values
        logits[:], values[:] = LOGITS, boards[:, :32].sum(1) / 40
        return logits, values

    def close(self):
        pass


def play(**settings):
    games = []
    config = SelfPlayConfig(sims=24, in_flight=4, groups=1, tables=0, max_plies=60, **settings)
    play_games(Fixed(), config, range(4), seed=9, on_game=games.append)
    return games


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"noise_epsilon": 0.0},
        {"noise_epsilon": 0.9, "noise_alpha": 0.3},
        {"root_rule": "gumbel", "gumbel_scale": 1.0},
        {"full_search_prob": 0.5},
    ],
)
def test_it_is_the_kl_divergence_of_the_target_from_the_priors(settings):
    seen = 0
    for game in play(**settings):
        for row in game.rows:
            counts = game.counts[row["first_count"] : row["first_count"] + row["num_counts"]]
            total = counts["visits"].sum()
            if not total:
                assert row["policy_kl"] == 0
                continue
            prior = np.exp(LOGITS[counts["action"]].astype(float))
            prior /= prior.sum()
            share = counts["visits"] / total
            there = share > 0
            expected = np.sum(share[there] * np.log(share[there] / prior[there]))
            assert row["policy_kl"] == pytest.approx(expected, abs=2e-3)
            seen += row["policy_kl"] > 0.01
    assert seen > 20


def test_rows_store_it_and_older_rows_lack_it(tmp_path):
    table = to_table(play(), 1)
    pq.write_table(table, tmp_path / "new.parquet")
    pq.write_table(table.drop_columns(["surprise"]), tmp_path / "old.parquet")
    new, old = RowFile(tmp_path / "new.parquet").read(0), RowFile(tmp_path / "old.parquet").read(0)
    assert new.surprise.tolist() == table["surprise"].to_pylist()
    assert old.surprise is None
    both = RowsDataModule(
        [tmp_path / "new.parquet", tmp_path / "old.parquet"], heldout=0.0, surprise=0.5, batch_size=16
    )
    assert sum(len(batch["label"]) for batch in both.epoch(0)) == 2 * table.num_rows
    merged = merge_positions(new, "average")
    first = np.flatnonzero((new.board == new.board[0]).all(1) & (new.jumper == new.jumper[0]))
    assert merged.surprise[0] == pytest.approx(new.surprise[first].mean(), abs=1e-6)


def test_null_is_read_as_zero(tmp_path):
    table = to_table(play(), 1)
    nulls = pa.nulls(table.num_rows, pa.float32())
    at = table.schema.get_field_index("surprise")
    pq.write_table(table.set_column(at, table.schema.field(at), nulls), tmp_path / "nulls.parquet")
    rows = RowFile(tmp_path / "nulls.parquet").read(0)
    assert not rows.surprise.any()
    assert resample(rows, 0.5, np.random.default_rng(0)).tolist() == list(range(len(rows)))


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_rows_of_high_divergence_are_sampled_more_often(tmp_path, share):
    pq.write_table(to_table(play(), 1), tmp_path / "rows.parquet")
    rows = RowFile(tmp_path / "rows.parquet").read(0)
    counts = np.zeros(len(rows))
    for seed in range(200):
        sampled = resample(rows, share, np.random.default_rng(seed))
        assert len(sampled) == len(rows)
        counts += np.bincount(sampled, minlength=len(rows))
    expected = 1 - share + share * rows.surprise / rows.surprise.mean()
    assert np.abs(counts / 200 - expected).max() < 0.12


def test_rows_without_a_divergence_are_sampled_once(tmp_path):
    """Rows of a file that has none, beside those of one that has."""
    pq.write_table(to_table(play(), 1), tmp_path / "rows.parquet")
    rows = RowFile(tmp_path / "rows.parquet").read(0)
    both = concatenate([rows, replace(rows, surprise=None)])
    for share in (0.5, 1.0):
        draws = [resample(both, share, np.random.default_rng(seed)) for seed in range(50)]
        without = np.mean([(drawn >= len(rows)).sum() for drawn in draws])
        assert without == pytest.approx(len(rows), abs=1)
    merged = merge_positions(both, "average")
    alone = merge_positions(rows, "average")
    assert merged.surprise == pytest.approx(alone.surprise)


@pytest.mark.parametrize("memory_mb", [0, 64])
def test_epochs_are_as_long_as_before_and_follow_from_the_seed(tmp_path, memory_mb):
    pq.write_table(to_table(play(), 1), tmp_path / "rows.parquet", row_group_size=50)

    def actions():
        data = RowsDataModule(
            [tmp_path / "rows.parquet"], heldout=0.0, surprise=0.5, batch_size=16, memory_mb=memory_mb
        )
        batches = [batch["label"].tolist() for batch in data.epoch(3)]
        assert len(batches) == data.steps_per_epoch
        return batches

    assert actions() == actions()


def test_a_share_out_of_range_is_named(tmp_path):
    with pytest.raises(ValueError, match="expected policy_kl_share in"):
        LearnConfig(policy_kl_share=1.5)
    pq.write_table(to_table(play(), 1), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="expected surprise in"):
        RowsDataModule([tmp_path / "rows.parquet"], surprise=-1)


@pytest.mark.parametrize("memory_mb", [1024, 0])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_a_divergence_that_is_no_weight_is_refused(tmp_path, wrong, memory_mb):
    table = to_table(play(), 1)
    at = table.schema.get_field_index("surprise")
    values = table["surprise"].to_pylist()
    values[len(values) // 2] = wrong
    path = tmp_path / "rows.parquet"
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(values, pa.float32())), path)
    message = rf"rows\.parquet: expected policy KL >= 0 in the column surprise, found {wrong:g}; train with"
    with pytest.raises(DatasetError, match=message):
        list(RowsDataModule([path], heldout=0.0, surprise=0.5, memory_mb=memory_mb).epoch(0))
    assert list(RowsDataModule([path], heldout=0.0, memory_mb=memory_mb).epoch(0))
