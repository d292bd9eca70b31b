"""Merging positions and weighing data sets, against loops that are obviously right."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from make_rows import random_games, with_search, write

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.merge import merge_positions
from ckai.datasets.reader import RowFile
from ckai.datasets.rows import Rows, Visits
from ckai.datasets.schema import DatasetError


@pytest.fixture(params=[False, True], ids=["expert", "searched"])
def rows(request, tmp_path):
    games = random_games(60, seed=1, max_plies=6)
    path = write(tmp_path / "g.parquet", with_search(games) if request.param else games, group=10**6)
    return RowFile(path).read(0)


def groups(rows, *, by_move):
    """Row numbers by position, or by position and move, in the order of the first."""
    found = defaultdict(list)
    for i in range(len(rows)):
        key = (rows.board[i].tobytes(), int(rows.jumper[i]))
        found[(*key, int(rows.label[i])) if by_move else key].append(i)
    return list(found.values())


def test_all_is_all(rows):
    assert merge_positions(rows, "all") is rows


@pytest.mark.parametrize("how", ["distinct", "average"])
def test_one_row_a_position_or_a_move_with_the_mean_result(rows, how):
    wanted = groups(rows, by_move=how == "distinct")
    merged = merge_positions(rows, how)
    assert len(merged) == len(wanted) < len(rows)
    for at, members in enumerate(wanted):
        assert (merged.board[at] == rows.board[members[0]]).all()
        assert merged.legal[at].tobytes() == rows.legal[members[0]].tobytes()
        known = [i for i in members if rows.z_known[i]]
        assert merged.z_known[at] == bool(known)
        assert merged.z[at] == pytest.approx(np.mean([rows.z[i] for i in known]) if known else 0)
        if rows.q is not None:
            assert merged.q[at] == pytest.approx(np.mean(rows.q[members]), rel=1e-5)


def test_an_average_row_learns_the_shares_of_the_moves(rows):
    merged = merge_positions(rows, "average")
    policy = merged.visits.dense(merged.label, 128)
    dense = None if rows.visits is None else rows.visits.dense(rows.label, 128)
    for at, members in enumerate(groups(rows, by_move=False)):
        if dense is None:
            counts = Counter(int(rows.label[i]) for i in members)
            wanted = np.array([counts[label] / len(members) for label in range(128)])
            most = max(counts.values())
            assert merged.label[at] == min(label for label, n in counts.items() if n == most)
        else:
            wanted = dense[members].mean(0)
        np.testing.assert_allclose(policy[at], wanted, atol=0.003)


def test_an_unknown_way_is_refused(rows):
    with pytest.raises(ValueError, match="expected positions all, distinct, average, found 'some'"):
        merge_positions(rows, "some")


def test_only_the_training_side_is_merged(tmp_path):
    path = write(tmp_path / "g.parquet", random_games(60, max_plies=6))
    plain, merged = (RowsDataModule([path], heldout=0.2, positions=how) for how in ("all", "average"))
    assert merged.heldout_rows == plain.heldout_rows
    assert merged.train_rows < plain.train_rows
    batch = next(merged.epoch(0))
    assert batch["policy"].sum(1).tolist() == pytest.approx([1] * len(batch["policy"]))
    assert next(merged.batches("heldout"))["policy"].max() == 1
    with pytest.raises(DatasetError, match=r"fit 0 MB to merge positions.*--memory-mb"):
        RowsDataModule([path], positions="average", memory_mb=0)


@pytest.mark.parametrize("memory_mb", [0, 100])
def test_weights_say_how_often_an_epoch_takes_a_data_set(tmp_path, memory_mb):
    games = random_games(30, max_plies=10), random_games(20, seed=5, max_plies=10, first=1000)
    paths = [write(tmp_path / f"{i}.parquet", rows, group=64) for i, rows in enumerate(games)]
    data = RowsDataModule(paths, heldout=0, batch_size=32, weights=(2.5, 0.25), memory_mb=memory_mb)
    rows = 0
    for batch in data.epoch(3):
        rows += len(batch["label"])
    assert rows == data.epoch_rows
    assert data.epoch_rows == pytest.approx(2.5 * len(games[0]) + 0.25 * len(games[1]), abs=8)
    assert data.steps_per_epoch == sum(1 for _ in data.epoch(3))
    with pytest.raises(ValueError, match="above 0 and below 1000 for each of 2 data sets, found 1"):
        RowsDataModule(paths, weights=(1,))
    with pytest.raises(ValueError, match=r"expected weights that leave some of \d+ rows in an epoch"):
        RowsDataModule(paths, heldout=0, weights=(1e-6, 1e-6), memory_mb=memory_mb)


def test_a_whole_weight_takes_every_row_as_often(tmp_path):
    path = write(tmp_path / "g.parquet", random_games(10, max_plies=10))

    def taken(**options):
        data = RowsDataModule([path], heldout=0, batch_size=16, **options)
        rows = [
            row.tobytes() + bytes([int(label)])
            for batch in data.epoch(0)
            for row, label in zip(batch["board"].numpy(), batch["label"], strict=True)
        ]
        return Counter(rows)

    once, thrice = taken(), taken(weights=(3,))
    assert thrice == Counter({row: 3 * n for row, n in once.items()})


def searched(labels, counts, squares=32, mask_bytes=16, boards=None):
    """Rows of one position (or of `boards`), each with its label and its counts of the actions 0, 1, 2."""
    n = len(labels)
    boards = np.ones(n, np.int8) if boards is None else np.array(boards, np.int8)
    listed = [range(len(row)) for row in counts]
    visits = Visits(
        np.cumsum([0, *map(len, counts)]),
        np.array([action for row in listed for action in row], np.uint8),
        np.array([count for row in counts for count in row], np.uint32),
    )
    return Rows(
        game=np.arange(n, dtype=np.int32), ply=np.zeros(n, np.int16),
        board=np.repeat(boards[:, None], squares, 1), jumper=np.full(n, -1, np.int8),
        quiet=np.zeros(n, np.int16), legal=np.full((n, mask_bytes), 255, np.uint8),
        label=np.array(labels, np.uint8), z=np.ones(n, np.int8), z_known=np.ones(n, np.bool_),
        q=np.zeros(n, np.float32), visits=visits,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ([[0, 0, 0], [1, 1, 2], [3, 1, 0]], [0.25, 0.25, 0.5]),
        ([[0, 0, 0], [], [3, 1, 0]], [0, 0, 1]),  # no search: all weight on the action played
        ([[1, 3, 0], [0, 0, 0], []], [0.25, 0.75, 0]),
        ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [0, 0, 0]),
    ],
)
def test_distinct_keeps_the_first_policy_target(counts, wanted):
    # Another position stands between, with its own target.
    rows = searched([2, 1, 2, 2], [counts[0], [1, 0, 0], *counts[1:]], boards=[1, 0, 1, 1])
    merged = merge_positions(rows, "distinct")
    assert merged.label.tolist() == [2, 1]
    assert merged.game.tolist() == [0, 1]
    policy = merged.visits.dense(merged.label, 128)
    assert policy[:, :3].tolist() == [wanted, [1, 0, 0]]


def test_an_average_without_any_count_keeps_the_action_played():
    rows = searched([2, 1, 1], [[0, 0, 0], [0, 0, 0], [0, 4, 0]], boards=[1, 1, 0])
    merged = merge_positions(rows, "average")
    assert merged.label.tolist() == [2, 1]
    assert merged.visits.dense(merged.label, 128).sum(1).tolist() == [0, 1]


def test_actions_beyond_128_stay_what_they_are():
    rows = searched([199, 199, 5], [[], [], []], squares=8, mask_bytes=25, boards=[1, 1, 3])
    merged = merge_positions(replace(rows, visits=None), "average")
    assert merged.label.tolist() == [199, 5]
    assert merged.visits.labels.tolist() == [199, 5]
    assert merged.visits.counts.tolist() == [2, 1]


def test_distinct_tells_positions_apart_by_every_bit_of_their_keys(monkeypatch):
    keys = np.array([1, 1 | 1 << 63], np.uint64)
    monkeypatch.setattr("ckai.datasets.merge.position_keys", lambda board, jumper: keys)
    rows = searched([2, 2], [[], []], boards=[1, 0])
    assert len(merge_positions(rows, "distinct")) == 2
