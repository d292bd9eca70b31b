"""Backends agree within stated bounds, several threads may share one, and `fastest` takes a right one."""

import gc
import importlib
import importlib.util
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
import torch

from ckai.cli.shared.networks import EVALUATORS
from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference import backends
from ckai.models.inference.backends import (
    BACKENDS,
    EXACT,
    NAMES,
    ROUGH,
    choose_evaluator,
    evaluate_positions,
    make_evaluator,
)
from ckai.models.inference.evaluator import BackendError, TorchEvaluator
from ckai.models.inputs.encodings import PlanesEncoding
from ckai.models.registry import build
from ckai.rl.engine.engine import Engine
from ckai.rl.evaluators.loading import load_evaluator

SIZES = {"cnn2x2": {"channels": 8, "hidden": 64}, "resnet": {"channels": 8, "blocks": 2}}
PACKAGES = {"openvino": ["openvino"], "openvino-bf16": ["openvino"], "onnx": ["onnx", "onnxruntime"]}


def made(network, backend, threads=2):
    for package in PACKAGES.get(backend, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
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


def test_the_names_on_the_command_line_are_those_that_exist():
    assert sorted(EVALUATORS) == sorted(NAMES)


def test_positions_of_the_trial_are_real_and_of_all_kinds(positions):
    assert (positions[:, 32] >= 0).any()
    assert (np.abs(positions[:, :32]) == 3).any()
    assert len(np.unique(positions, axis=0)) > 200
    assert PlanesEncoding.legal_mask(positions).any(1).all()


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_at_every_batch_size(networks, positions, name, backend):
    evaluator, exact = made(networks[name], backend), TorchEvaluator(networks[name])
    bound = EXACT if backend in ("torch", "openvino", "onnx") else ROUGH
    for size in (300, 1, 7, 16, 17, 2, 255):
        for found, wanted in zip(
            evaluate_positions(evaluator, positions[:size], PlanesEncoding()),
            evaluate_positions(exact, positions[:size], PlanesEncoding()),
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
    worst = []

    def work(seed):
        torch.set_num_threads(1)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            picked = rng.choice(300, int(rng.integers(1, 300)), replace=False)
            logits, values = evaluator.evaluate(positions[picked])
            worst.append(
                max(np.abs(values - wanted[1][picked]).max(), np.abs(logits - wanted[0][picked]).max() / 20)
            )

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]  # one more than announced
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(worst) == 36
    assert max(worst) <= ROUGH
    evaluator.close()


@pytest.mark.parametrize("backend", ["torch", "openvino", "onnx"])
def test_a_call_runs_in_the_thread_of_its_caller(networks, positions, backend):
    """A call that hands its work to another thread waits for two threads to wake up."""
    evaluator = made(networks["resnet"], backend)
    evaluator.evaluate(positions)
    mine, all_threads = time.thread_time(), time.process_time()
    for _ in range(20):
        evaluator.evaluate(positions)
    assert time.thread_time() - mine > (time.process_time() - all_threads) / 2
    evaluator.close()


@pytest.mark.parametrize(
    ("backend", "package", "extra"),
    [
        ("openvino", "openvino", "openvino"),
        ("openvino-bf16", "openvino", "openvino"),
        ("onnx", "onnx", "onnx"),
    ],
)
def test_a_missing_package_is_one_clear_line(networks, monkeypatch, backend, package, extra):
    real = importlib.import_module

    def missing(name, *args):
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args)

    monkeypatch.setattr("ckai.models.inference.evaluator.importlib.import_module", missing)
    with pytest.raises(BackendError) as caught:
        make_evaluator(networks["cnn2x2"], backend)
    expected = f"this needs the package {package}; install it with pip install 'ckai[{extra}]'"
    assert str(caught.value) == expected


def test_a_conversion_starts_no_process(networks, monkeypatch):
    """OpenVINO would report it to its makers."""
    begun = []
    monkeypatch.setattr(os, "fork", lambda: begun.append("fork"))
    monkeypatch.setattr(multiprocessing.Process, "start", lambda self: begun.append("process"))
    made(networks["cnn2x2"], "openvino").close()
    time.sleep(0.2)  # it does so from a thread
    assert not begun


def test_signals_are_handled_after_evaluators_have_gone(networks):
    """OpenVINO gives the thread a stack for signal handlers; a failure ends the process of the test."""
    first, second = made(networks["cnn2x2"], "openvino"), made(networks["cnn2x2"], "openvino-bf16")
    first.close()
    second.close()
    del first, second
    gc.collect()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_compiling_without_a_compiler_is_refused(networks, monkeypatch):
    monkeypatch.setattr("ckai.models.inference.evaluator.shutil.which", lambda name: None)
    with pytest.raises(BackendError, match=r"needs a C\+\+ compiler"):
        TorchEvaluator(networks["cnn2x2"], compiled=True)


class Wrong(TorchEvaluator):
    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values += 0.05
        return logits, values


