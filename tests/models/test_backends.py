"""Backends agree within stated bounds, several threads may share one, and `auto` takes the first there is."""

import gc
import importlib
import importlib.util
import signal

import numpy as np
import pytest
import torch
from installed import skip_without
from tiny_networks import differences

from ckai.models.checkpoint import save_checkpoint
from ckai.models.encodings import PlanesEncoding
from ckai.models.inference import backends
from ckai.models.inference.backends import BACKENDS, TorchEvaluator, make_evaluator
from ckai.models.inference.evaluator import BackendError
from ckai.models.network import build
from ckai.rl.engine.base import Engine
from ckai.rl.evaluators.loading import load_evaluator

SIZES = {"cnn2x2": {"channels": 8, "hidden": 64}, "resnet": {"channels": 8, "blocks": 2}}
EXACT, ROUGH = 1e-4, 0.05
"""Max difference from PyTorch in float32, in probabilities and values: of float32, and of bfloat16."""


def made(network, backend, threads=2):
    if backend == "openvino":
        skip_without("openvino")
    try:
        return make_evaluator(network, backend, threads)
    except BackendError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def positions():
    return backends.sample_positions(300, PlanesEncoding(), seed=1)


@pytest.fixture(scope="module")
def networks(positions):
    """Both architectures after some steps towards a rule, so that the outputs are far from flat."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {}
    rows = torch.from_numpy(positions)
    legal = torch.from_numpy(PlanesEncoding.legal_mask(positions))
    label, value = legal.int().argmax(1), torch.tanh(rows[:, :32].sum(1) / 4.0)
    for name, settings in SIZES.items():
        torch.manual_seed(0)
        network = build(name, settings).train()
        optimizer = torch.optim.AdamW(network.parameters(), 3e-3)
        for _ in range(40):
            logits, v = network(rows[:, :32], rows[:, 32], rows[:, 33].to(torch.int16))
            loss = torch.nn.functional.cross_entropy(logits, label) + ((v - value) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found[name] = network.eval()
    torch.set_num_threads(usual)
    return found


@pytest.mark.parametrize(
    "name", [name if name == "cnn2x2" else pytest.param(name, marks=pytest.mark.slow) for name in SIZES]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_at_every_batch_size(networks, positions, name, backend):
    evaluator, exact = made(networks[name], backend), TorchEvaluator(networks[name])
    bound = ROUGH if "bf16" in evaluator.name or "bfloat16" in evaluator.name else EXACT
    for size in (300, 1, 7, 16, 17, 2, 255):
        for found, wanted in zip(
            evaluator.policy(positions[:size], PlanesEncoding().legal_mask(positions[:size])),
            exact.policy(positions[:size], PlanesEncoding().legal_mask(positions[:size])),
            strict=True,
        ):
            assert np.abs(found - wanted).max() <= bound
    logits, values = np.empty((9, 128), np.float32), np.empty(9, np.float32)
    out = evaluator.evaluate(positions[:18:2], logits, values)  # not contiguous
    assert out[0] is logits
    assert out[1] is values
    assert np.abs(values - exact.evaluate(positions[:18:2].copy())[1]).max() <= bound
    assert evaluator.evaluate(positions[:0])[0].shape == (0, 128)
    with pytest.raises(ValueError, match="expected boards int8"):
        evaluator.evaluate(np.zeros((2, 32), np.int8))
    assert evaluator.name.startswith(name)
    evaluator.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_may_share_one(networks, positions, backend):
    evaluator = made(networks["resnet"], backend)
    wanted = TorchEvaluator(networks["resnet"]).evaluate(positions)
    # One thread more than announced.
    logits, values = differences(evaluator, positions, wanted, calls=12, threads=3)
    assert max(logits / 20, values) <= ROUGH
    evaluator.close()


def test_signals_are_handled_after_evaluators_have_gone(networks):
    """OpenVINO gives the thread a stack for signal handlers; a failure ends the process of the test."""
    first, second = made(networks["cnn2x2"], "openvino"), made(networks["resnet"], "openvino")
    first.close()
    second.close()
    del first, second
    gc.collect()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("installed", [True, False])
def test_auto_is_a_gpu_then_openvino_then_torch(networks, tmp_path, monkeypatch, installed):
    path = tmp_path / "network.ckpt"
    save_checkpoint(path, networks["cnn2x2"])
    monkeypatch.delenv("CKAI_EVALUATOR")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: real(name) if installed or name != "openvino" else None
    )
    backend = "openvino" if installed and real("openvino") else "torch"
    with Engine.load(path) as engine:
        assert engine.evaluator.name == make_evaluator(networks["cnn2x2"], backend).name
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert backends.usual_backend(networks["cnn2x2"]) == "cuda"
    assert backends.usual_backend(build("swift", {"hidden": 8})) == "integers"


def test_auto_is_torch_where_openvino_cannot_run_the_network(networks, monkeypatch):
    pytest.importorskip("openvino")

    def breaks(network, threads):
        raise RuntimeError("no such layer\nat line 7")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("ckai.models.inference.backends.OpenVINOEvaluator", breaks)
    said = []
    monkeypatch.setattr(backends._LOG, "warning", lambda line, *of: said.append(line % of))
    assert make_evaluator(networks["cnn2x2"]).name == "cnn2x2, torch float32, cpu"
    assert said == ["openvino cannot run the network (no such layer); using the slower torch"]


def test_the_environment_takes_the_place_of_auto(tmp_path, monkeypatch):
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, build("mlp", {"hidden": 4}))
    monkeypatch.setenv("CKAI_EVALUATOR", "torch")
    assert "torch float32" in load_evaluator(path).name
    monkeypatch.setenv("CKAI_EVALUATOR", "")  # as if it were not set
    assert load_evaluator(path).name == make_evaluator(build("mlp", {"hidden": 4})).name
    for name in ("opnvino", "integers"):
        monkeypatch.setenv("CKAI_EVALUATOR", name)
        with pytest.raises(ValueError, match=f"CKAI_EVALUATOR: .*{name}"):
            load_evaluator(path)
