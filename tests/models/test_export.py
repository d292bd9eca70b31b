"""Networks for other programs: they answer as the original, or are not kept."""

import json
import os
import sys

import numpy as np
import pytest
import torch
from installed import skip_without

from ckai.datasets.files import WriteError
from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference import export
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.export import export_network
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.registry import build

SMALLEST = {"channels": 1, "hidden": 1}


@pytest.mark.parametrize(
    ("model", "settings", "width", "version"),
    [
        ("cnn2x2", {"channels": 4, "hidden": 8}, 34, "grid-1"),
        ("senet", {"channels": 4, "blocks": 1, "encoding": "tactics", "value": "wdl"}, 290, "tactics-1"),
        ("senet", {"channels": 4, "blocks": 1, "encoding": "connect4"}, 44, "connect4-1"),
    ],
)
def test_the_command_writes_what_answers_the_same(tmp_path, ckai, model, settings, width, version):
    skip_without("onnx", "onnxruntime")
    import onnxruntime

    torch.manual_seed(1)
    network = build(model, settings).eval()
    save_checkpoint(tmp_path / "net.ckpt", network)
    status, out, err = ckai("export", tmp_path / "net.ckpt", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["path"] == str(tmp_path / "net.onnx")
    assert max(found["policy_error"], found["value_error"]) < 1e-4
    assert found["width"] == width
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    session = onnxruntime.InferenceSession(found["path"])
    assert session.get_modelmeta().custom_metadata_map["encoding"] == version
    boards = network.encode.sample(5, np.random.default_rng(1))
    answer = session.run(["logits", "values"], {"boards": network.encode.append_extra(boards)})
    for mine, wanted in zip(answer, TorchEvaluator(network).evaluate(boards), strict=True):
        assert np.abs(mine - wanted).max() < 1e-4


def test_other_answers_are_not_kept(tmp_path, monkeypatch):
    skip_without("onnx", "onnxruntime")
    network, other = (build("cnn2x2", SMALLEST).eval() for _ in range(2))
    made = export._onnx(other)
    monkeypatch.setattr(export, "_onnx", lambda network: made)
    with pytest.raises(RuntimeError, match="the file was not kept"):
        export_network(network, tmp_path / "net.onnx")
    torch.nn.init.constant_(network.value.bias, float("nan"))
    with pytest.raises(BackendError, match="expected finite logits and values"):
        export_network(network, tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, ckai, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    status, _, err = ckai("export", "small", "-o", tmp_path / "small.onnx")
    assert (status, "install it with pip install 'ckai[onnx]'" in err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_an_export_replaces_nothing_unasked(tmp_path, ckai):
    skip_without("onnx", "onnxruntime")
    path, written = tmp_path / "net.ckpt", tmp_path / "net.onnx"
    save_checkpoint(path, build("cnn2x2", SMALLEST))
    written.write_text("mine")
    status, _, err = ckai("export", path)
    assert (status, "net.onnx exists: give --force to replace it, or another -o" in err) == (1, True)
    assert written.read_text() == "mine"
    assert ckai("export", path, "--force")[0] == 0
    assert written.read_bytes() != b"mine"
    with pytest.raises(ValueError, match=r"expected a name that ends in \.onnx, found \.tf"):
        export_network(build("cnn2x2", SMALLEST), tmp_path / "x.tf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_an_export_that_cannot_be_written_says_where(tmp_path):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe.onnx")
    for name in ("file/net.onnx", "pipe.onnx", f"{'x' * 300}.onnx"):
        with pytest.raises(WriteError, match=r"\.onnx: cannot be written"):
            export_network(build("cnn2x2", SMALLEST), tmp_path / name)
