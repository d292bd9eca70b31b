"""Rows to batches: the split, what a batch holds, and files that cannot be used."""

import make_rows
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ckai.datasets.convert import parse_files
from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.reader import newest_dataset, read_rows
from ckai.datasets.schema import HEADERS_SCHEMA, DatasetError
from ckai.datasets.split import game_keys, held_out


@pytest.fixture(scope="module")
def rows():
    return make_rows.random_games(30)


@pytest.fixture
def expert(tmp_path, rows):
    return make_rows.write(tmp_path / "games.parquet", rows)


def bytes_of(batch, i):
    return b"".join(batch[name][i].numpy().tobytes() for name in sorted(batch))


def all_rows(batches):
    return sorted(bytes_of(batch, i) for batch in batches for i in range(len(batch["label"])))


# --- the split -------------------------------------------------------------------------------------


def test_a_game_is_never_on_both_sides_and_the_seed_decides_which():
    games = np.repeat(np.arange(5000), 3)
    out = held_out(games, seed=7, share=0.1)
    assert np.all(out.reshape(-1, 3).min(1) == out.reshape(-1, 3).max(1))
    assert 0.085 < out.mean() < 0.115
    np.testing.assert_array_equal(out, held_out(games, seed=7, share=0.1))
    other = held_out(games, seed=8, share=0.1)
    assert (out & other).mean() < 0.03
    assert not held_out(games, 7, 0).any()
    assert held_out(games, 7, 0.3)[out].all(), "a larger share holds out more games, and those too"


def test_the_split_does_not_change_between_versions():
    assert np.flatnonzero(held_out(np.arange(60), 0, 0.1)).tolist() == [5, 7, 14, 33, 34, 53, 55]


# --- batches ---------------------------------------------------------------------------------------