@pytest.mark.parametrize("threads", [1, 2])
def test_the_trial_drops_what_is_wrong_or_breaks_and_says_so(networks, monkeypatch, threads):
    def breaks(network, threads, like):
        raise RuntimeError("no such kernel\nat line 7")

    def absent(network, threads, like):
        raise BackendError("not here")

    monkeypatch.setitem(backends._MAKERS, "onnx", lambda network, threads, like: Wrong(network))
    monkeypatch.setitem(backends._MAKERS, "openvino", breaks)
    monkeypatch.setitem(backends._MAKERS, "cuda", absent)
    usual = torch.get_num_threads()
    evaluator, report = choose_evaluator(
        networks["cnn2x2"], batch=32, threads=threads, candidates=["onnx", "openvino", "cuda"]
    )
    assert torch.get_num_threads() == usual
    assert report.chosen == "torch"
    assert evaluator.name == "cnn2x2, torch float32, cpu"
    assert {trial.backend: bool(trial.problem) for trial in report.trials} == {
        "torch": False, "onnx": True, "openvino": True,
    }  # fmt: skip
    text = str(report)
    assert text.startswith("evaluator torch: ")
    assert "onnx dropped: differs by 0.05, more than 0.0001" in text
    assert "openvino dropped: RuntimeError no such kernel;" in text
    loose = choose_evaluator(
        networks["cnn2x2"], batch=32, threads=threads, tolerance=0.1, candidates=["onnx"]
    )[1]
    assert not any(trial.problem for trial in loose.trials)


class NotANumber(TorchEvaluator):
    """A backend whose values are NaN, and whose policy is right."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values[:] = np.nan
        return logits, values


@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_the_trial_drops_what_answers_nan(networks, monkeypatch, tolerance):
    monkeypatch.setitem(backends._MAKERS, "onnx", lambda network, threads, like: NotANumber(network))
    net = networks["cnn2x2"]
    for prefer in (None, "onnx"):
        evaluator, report = choose_evaluator(
            net, batch=8, candidates=["onnx"], prefer=prefer, tolerance=tolerance
        )
        assert report.chosen == "torch"
        assert not isinstance(evaluator, NotANumber)
    assert "onnx dropped: its outputs are not finite" in str(report)


def test_a_network_of_nan_is_refused(tmp_path):
    net = build("cnn2x2", {"channels": 1, "hidden": 1})
    torch.nn.init.constant_(net.value.bias, float("nan"))
    with pytest.raises(BackendError, match="expected a network with finite outputs, found NaN or infinity"):
        choose_evaluator(net, candidates=["torch"])


def test_the_trial_takes_the_fastest_and_a_preferred_one_without_a_race(networks, monkeypatch):
    speeds = {"torch": 5.0, "torch-bf16": 9.0}
    speed = lambda evaluator, rows, threads: speeds[fakes[evaluator.name]]  # noqa: E731
    monkeypatch.setattr(backends, "evaluations_per_second", speed)
    monkeypatch.setitem(backends._MAKERS, "torch-bf16", backends._MAKERS["torch"])
    fakes = {"cnn2x2, torch float32, cpu": "torch"}
    both = ["torch", "torch-bf16"]
    assert choose_evaluator(networks["cnn2x2"], candidates=both)[1].chosen == "torch"
    report = choose_evaluator(networks["cnn2x2"], candidates=both, prefer="torch-bf16")[1]
    assert report.chosen == "torch-bf16"
    assert not report.trials
    monkeypatch.setitem(backends._MAKERS, "torch-bf16", lambda network, threads, like: Wrong(network))
    assert choose_evaluator(networks["cnn2x2"], candidates=both, prefer="torch-bf16")[1].chosen == "torch"
    with pytest.raises(ValueError, match="expected batch >= 1"):
        choose_evaluator(networks["cnn2x2"], batch=0)


def test_evaluators_are_loaded_by_name(networks, tmp_path):
    path = tmp_path / "network.ckpt"
    save_checkpoint(path, networks["cnn2x2"])
    assert load_evaluator(path, "cpu").name == load_evaluator(path, "torch").name
    with pytest.raises(
        ValueError, match=r"expected one of the evaluators auto, fastest, torch, .*, found 'tpu'"
    ):
        load_evaluator(path, "tpu")
    reports = []
    evaluator = load_evaluator(path, "fastest", batch=16, threads=1, on_report=reports.append)
    assert reports[0].name == evaluator.name
    assert len(reports) == 1
    assert load_evaluator("uniform", "openvino").name == "uniform"


def test_auto_is_a_gpu_if_there_is_one_or_what_the_environment_says(networks, tmp_path, monkeypatch):
    path, reports = tmp_path / "network.ckpt", []
    save_checkpoint(path, networks["cnn2x2"])
    usual = "cuda" if torch.cuda.is_available() else "torch"
    name = load_evaluator(path, usual).name
    assert load_evaluator(path, on_report=reports.append).name == load_evaluator(path, "auto").name == name
    assert make_evaluator(networks["cnn2x2"], "auto").name == name
    with Engine.load(path, on_report=reports.append) as engine:
        assert engine.evaluator.name == name
    assert not reports  # no trial
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setitem(backends._MAKERS, "cuda", lambda network, threads, like: Wrong(network))
    monkeypatch.delenv("CKAI_EVALUATOR")
    with Engine.load(path) as engine:
        assert isinstance(engine.evaluator, Wrong)
    with Engine.load(path, evaluator="cpu") as engine:
        assert engine.evaluator.name == "cnn2x2, torch float32, cpu"
