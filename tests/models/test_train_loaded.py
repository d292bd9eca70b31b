"""Trainings that begin from a checkpoint, and the moving average of their weights."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from make_rows import random_games, write
from torch.optim.swa_utils import AveragedModel

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import load_network, save_checkpoint
from ckai.models.network import build
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.trainer import _Decay, fit

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
        config = TrainConfig(epochs=2)
        done = fit(PolicyValueModule.of(network, config), data, config, device=CPU)
        losses.append([epoch["heldout_policy_loss"] for epoch in done])
        # The running statistics of batch norm are of the rows.
        assert set(batches_seen(network)) == {2 * data.steps_per_epoch}
    assert losses[0] == losses[1]


def test_the_average_follows_its_formula():
    torch.manual_seed(0)
    network = build("resnet", {"channels": 8, "blocks": 1, "encoding": "tactics"})
    average = AveragedModel(network, multi_avg_fn=_Decay(0.5, SimpleNamespace(joined=1)), use_buffers=True)
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
    for mine, other in zip(average.module.encode.buffers(), network.encode.buffers(), strict=True):
        assert torch.equal(mine, other)
