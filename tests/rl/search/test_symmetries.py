"""Symmetries in training and in evaluation: rows stay rows of the game, evaluations those of the position."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ckai.datasets.data_module import RowsDataModule, Symmetries, to_batch
from ckai.datasets.reader import read_rows
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.registry import get_game
from ckai.rl.run.config import RunConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.shards import to_table

GAME = get_game("tictactoe")
TABLE = Symmetries(GAME.symmetries)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    config = SelfPlayConfig(sims=6, in_flight=4, groups=1, tables=0, temperature_plies=4)
    games = []
    play_games(UniformEvaluator(GAME.num_actions), config, range(12), seed=1, on_game=games.append, spec=GAME)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(to_table(games), path)
    return path


def seen(batch):
    """The rows of a batch as a sorted list, each with all that a symmetry may change."""
    columns = [batch[name].numpy() for name in ("board", "legal", "policy")]
    columns += [batch[name].numpy()[:, None] for name in ("label", "z", "q")]
    return sorted(
        tuple(np.concatenate([column[i] for column in columns]).tolist()) for i in range(len(columns[0]))
    )


@pytest.mark.slow
def test_every_symmetry_turns_board_actions_and_policy_alike(path):
    batch = to_batch(read_rows(path, game=GAME.name))
    empty = np.unpackbits(batch["legal"].numpy(), axis=1, bitorder="little")[:, :9]
    assert ((batch["board"].numpy() == 0) == empty).all()
    for number in range(len(TABLE)):
        turned = TABLE.turned(batch, torch.full_like(batch["label"], number))
        legal = np.unpackbits(turned["legal"].numpy(), axis=1, bitorder="little")
        assert ((turned["board"].numpy() == 0) == legal[:, :9]).all()
        assert not legal[:, 9:].any()
        rows = torch.arange(len(turned["label"]))
        assert (turned["board"][rows, turned["label"]] == 0).all()
        before = batch["policy"][rows, batch["label"]]
        assert torch.equal(turned["policy"][rows, turned["label"]], before)
        assert torch.equal(turned["z"], batch["z"])
        assert (seen(turned) == seen(batch)) == (number == 0)


@pytest.mark.slow
def test_an_epoch_is_the_same_after_a_resume(path):
    data = RowsDataModule([path], batch_size=7, heldout=0.0, need_both_sides=False, game=GAME.name,
                          symmetries=TABLE)  # fmt: skip
    whole = [seen(batch) for batch in data.epoch(0)]
    assert [seen(batch) for batch in data.epoch(0, 2)] == whole[2:]
    assert [seen(batch) for batch in data.epoch(1)] != whole
    plain = RowsDataModule([path], batch_size=7, heldout=0.0, need_both_sides=False, game=GAME.name)
    assert sorted(map(seen, plain.epoch(0))) != sorted(whole)


def test_a_game_without_symmetries_is_refused():
    with pytest.raises(ValueError, match="board has symmetries"):
        Symmetries(())
    with pytest.raises(ValueError, match="expected no symmetries for checkers"):
        RunConfig().changed(["learn.symmetries=true"])
    assert RunConfig.defaults_for("tictactoe").changed(["learn.symmetries=true"])
    assert RunConfig.defaults_for("go").learn.symmetries
