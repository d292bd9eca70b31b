"""Which data a network was trained on, by its checkpoint, and how they were split."""

import json

import pytest
from make_rows import random_games, with_search, write

from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError
from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.evaluation.data_splits import check_split, data_entries, split_of, trained_on
from ckai.models.registry import build
from ckai.models.training.config import PretrainConfig, TrainConfig
from ckai.models.training.pretrain import pretrain
from ckai.rl.loop.config import LearnConfig
from ckai.rl.loop.learning import learn

SPLITS = (0, 0.1), (5, 0.1), (0, 0.0), (0, 0.3)
FIRST, OTHER, ALL, MORE = ({"seed": seed, "heldout": share} for seed, share in SPLITS)


@pytest.fixture
def files(tmp_path):
    found = []
    for number in (1, 2):
        folder = tmp_path / f"gen_{number:04d}"
        folder.mkdir()
        rows = with_search(random_games(number + 2, seed=number))
        found.append(RowFile(write(folder / "rows.parquet", rows)))
    return found


def test_entries_are_those_of_before_and_of_now(files):
    old = {"split": OTHER, "data": [{"name": "g.parquet", "rows": 7}]}
    first = data_entries(old, files[:1], FIRST)
    assert first == [
        {"name": "g.parquet", "rows": 7, "split": OTHER},
        {"name": "gen_0001/rows.parquet", "rows": files[0].rows, "split": FIRST},
    ]
    # What was learned once is never held out again.
    for now in (ALL, OTHER):
        then = data_entries({"data": first}, files, now)
        assert [entry["split"]["heldout"] for entry in then] == [0.1, 0.0, now["heldout"]]
        later = data_entries({"data": then}, files, FIRST)
        assert [entry["split"]["heldout"] for entry in later] == [0.1, 0.0, 0.0]
    assert data_entries({"data": first}, files[:1], MORE)[1]["split"] == FIRST
    # A file is the same under another name, and with more rows.
    for entry in ({"name": "rows.parquet", "rows": 1}, {"name": "other.parquet", "rows": files[0].rows}):
        (found,) = data_entries({"data": [entry], "split": ALL}, files[:1], FIRST)
        assert found == {"name": entry["name"], "rows": files[0].rows, "split": ALL}


def test_the_split_is_that_of_the_files(files):
    info = {"split": OTHER, "data": data_entries({}, files[:1], FIRST)}
    assert (trained_on(info, files[0]), trained_on(info, files[1])) == (True, False)
    assert trained_on({}, files[0]) is None
    assert split_of(info, files[:1]) == split_of(info, files) == FIRST
    assert split_of(info, files[1:]) == OTHER
    assert split_of({"split": OTHER}, files) == OTHER
    both = {"data": [*info["data"], *data_entries({}, files[1:], ALL)]}
    assert split_of(both, files) == ALL
    both = {"data": [*info["data"], *data_entries({}, files[1:], OTHER)]}
    with pytest.raises(DatasetError, match=r"with one seed in the training, found the seeds 0, 5; evaluate"):
        split_of(both, files)
    # Entries of one file, as of rows and of the same ones searched again: what all of them held out.
    again = [{"name": f"{n}", "rows": files[0].rows, "split": split} for n, split in enumerate((MORE, FIRST))]
    assert split_of({"data": again}, files[:1]) == FIRST
    assert split_of({"data": [*again, {**again[0], "split": OTHER}]}, files[:1])["heldout"] == 0.0


def test_learned_games_are_not_held_out(files):
    again = "--setting heldout=0.1 and split_seed=0, as then, or heldout=0"
    for before, now, advice in (
        (FIRST, FIRST, None),
        (ALL, ALL, None),
        (MORE, FIRST, None),  # a part of those that were held out then
        (FIRST, ALL, None),
        (FIRST, OTHER, again),
        (FIRST, MORE, again),
        (ALL, FIRST, "--setting heldout=0"),
    ):
        info = {"split": before, "data": [{"name": "x", "rows": files[0].rows}]}
        check_split("net.ckpt", info, files[1:], now)
        if advice is None:
            check_split("net.ckpt", info, files, now)
            continue
        with pytest.raises(DatasetError, match=f"was trained on games .* held out now; use {advice}$"):
            check_split("net.ckpt", info, files, now)


def test_a_pretraining_does_not_hold_out_what_its_start_has_learned(tmp_path):
    data = write(tmp_path / "g.parquet", random_games(12))
    settings = {"model": "mlp", "settings": {"hidden": 4}, "train": TrainConfig(epochs=1)}
    first = pretrain([data], tmp_path / "first.ckpt", PretrainConfig(heldout=0.0, **settings)).output
    config = PretrainConfig(init=str(first), heldout=0.3, train=TrainConfig(epochs=1))
    with pytest.raises(DatasetError, match=r"would be held out now; use --setting heldout=0$"):
        pretrain([data], tmp_path / "next.ckpt", config)


def test_a_network_of_self_play_knows_its_games(tmp_path, ckai):
    rows = write(tmp_path / "rows.parquet", with_search(random_games(60, max_plies=6)))
    start = tmp_path / "start.ckpt"
    save_checkpoint(start, build("mlp", {"hidden": 4}), info={"data": [{"name": "e.parquet", "rows": 3}]})
    learn(
        start,
        [rows],
        (1.0,),
        tmp_path / "next.ckpt",
        LearnConfig(epochs=1, batch_size=64),
        generation=1,
        games=200,
        seed=0,
        split_seed=9,
        game="checkers",
        run="run",
        on_event=lambda event: None,
    )
    info = load_checkpoint(tmp_path / "next.ckpt").info
    assert info["data"][-1] == {
        "name": f"{tmp_path.name}/rows.parquet",
        "rows": RowFile(rows).rows,
        "split": {"seed": 9, "heldout": 0.05},
    }
    status, out, err = ckai("evaluate", tmp_path / "next.ckpt", "--data", rows, "--split", "train", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["split_seed"], found["heldout"], found["other_data"]) == (9, 0.05, False)
