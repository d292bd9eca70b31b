"""Trainings that begin from a checkpoint, and what is prepared for their batches."""

import threading
import time
from itertools import pairwise

import pytest
import torch
from make_rows import random_games, write

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import load_network, save_checkpoint
from ckai.models.inputs import prepared
from ckai.models.inputs.prepared import PreparedBatches
from ckai.models.registry import build
from ckai.models.training.averaging import MovingAverage
from ckai.models.training.config import TrainConfig
from ckai.models.training.trainer import train

CPU = torch.device("cpu")


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.parquet", random_games(6))


def batches_seen(network):
    return [
        int(value) for name, value in network.state_dict().items() if name.endswith("num_batches_tracked")
    ]


def resnet(folder):
    torch.manual_seed(0)
    save_checkpoint(folder / "first.ckpt", build("resnet", {"channels": 8, "blocks": 1}))
    return folder / "first.ckpt"


def test_a_loaded_network_learns_as_a_built_one_does(tmp_path, rows):
    loaded = load_network(resnet(tmp_path))
    assert not loaded.training
    built = build("resnet", {"channels": 8, "blocks": 1})
    built.load_state_dict(loaded.state_dict())
    losses = []
    for network in (loaded, built):
        data = RowsDataModule([rows], batch_size=64, heldout=0.5)
        state = train(network, data, TrainConfig(epochs=2), device=CPU)
        losses.append([epoch["heldout_policy_loss"] for epoch in state["history"]])
        # The running statistics of batch norm are of the rows.
        assert set(batches_seen(network)) == {2 * data.steps_per_epoch}
    assert losses[0] == losses[1]


class Slow:
    """An encoding that takes longer for some batches than for others."""

    EXTRA = 1

    def __init__(self):
        self.begun = threading.Semaphore(0)

    def extra(self, board, jumper, halfmove_clock):
        self.begun.release()
        number = int(board[0, 0])
        time.sleep(0.02 if number % 3 == 0 else 0.0)
        if number == self.wrong:
            raise ValueError(f"batch {number}")
        return torch.full((len(board), 1), number, dtype=torch.int8)

    wrong = -1


def numbered(count):
    return [
        {"board": torch.full((2, 32), n, dtype=torch.int8), "jumper": torch.zeros(2), "quiet": torch.zeros(2)}
        for n in range(count)
    ]


@pytest.mark.parametrize("cores", [1, 3])
def test_batches_are_prepared_ahead_and_come_in_order(monkeypatch, cores):
    monkeypatch.setattr(prepared, "available_cores", lambda: cores)
    encoding = Slow()
    batches = PreparedBatches(numbered(20), encoding)
    begun = iter(batches)
    next(begun)
    for _ in range(cores + 1):  # so many are prepared while the first is used
        assert encoding.begun.acquire(timeout=60)
    del begun
    for _ in range(2):
        found = list(batches)
        assert [int(batch["board"][0, 0]) for batch in found] == list(range(20))
        assert all(int(batch["extra"][0, 0]) == int(batch["board"][0, 0]) for batch in found)


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(prepared, "available_cores", lambda: 2)
    encoding = Slow()
    encoding.wrong = 7
    with pytest.raises(ValueError, match="batch 7"):
        list(PreparedBatches(numbered(20), encoding))


def test_batches_without_extra_pass_through():
    batches = numbered(3)
    assert all(
        a is b
        for a, b in zip(PreparedBatches(batches, build("mlp", {"hidden": 8}).encode), batches, strict=True)
    )


def test_the_average_follows_its_formula():
    torch.manual_seed(0)
    network = build("resnet", {"channels": 8, "blocks": 1})
    average = MovingAverage(network, 0.5)
    name, weights = next(iter(network.named_parameters()))
    seen = []
    for step in range(12):
        with torch.no_grad():
            weights.add_(torch.randn_like(weights))
            network.norm.num_batches_tracked += 1
        average.update_parameters(network)
        seen.append((weights.detach().clone(), average.module.state_dict()[name].clone()))
        assert int(average.module.norm.num_batches_tracked) == step + 1
    assert torch.equal(*seen[0])
    for n, ((_, before), (now, after)) in enumerate(pairwise(seen), start=1):
        decay = min(0.5, (1 + n) / (10 + n))
        torch.testing.assert_close(after, decay * before + (1 - decay) * now)
    assert int(average.n_averaged) == 12
