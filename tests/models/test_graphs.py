"""CUDA graphs of training steps on a GPU that is none: the same weights as without, whatever is replayed."""

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from fake_cuda import FakeCuda
from make_rows import random_games, write
from tiny_networks import tiny

from ckai.datasets.data_module import RowsDataModule
from ckai.models.network import names
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import GraphedSteps, PolicyValueModule
from ckai.models.training.trainer import fit

CPU = torch.device("cpu")


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.parquet", random_games(6))


def trained(name, encoding, rows, size=64, precision="32"):
    network = tiny(name, encoding)
    data = RowsDataModule([rows], batch_size=size, heldout=0.0)
    config = TrainConfig(epochs=2, precision=precision)
    done = fit(PolicyValueModule.of(network, config), data, config, device=CPU)
    return network.state_dict(), [epoch["train_policy_loss"] for epoch in done], data


@pytest.fixture
def graphs(monkeypatch):
    """Has graphs on the CPU from now on."""
    cuda = FakeCuda(monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # for Lightning
    monkeypatch.setattr(GraphedSteps, "DEVICES", ("cpu",))
    return cuda


@pytest.mark.parametrize(
    "name", [name if name == "cnn2x2" else pytest.param(name, marks=pytest.mark.slow) for name in names()]
)
def test_graphs_train_the_same_network(name, rows, request):
    wanted, losses, data = trained(name, "tactics" if name != "swift" else "pieces", rows)
    cuda = request.getfixturevalue("graphs")
    found, again, _ = trained(name, "tactics" if name != "swift" else "pieces", rows)
    np.testing.assert_allclose(again, losses, rtol=1e-5)
    for key, value in wanted.items():
        torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-6, msg=key)
    assert data.epoch_rows % 64  # the last batch is smaller
    assert len(cuda.captured) == 2
    assert cuda.modes == {"thread_local"}


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_without_a_graph_the_same_steps_are_taken(rows, graphs, logged, precision):
    wanted, losses, data = trained("mlp", "planes", rows, 2, precision)
    assert data.joined > 1
    assert len(graphs.captured) == 2
    graphs.fails = RuntimeError("CUDA error: operation not permitted\nmore")
    found, again, _ = trained("mlp", "planes", rows, 2, precision)
    np.testing.assert_allclose(again, losses, rtol=1e-5 if precision == "32" else 1e-3)
    if precision == "32":
        for key, value in wanted.items():
            torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-6, msg=key)
    said = [line for line in logged if "CUDA" in line]
    line = "training on cpu: expected to capture a CUDA graph, found CUDA error: operation not permitted; "
    assert said == 2 * [f"{line}using none"]


def test_a_training_leaves_the_memory_of_other_captures(rows, monkeypatch):
    """Lightning's GPU frees what is unused before and after it trains, while self-play captures a graph."""
    freed, made = [], []
    monkeypatch.setattr(pl, "Trainer", lambda **options: made.append(options["accelerator"]) or 1 / 0)
    config = TrainConfig(precision="32")
    data = RowsDataModule([rows], heldout=0.0)
    with pytest.raises(ZeroDivisionError):
        fit(PolicyValueModule.of(tiny("mlp", "planes"), config), data, config, device=torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: freed.append("before or after"))
    made[0].setup(None)
    made[0].teardown()
    assert not freed
