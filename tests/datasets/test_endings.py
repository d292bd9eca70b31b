"""How games ended, in rows: from PDN, from files without it, merged, turned and streamed."""

import make_rows
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckai.datasets.convert import parse_files
from ckai.datasets.data_module import RowsDataModule, to_batch
from ckai.datasets.merge import merge_positions
from ckai.datasets.reader import RowFile
from ckai.datasets.rows import concatenate
from ckai.datasets.schema import DatasetError
from ckai.datasets.symmetries import Symmetries
from ckai.game import Game

MOVES = ["11-15", "23-19", "8-11", "22-17", "11-16", "24-20", "16x23", "27x11", "7x16", "20x11"]


def owners(position, last):
    """Who has each square of `last`, in the view of the mover of `position`, square by square."""
    found = []
    for index in range(32):
        square = index + 1 if position.black else 32 - index
        piece = last.pieces().get(square)
        mine = piece is not None and (piece.lower() == "b") == position.black
        found.append(0 if piece is None else 1 if mine else -1)
    return found


def read(path):
    file = RowFile(path, endings=True)
    return concatenate([file.read(group) for group in range(len(file.group_rows))])


@pytest.fixture
def parsed(tmp_path):
    text = " ".join(MOVES)
    games = [f"{text} 1-0", f"{text} *", f"{text} 1-13 1-0", "11-15 23-19 0-1"]
    (tmp_path / "g.pdn").write_text("".join(f'[Event "{n}"]\n{moves}\n\n' for n, moves in enumerate(games)))
    parse_files(tmp_path / "g.pdn", tmp_path / "g.parquet")
    return tmp_path / "g.parquet"


def test_expert_rows_say_how_their_game_went_on(parsed):
    rows = read(parsed)
    game = Game()
    for move in MOVES:
        game.push(move)
    mine = rows.take(np.flatnonzero(rows.game == 0))
    assert mine.plies_left.tolist() == [len(MOVES) - ply for ply in mine.ply]
    for ply, found in zip(mine.ply.tolist(), mine.ownership.tolist(), strict=True):
        assert found == owners(game.positions[ply], game.position)
    # The end is not known without a result, and after an illegal move.
    assert not rows.plies_left[(rows.game == 1) | (rows.game == 2)].any()
    assert not rows.ownership[(rows.game == 1) | (rows.game == 2)].any()
    assert rows.plies_left[rows.game == 3].tolist() == [2, 1]


def test_files_without_endings_are_read_as_unknown(tmp_path):
    rows = make_rows.with_endings(make_rows.random_games(6))
    new = make_rows.write(tmp_path / "new.parquet", rows)
    pq.write_table(pq.read_table(new).drop_columns(["plies_left", "ownership"]), tmp_path / "old.parquet")
    old = tmp_path / "old.parquet"
    assert read(old).plies_left is None
    assert "plies_left" not in next(RowsDataModule([old], heldout=0, endings=True).epoch(0))
    assert "plies_left" not in next(RowsDataModule([new], heldout=0).epoch(0)), "read only where asked for"
    for memory_mb in (1024, 0):
        data = RowsDataModule([old, new], heldout=0, endings=True, memory_mb=memory_mb, batch_size=10**6)
        (batch,) = data.epoch(0)
        assert len(batch["label"]) == 2 * len(rows)
        known = sum(row["plies_left"] is not None for row in rows)
        assert 0 < known < len(rows)
        assert int((batch["plies_left"] > 0).sum()) == known
        assert batch["ownership"].sum(1).unique().tolist() == [1]
        sums = batch["plies_left"].sum().item()
        assert sums == sum(row["plies_left"] or 0 for row in rows)


def test_rows_of_which_none_says_how_its_game_ended_have_no_endings(tmp_path):
    rows = make_rows.with_endings(make_rows.random_games(6))
    for row in rows:
        row["plies_left"] = row["ownership"] = None
    path = make_rows.write(tmp_path / "distilled.parquet", rows)
    assert {"plies_left", "ownership"} <= set(pq.read_schema(path).names)
    assert not RowFile(path, endings=True).endings
    assert not RowsDataModule([path], heldout=0, endings=True).files.endings


def test_the_memory_of_endings_is_counted(tmp_path):
    path = make_rows.write(tmp_path / "g.parquet", make_rows.with_endings(make_rows.random_games(6)))
    assert RowFile(path, endings=True).nbytes == read(path).nbytes
    assert RowFile(path).nbytes < RowFile(path, endings=True).nbytes


def test_merged_rows_have_the_mean_of_the_endings_that_are_known(parsed):
    rows = read(parsed)
    merged = merge_positions(rows, "average")
    first = rows.take(np.flatnonzero(rows.ply == 0))
    assert merged.plies_left[0] == (len(MOVES) + 2) / 2
    shares = to_batch(merged)["ownership"][0].numpy()
    known = first.ownership[first.plies_left > 0]
    assert len(known) == 2
    for place, owner in enumerate((1, 0, -1)):
        np.testing.assert_allclose(shares[place], (known == owner).mean(0))


def test_turned_rows_have_turned_endings(tmp_path):
    class Mirror:
        squares = tuple(reversed(range(32)))
        actions = tuple(range(128))

    path = make_rows.write(tmp_path / "g.parquet", make_rows.with_endings(make_rows.random_games(2)))
    batch = to_batch(read(path))
    which = np.arange(len(batch["label"])) % 2
    turned = Symmetries([Mirror()]).turned(batch, which)
    assert np.array_equal(turned["ownership"][0::2], batch["ownership"][0::2])
    assert np.array_equal(turned["ownership"][1::2], batch["ownership"][1::2].flip(2))
    assert np.array_equal(turned["plies_left"], batch["plies_left"])


@pytest.mark.parametrize("change", [{"plies_left": -1}, {"ownership": [2] * 32}])
def test_endings_that_no_game_has_are_refused(tmp_path, change):
    rows = make_rows.with_endings(make_rows.random_games(2))
    rows[7] |= change
    path = make_rows.write(tmp_path / "g.parquet", rows)
    with pytest.raises(DatasetError, match="row 7: expected plies_left >= 1 and an ownership of -1, 0 and 1"):
        read(path)
    assert len(RowFile(path).read(0))


def test_nulls_of_earlier_versions_are_read(tmp_path):
    rows = make_rows.with_endings(make_rows.random_games(6))
    rows = [row | {"plies_left": None, "ownership": None} if row["game"] == 2 else row for row in rows]
    path = make_rows.write(tmp_path / "old.parquet", rows)
    try:
        pq.read_table(path)
    except pa.ArrowInvalid:
        pytest.skip("pyarrow before 26 does not read null lists of a fixed size")
    found = read(path)
    known = found.plies_left > 0
    assert known.any()
    assert not known[found.game == 2].any()
    assert not found.ownership[~known].any()


def test_files_all_of_whose_games_are_held_out_are_merged_with_others(tmp_path):
    rows = (
        make_rows.with_endings(make_rows.random_games(1)),
        make_rows.with_endings(make_rows.random_games(8)),
    )
    paths = [make_rows.write(tmp_path / f"{n}.parquet", each) for n, each in enumerate(rows)]
    for positions in ("average", "distinct"):
        sizes = []
        for seed in range(12):
            data = RowsDataModule(
                paths, heldout=0.3, split_seed=seed, positions=positions, endings=True, need_both_sides=False
            )
            sizes.append(data.train_rows)
        assert len(set(sizes)) > 1
