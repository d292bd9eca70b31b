"""On a real GPU, where there is one: networks, threads, captures beside a training, resuming, generations."""

import threading

import numpy as np
import pytest
import torch
from make_rows import random_games, write
from tiny_networks import ENCODING_NAMES, differences, tiny
from whole_run import check_whole

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference.backends import TorchEvaluator, sample_positions
from ckai.models.inference.cuda_backend import CudaEvaluator
from ckai.models.network import build, names
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.trainer import fit
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
PLAIN = {"channels": 16, "hidden": 64}


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


@pytest.fixture
def gpu():
    return torch.device("cuda", 0)


def train(network, data, config, **more):
    return fit(PolicyValueModule.of(network, config), data, config, **more)


def plain():
    torch.manual_seed(0)
    return build("cnn2x2", PLAIN).eval()


def evaluators(network, gpu):
    return CudaEvaluator(network, gpu, torch.float32), TorchEvaluator(network)


@pytest.mark.parametrize("encoding", ENCODING_NAMES)
@pytest.mark.parametrize("name", names())
def test_every_network_agrees_with_the_cpu(gpu, logged, name, encoding):
    network = tiny(name, encoding)
    rows = sample_positions(100, network.encode)
    wanted = TorchEvaluator(network).policy(rows, network.encode.legal_mask(rows))
    for dtype, bound in ((torch.float32, 1e-4), (torch.bfloat16, 0.05)):
        mine = CudaEvaluator(network, gpu, dtype)
        for _ in range(3):  # captured, replayed, in both lanes
            found = mine.policy(rows, network.encode.legal_mask(rows))
            assert max(np.abs(a - b).max() for a, b in zip(found, wanted, strict=True)) <= bound
        mine.close()
    assert not [line for line in logged if "CUDA" in line]  # every graph was captured


def test_graphs_outlive_those_of_other_evaluators(gpu):
    first, second = plain(), build("senet", {"channels": 16, "blocks": 2}).eval()
    mine, exact = evaluators(first, gpu)
    rows = sample_positions(300, first.encode)
    wanted = exact.evaluate(rows)
    assert max(differences(mine, rows, wanted, calls=5, threads=6)) < 1e-4
    for _ in range(3):
        other, _ = evaluators(second, gpu)
        other.evaluate(sample_positions(300, second.encode))
        other.close()
        torch.cuda.empty_cache()
        for found, right in zip(mine.evaluate(rows), wanted, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-4)


@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_graphs_are_captured_and_replayed_beside_a_training(gpu, tmp_path, logged, precision):
    data = RowsDataModule([write(tmp_path / "rows.parquet", random_games(30))], batch_size=32, heldout=0.2)
    network, done, errors = plain(), threading.Event(), []
    rows = sample_positions(1000, network.encode)
    wanted = TorchEvaluator(network).evaluate(rows)

    def learn():
        try:
            config = TrainConfig(epochs=4, precision=precision, ema=0.9)
            assert len(train(build("cnn2x2", PLAIN), data, config)) == 4
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    while not done.is_set():
        mine = CudaEvaluator(network, gpu, torch.float32)
        assert max(differences(mine, rows, wanted, calls=10, threads=6)) < 1e-4
        mine.close()
    thread.join()
    assert not errors
    assert not [line for line in logged if "CUDA" in line]


@pytest.mark.parametrize("overlap", [False, True])
def test_generations(tmp_path, overlap):
    checkpoint = tmp_path / "start.ckpt"
    save_checkpoint(checkpoint, plain())
    config = RunConfig(
        games=40,
        overlap=overlap,
        selfplay=SelfPlayConfig(sims=8, in_flight=40, tables=0, max_plies=60),
        learn=LearnConfig(batch_size=64),
        gate=GateConfig(games=8),
    )
    run = Run.create(tmp_path / "run", checkpoint, config)
    run.go(3, lambda event: None, backend="cuda")
    check_whole(run, 3)