def test_a_batch_holds_what_was_written(expert, rows):
    data = RowsDataModule([expert])
    batches = list(data.batches("all", 64))
    assert max(len(batch["label"]) for batch in batches) == 64
    whole = {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    types = {name: tensor.dtype for name, tensor in whole.items()}
    assert types == {
        "board": torch.int8,
        "jumper": torch.int8,
        "ply": torch.int16,
        "quiet": torch.int16,
        "legal": torch.uint8,
        "label": torch.int64,
        "z": torch.float32,
        "z_known": torch.bool,
    }
    keys, lengths = game_keys(read_rows(expert))
    order = np.argsort(np.repeat(held_out(keys, 0, 0.1), lengths), kind="stable")
    for i, at in enumerate(order):
        row = rows[at]
        assert whole["board"][i].tolist() == row["board"]
        assert whole["legal"][i].numpy().tobytes() == row["legal"]
        assert [whole[name][i].item() for name in ("jumper", "quiet", "label")] == [
            row["jumper"],
            row["quiet"],
            row["label"],
        ]
        assert whole["z_known"][i].item() == (row["z"] is not None)
        assert whole["z"][i].item() == (row["z"] or 0)


def test_every_epoch_is_the_whole_training_side_in_another_order(expert):
    data = RowsDataModule([expert], batch_size=50)
    want = all_rows(data.batches("train"))
    first, again, second = list(data.epoch(0)), list(data.epoch(0)), list(data.epoch(1))
    assert len(first) == data.steps_per_epoch
    assert all_rows(first) == all_rows(second) == want
    assert torch.equal(first[0]["board"], again[0]["board"])
    assert not torch.equal(first[0]["board"], second[0]["board"])


def test_training_batches_are_transformed_and_held_out_ones_are_not(expert):
    def double(batch):
        return {**batch, "z": 2 * batch["z"]}

    plain, other = (
        RowsDataModule([expert], batch_size=64, heldout=0.3, transform=transform)
        for transform in (None, double)
    )
    before, after = list(plain.train_dataloader()), list(other.train_dataloader())
    assert [batch["z"].tolist() for batch in after] == [(2 * batch["z"]).tolist() for batch in before]
    assert sum(batch["z"].abs().sum() for batch in before) > 0
    assert all_rows(other.val_dataloader()) == all_rows(plain.val_dataloader())


def test_weights_say_how_often_an_epoch_takes_a_data_set(tmp_path):
    games = (
        make_rows.random_games(30, max_plies=10),
        make_rows.random_games(20, seed=5, max_plies=10, first=1000),
    )
    paths = [make_rows.write(tmp_path / f"{i}.parquet", rows, group=64) for i, rows in enumerate(games)]
    data = RowsDataModule(paths, heldout=0, batch_size=32, weights=(2.5, 0.25))
    rows = 0
    for batch in data.epoch(3):
        rows += len(batch["label"])
    assert rows == data.epoch_rows
    assert data.epoch_rows == pytest.approx(2.5 * len(games[0]) + 0.25 * len(games[1]), abs=8)
    assert data.steps_per_epoch == sum(1 for _ in data.epoch(3))
    with pytest.raises(ValueError, match="above 0 and below 1000 for each of 2 data sets, found 1"):
        RowsDataModule(paths, weights=(1,))
    with pytest.raises(ValueError, match=r"expected weights that leave some of \d+ rows in an epoch"):
        RowsDataModule(paths, heldout=0, weights=(1e-6, 1e-6))


def test_visits_become_a_distribution_and_expert_rows_point_at_their_move(tmp_path, rows):
    searched = make_rows.with_search(rows[:50])
    searched[7]["visits"] = []
    paths = [
        make_rows.write(tmp_path / "s.parquet", searched, group=20),
        make_rows.write(tmp_path / "e.parquet", rows[50:80], group=20),
    ]
    data = RowsDataModule(paths, heldout=0)
    batches = list(data.batches("train", 1000))
    policy, q, label, z = (torch.cat([b[name] for b in batches]) for name in ("policy", "q", "label", "z"))
    assert policy.shape == (80, 128)
    np.testing.assert_allclose(policy.sum(1), 1, rtol=1e-6)
    for i, row in enumerate(searched):
        total = sum(v["count"] for v in row["visits"])
        for visit in row["visits"]:
            assert policy[i, visit["label"]] == pytest.approx(visit["count"] / total)
        assert q[i].item() == pytest.approx(row["q"])
    for i in [7, *range(50, 80)]:
        assert policy[i, label[i]] == 1
    assert torch.equal(q[50:], z[50:])
    data.epoch(0)
    assert all_rows(data.epoch(0)) == all_rows(data.batches("train"))


# --- files that cannot be used ---------------------------------------------------------------------


def refuse(path, message):
    with pytest.raises(DatasetError, match=message) as error:
        RowsDataModule([path])
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_damaged_pages_are_refused(tmp_path, expert):
    data = bytearray(expert.read_bytes())
    data[40:4000] = bytes(3960)
    (tmp_path / "bad.parquet").write_bytes(data)
    refuse(tmp_path / "bad.parquet", "damaged data in row group 0")


def test_other_schemas_are_refused(tmp_path, expert):
    table = pq.read_table(expert)
    path = tmp_path / "other.parquet"
    pq.write_table(table.drop_columns(["legal"]), path)
    refuse(path, "expected the column legal, found game, ply")
    pq.write_table(table.replace_schema_metadata({b"ckai.rows": b"9"}), path)
    refuse(path, "expected row format version 1, found 9")
    pq.write_table(table.replace_schema_metadata(None), path)
    refuse(path, "expected row format version 1, found none")
    at = table.schema.get_field_index("label")
    wrong = table.set_column(at, "label", table["label"].cast(pa.int32()))
    pq.write_table(wrong.replace_schema_metadata(table.schema.metadata), path)
    refuse(path, "expected column label of type uint8, found int32")
    pq.write_table(HEADERS_SCHEMA.empty_table(), tmp_path / "games.headers.parquet")
    refuse(tmp_path / "games.headers.parquet", "found game headers; the rows are in games.parquet")


def test_empty_data_and_labels_that_are_not_legal_are_refused(tmp_path, rows):
    refuse(make_rows.write(tmp_path / "empty.parquet", []), "expected rows, found none")
    for label in (0, 200):
        bad = [dict(row) for row in rows[:150]]
        bad[120]["label"] = label
        path = make_rows.write(tmp_path / "bad.parquet", bad)
        refuse(path, "row 120: expected a legal label of")


def test_a_side_without_games_is_refused(tmp_path, rows):
    path = make_rows.write(tmp_path / "one.parquet", [row for row in rows if row["game"] == 0])
    with pytest.raises(DatasetError, match="expected held-out games, found none"):
        RowsDataModule([path], heldout=0.01)
    assert RowsDataModule([path], heldout=0).train_rows > 0


def test_the_newest_data_set_is_never_a_headers_file(tmp_path, expert):
    with pytest.raises(DatasetError, match="found none; `ckai parse` writes one"):
        newest_dataset(tmp_path / "nowhere")
    pq.write_table(HEADERS_SCHEMA.empty_table(), tmp_path / "games.headers.parquet")
    assert newest_dataset(tmp_path) == expert
    later = make_rows.write(tmp_path / "b.parquet", make_rows.random_games(2))
    assert newest_dataset(tmp_path) == later


# --- rows without a data module ---------------------------------------------------------------------


def test_rows_of_no_file_or_of_another_game_are_refused(tmp_path, expert):
    with pytest.raises(DatasetError, match="no such file"):
        read_rows(tmp_path / "none.parquet")
    with pytest.raises(DatasetError, match="expected rows of connect4, found rows of checkers"):
        read_rows(str(expert), game="connect4")


def test_copies_of_a_game_stand_on_one_side(tmp_path):
    """Of one file or of several, under any number, with another end or another result."""
    firsts = ["11-15", "11-16", "12-16", "9-13", "9-14", "10-14", "10-15"]
    games = [f"1. {first} *\n" for first in firsts]
    for name, text in (("a", games * 20), ("b", games[::-1]), ("c", [f"[Result '1-0']\n{g}" for g in games])):
        (tmp_path / f"{name}.pdn").write_text("".join(text))
        parse_files(tmp_path / f"{name}.pdn", tmp_path / f"{name}.parquet")
    data = RowsDataModule([tmp_path / f"{name}.parquet" for name in "abc"], heldout=0.4)
    sides = {
        split: {int(label) for batch in data.batches(split) for label in batch["label"]}
        for split in ("train", "heldout")
    }
    assert not sides["train"] & sides["heldout"]
    assert len(sides["train"] | sides["heldout"]) == 7
    assert data.heldout_rows == 22 * len(sides["heldout"]) > 0
    assert data.train_rows == sum(len(batch["label"]) for batch in data.epoch(0)) == 154 - data.heldout_rows


def visit(label, count):
    return [{"label": label, "count": count}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": 40.0}, r"expected a q in \[-1, 1\], found 40.0"),
        ({"visits": visit(0, 1)}, r"expected visits of the legal actions \[.*\], found 1 of 0"),
        ({"visits": visit(128, 0)}, r"expected visits of the legal actions \[.*\], found 0 of 128"),
        ({"z": 2}, "expected a z of -1, 0 or 1, found 2"),
        ({"quiet": -1}, "expected quiet >= 0, found -1"),
        ({"board": [2] + [0] * 31}, r"expected a board of -3, -1, 0, 1 and 3, found \[2, 0"),
        ({"board": [0] * 31 + [-128]}, r"expected a board of -3, -1, 0, 1 and 3, found \[0.* -128\]"),
        ({"jumper": 32}, "expected a jumper from -1 to 31 .*, found 32"),
        ({"ply": -1}, "expected a row after the one before"),
        ({"jumper": 31}, "expected a jumper .* that is one of the mover's pieces, found 31"),
        ({"legal": b"\xff" * 16}, r"expected the legal actions of the position, found \[0, 1, 2"),
    ],
    ids=str,
)
def test_values_that_cannot_be_are_refused(tmp_path, rows, change, message):
    """They would spoil what is learned from all other rows, without a word."""
    searched = make_rows.with_search(rows[:150])
    searched[120] |= change
    refuse(make_rows.write(tmp_path / "bad.parquet", searched), rf"row 120: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows * 2,
            r"expected a row after .* by \(game, ply, hop\), found \(0, 0, 0\); a file",
        ),
        (lambda rows: [row for row in rows for _ in "ab"], "row 1: expected a row after the one before"),
    ],
)
def test_rows_that_do_not_follow_are_refused(tmp_path, rows, change, message):
    refuse(make_rows.write(tmp_path / "bad.parquet", change([dict(row) for row in rows])), message)


