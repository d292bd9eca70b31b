"""Weights of data sets: how often an epoch takes their rows."""

import pytest
from make_rows import random_games, write

from ckai.datasets.data_module import RowsDataModule


def test_weights_say_how_often_an_epoch_takes_a_data_set(tmp_path):
    games = random_games(30, max_plies=10), random_games(20, seed=5, max_plies=10, first=1000)
    paths = [write(tmp_path / f"{i}.parquet", rows, group=64) for i, rows in enumerate(games)]
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
