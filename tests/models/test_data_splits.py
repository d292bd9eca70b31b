"""Which games a network was trained on, by its checkpoint, and how they were split."""

import json

import pytest
from make_rows import random_games, write

from ckai.datasets.schema import DatasetError
from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.network import build
from ckai.models.training.config import PretrainConfig, TrainConfig
from ckai.models.training.pretrain import pretrain

TINY = {"model": "mlp", "settings": {"hidden": 4}, "train": TrainConfig(epochs=1)}


def evaluated(ckai, *arguments):
    status, out, err = ckai("evaluate", *arguments, "--json")
    assert status == 0, err
    return json.loads(out), err


def test_held_out_games_were_never_learned_whatever_file_they_are_in(tmp_path, ckai):
    """A file with the games of the training among others, in another order and under other numbers."""
    games = random_games(60, max_plies=20)
    data = write(tmp_path / "g.parquet", games)
    network = pretrain([data], tmp_path / "a.ckpt", PretrainConfig(heldout=0.3, **TINY)).output
    others = random_games(60, seed=9, max_plies=20)
    moved = [row | {"game": row["game"] + 60} for row in games]
    more = write(tmp_path / "more.parquet", others + moved)
    found, err = evaluated(ckai, network, "--data", more)
    assert (found["split"], found["heldout"]) == ("heldout", 0.3)
    assert "learned" not in err
    new, err = evaluated(ckai, network, "--data", write(tmp_path / "new.parquet", others))
    assert (new["split"], new["rows"]) == ("all", len(others))
    assert "was trained on g.parquet, not on" in err
    # Held-out: games that the training held out, and a part of the others.
    first = load_checkpoint(network).metrics["rows"]
    assert first < found["rows"] < first + 0.6 * new["rows"]


def test_a_pretraining_does_not_hold_out_what_its_start_has_learned(tmp_path):
    data = write(tmp_path / "g.parquet", random_games(12))
    settings = {"model": "mlp", "settings": {"hidden": 4}, "train": TrainConfig(epochs=1)}
    first = pretrain([data], tmp_path / "first.ckpt", PretrainConfig(heldout=0.0, **settings)).output
    config = PretrainConfig(init=str(first), heldout=0.3, train=TrainConfig(epochs=1))
    with pytest.raises(DatasetError, match=r"would be held out now; use --setting heldout=0$"):
        pretrain([data], tmp_path / "next.ckpt", config)


def test_a_network_that_does_not_know_its_games_says_so(tmp_path, ckai):
    data = write(tmp_path / "g.parquet", random_games(60, max_plies=6))
    info = {"data": [{"name": "e.parquet", "rows": 3}]}
    save_checkpoint(tmp_path / "old.ckpt", build("mlp", {"hidden": 4}), info=info)
    found, err = evaluated(ckai, tmp_path / "old.ckpt", "--data", data)
    assert found["split"] == "heldout"
    assert "does not say which games it learned" in err