def test_values_at_their_bounds_are_read(tmp_path, rows):
    searched = make_rows.with_search(rows[:150])
    last = max(i for i in range(128) if searched[5]["legal"][i // 8] >> i % 8 & 1)
    searched[3] |= {"q": 1.00001}
    searched[4] |= {"q": float("nan"), "visits": visit(127, 0)}
    searched[5] |= {"visits": visit(last, 1)}
    assert len(read_rows(make_rows.write(tmp_path / "good.parquet", searched))) == 150
    # A part of a game, from a position with its clock.
    middle = [row | {"ply": row["ply"] - 9} for row in rows if row["game"] == 0 and row["ply"] >= 9]
    assert len(read_rows(make_rows.write(tmp_path / "part.parquet", middle))) == len(middle)


def test_missing_folder_and_foreign_files_are_refused(tmp_path, expert):
    refuse(tmp_path / "none.parquet", "no such file")
    refuse(tmp_path, "found a folder")
    (tmp_path / "text.parquet").write_text("1. 11-15")
    refuse(tmp_path / "text.parquet", "a file that is not one or is cut short")
    (tmp_path / "short.parquet").write_bytes(expert.read_bytes()[:-500])
    refuse(tmp_path / "short.parquet", "a file that is not one or is cut short")
    with pytest.raises(DatasetError, match="at least one data set"):
        RowsDataModule([])
