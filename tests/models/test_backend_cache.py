"""The best backend for single searches is tried once for each machine, and remembered."""

import json

import pytest
import torch

from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference import backend_cache, backends
from ckai.models.registry import build
from ckai.rl.evaluators import loading
from ckai.rl.evaluators.loading import load_evaluator

MLP = {"hidden": 8}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("CKAI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CKAI_EVALUATOR")
    save_checkpoint(tmp_path / "mlp.ckpt", build("mlp", MLP))
    return tmp_path / "mlp.ckpt"


def test_the_second_load_needs_no_trial(checkpoint, monkeypatch):
    reports = []
    first = load_evaluator(checkpoint, on_report=reports.append)
    assert len(reports) == 1
    again = load_evaluator(checkpoint, on_report=reports.append)
    assert len(reports) == 1
    assert again.name == first.name
    stored = json.loads((checkpoint.parent / "cache" / backend_cache.FILE).read_text())
    assert list(stored.values()) == [reports[0].chosen]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU needs no trial")
def test_a_choice_for_large_batches_is_not_one_for_single_searches(checkpoint, monkeypatch):
    given = []

    def choose(network, *, prefer, **more):
        given.append(prefer)
        return backends.make_evaluator(network, "torch", 1), backends.Report("torch", "torch", 1, 1)

    monkeypatch.setattr(backends, "choose_evaluator", choose)
    for backend in ("fastest", "auto"):
        load_evaluator(checkpoint, backend, prefer="onnx")
    assert given == ["onnx", None]


def test_another_architecture_use_or_machine_is_tried_anew(checkpoint, monkeypatch):
    network = build("mlp", MLP)
    backend_cache.remember(network, 1, "torch")
    assert backend_cache.remembered(network, 1) == "torch"
    assert backend_cache.remembered(network, 2) is None
    assert backend_cache.remembered(build("mlp", {"hidden": 9}), 1) is None
    monkeypatch.setattr(backend_cache, "_processor", lambda: "another")
    assert backend_cache.remembered(network, 1) is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU needs no trial")
def test_a_backend_that_is_gone_is_not_insisted_on(checkpoint):
    backend_cache.remember(build("mlp", MLP), 1, "cuda")
    reports = []
    assert load_evaluator(checkpoint, on_report=reports.append).name
    assert len(reports) == 1


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff\xfe", b'{"a": 1}'])
def test_a_damaged_file_is_as_none(checkpoint, damage):
    path = checkpoint.parent / "cache" / backend_cache.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damage)
    assert backend_cache.remembered(build("mlp", MLP), 1) is None
    backend_cache.remember(build("mlp", MLP), 1, "torch")
    assert backend_cache.remembered(build("mlp", MLP), 1) == "torch"


def test_a_folder_that_cannot_be_written_costs_only_the_memory(checkpoint, monkeypatch):
    monkeypatch.setenv("CKAI_CACHE", "/dev/null/x")
    backend_cache.remember(build("mlp", MLP), 1, "torch")
    assert backend_cache.remembered(build("mlp", MLP), 1) is None


def test_the_environment_decides(checkpoint, monkeypatch):
    monkeypatch.setenv("CKAI_EVALUATOR", "torch")
    monkeypatch.setattr(loading, "SMALL_BATCH", 0)  # a trial would fail
    assert "torch float32" in load_evaluator(checkpoint).name


def test_a_wrong_backend_in_the_environment_is_named(tmp_path, monkeypatch):
    save_checkpoint(tmp_path / "net.ckpt", build("mlp", {"hidden": 4}))
    for name in ("opnvino", "integers"):
        monkeypatch.setenv("CKAI_EVALUATOR", name)
        with pytest.raises(ValueError, match=f"CKAI_EVALUATOR: .*{name}"):
            load_evaluator(tmp_path / "net.ckpt")
