"""The CUDA backend on a GPU that is none: the memory that graphs use, what is captured, what errors say."""

import numpy as np
import pytest
import torch
from fake_cuda import Event, FakeCuda
from tiny_networks import ENCODING_NAMES, differences, tiny
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ckai.models.inference import cuda_backend
from ckai.models.inference.backends import TorchEvaluator, make_evaluator, sample_positions
from ckai.models.inference.cuda_backend import LANES, MAX_BATCH, CudaEvaluator
from ckai.models.inference.evaluator import BackendError
from ckai.models.network import PackedNetwork, build, names

CPU = torch.device("cpu")
NETWORKS = {
    "cnn2x2": {"channels": 4, "hidden": 16},
    "senet": {"channels": 8, "blocks": 1, "encoding": "tactics"},
}


@pytest.fixture
def cuda(monkeypatch):
    monkeypatch.setattr(cuda_backend, "_gpus", {})
    cuda_backend._warn_once.cache_clear()
    return FakeCuda(monkeypatch)


def network(name):
    torch.manual_seed(0)
    return build(name, NETWORKS[name]).eval()


@pytest.mark.parametrize(
    "name", [name if name == "cnn2x2" else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS]
)
def test_graphs_evaluate_what_is_in_the_buffers(cuda, name):
    net = network(name)
    mine, exact = CudaEvaluator(net, CPU, torch.float32), TorchEvaluator(net)
    rows = np.resize(sample_positions(200, net.encode), (MAX_BATCH + 5, 34))
    assert mine.name == f"{name}, cuda graphs float32, cpu"
    for size in (200, 3, 100, 200, 16, 17, 200, MAX_BATCH + 5, 0):
        picked = rows[np.random.default_rng(size).permutation(len(rows))[:size]]
        for found, wanted in zip(mine.evaluate(picked), exact.evaluate(picked), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert len(cuda.captured) <= LANES * 5  # each size once in each lane
    assert cuda.modes == {"thread_local"}


def test_threads_share_an_evaluator(cuda):
    net = network("senet")
    mine, rows = CudaEvaluator(net, CPU, torch.float32), sample_positions(300, net.encode)
    wanted, before = TorchEvaluator(net).evaluate(rows), Event.waits
    assert max(differences(mine, rows, wanted, calls=8, threads=4)) < 1e-5
    assert Event.waits - before == 32


def test_without_a_graph_it_goes_on_and_says_so_once(cuda, logged):
    net, rows = network("cnn2x2"), sample_positions(100, network("cnn2x2").encode)
    cuda.fails = RuntimeError(
        "CUDA error: operation not permitted when stream is capturing\nCompile with ..."
    )
    mine = CudaEvaluator(net, CPU, torch.float32)
    for size in (100, 100, 70):
        for _ in range(LANES):
            found = mine.evaluate(rows[:size])[1]
        np.testing.assert_allclose(found, TorchEvaluator(net).evaluate(rows[:size])[1], atol=1e-6)
    assert logged == [
        "evaluator cpu: expected to capture a CUDA graph, found CUDA error: operation not permitted when "
        "stream is capturing; using none"
    ]
    assert len(cuda.captured) == LANES


def test_a_full_gpu_is_one_line(cuda, monkeypatch):
    mine = CudaEvaluator(network("cnn2x2"), CPU, torch.float32)

    def full(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB")

    mine._lanes[0]._network.register_forward_hook(full)
    with pytest.raises(BackendError, match="memory for 16 positions, found the GPU's full; play fewer"):
        mine.evaluate(sample_positions(4, network("cnn2x2").encode))
    monkeypatch.setattr(cuda_backend, "_buffers", full)
    with pytest.raises(BackendError, match="expected memory for a network and batches of 4096 positions"):
        CudaEvaluator(network("cnn2x2"), CPU)


def test_a_gpu_that_is_not_there_is_one_line(monkeypatch):
    FakeCuda(monkeypatch, 0)
    with pytest.raises(BackendError, match="evaluator cuda: PyTorch finds no GPU here; use auto or torch"):
        make_evaluator(network("cnn2x2"), "cuda")


class NoHostMemory(TorchDispatchMode):
    """Refuses tensors that come from the host: a CUDA graph can neither copy them nor wait for them."""

    def __init__(self, module, *inputs):
        super().__init__()
        self.known = [*module.parameters(), *module.buffers(), *inputs]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, torch.Tensor):
                assert any(each is other for other in self.known), function
        out = function(*args, **(kwargs or {}))
        self.known += [each for each in tree_leaves(out) if isinstance(each, torch.Tensor)]
        return out


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODING_NAMES)
@pytest.mark.parametrize("name", names())
def test_every_network_can_be_captured(name, encoding):
    net = tiny(name, encoding)
    rows = PackedNetwork(net).eval().to("meta")
    inputs = torch.zeros(16, rows.width, dtype=torch.int8, device="meta")
    with torch.inference_mode(), NoHostMemory(rows, inputs):
        logits, values = rows(inputs)
    assert logits.shape == (16, net.encode.NUM_ACTIONS)
    assert values.shape == (16,)
