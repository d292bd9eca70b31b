"""Networks for other programs: they answer as the original, or are not kept."""

import json
import re
import sys

import numpy as np
import pytest
import torch
from installed import skip_without

from ckai.game import Position
from ckai.models import encoding_type, pack_positions, predict
from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference.backends import TorchEvaluator
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.export import SUFFIXES, export_network
from ckai.models.network import build

NEEDS = {"onnx": ["onnx", "onnxruntime"], "safetensors": ["safetensors"]}


@pytest.mark.parametrize("to", SUFFIXES)
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("cnn2x2", {"channels": 4, "hidden": 8}),
        ("senet", {"channels": 4, "blocks": 1, "encoding": "tactics", "value": "wdl"}),
    ],
)
def test_the_command_writes_what_answers_the_same(tmp_path, ckai, to, model, settings):
    skip_without(*NEEDS[to])
    torch.manual_seed(1)
    save_checkpoint(tmp_path / "net.ckpt", build(model, settings))
    status, out, err = ckai("export", tmp_path / "net.ckpt", "--to", to)
    assert status == 0, err
    name, width = "net/model" if to == "safetensors" else "net", 290 if "encoding" in settings else 34
    assert out.startswith(f"{tmp_path / name}{SUFFIXES[to]}: boards int8 [B, {width}] -> logits [B, 128]")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_nan_is_not_the_answer_of_the_network(tmp_path, monkeypatch):
    from ckai.models.inference import export

    network = build("cnn2x2", {"channels": 1, "hidden": 1}).eval()

    def nan_values(boards):
        logits, values = TorchEvaluator(network).evaluate(boards)
        return logits, values * np.nan

    monkeypatch.setattr(export, "_onnx", lambda network: (b"x", nan_values))
    with pytest.raises(RuntimeError, match="found a difference of nan; the file was not kept"):
        export_network(network, tmp_path / "net.onnx")
    torch.nn.init.constant_(network.value.bias, float("nan"))
    with pytest.raises(BackendError, match="expected finite logits and values"):
        export_network(network, tmp_path / "net.onnx")
    assert list(tmp_path.iterdir()) == []


def test_networks_of_other_games_are_exported(tmp_path, ckai):
    onnxruntime = pytest.importorskip("onnxruntime")
    skip_without("onnx")
    network = build("senet", {"channels": 4, "blocks": 1, "encoding": "connect4"}).eval()
    save_checkpoint(tmp_path / "four.ckpt", network)
    status, out, err = ckai("export", tmp_path / "four.ckpt", "--to", "onnx")
    assert status == 0, err
    assert "boards int8 [B, 44] -> logits [B, 7], values [B]" in out
    boards = network.encode.sample(5, np.random.default_rng(1))
    session = onnxruntime.InferenceSession(str(tmp_path / "four.onnx"))
    logits, values = session.run(["logits", "values"], {"boards": boards})
    wanted = TorchEvaluator(network).evaluate(boards)
    assert np.abs(logits - wanted[0]).max() < 1e-4
    assert np.abs(values - wanted[1]).max() < 1e-4


def test_an_onnx_file_says_what_its_inputs_are(tmp_path):
    skip_without("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    torch.manual_seed(1)
    network = build("senet", {"channels": 4, "blocks": 1, "encoding": "tactics"}).eval()
    export_network(network, tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    said = session.get_modelmeta().custom_metadata_map
    assert (said["game"], said["encoding"], said["boards"]) == ("checkers", "tactics-1", "int8 [B, 290]")
    inputs = json.loads(said["inputs"])
    assert list(inputs) == ["0 to 31", "32", "33", "34 to 289"]
    # The call that it names makes the rest.
    call = re.search(r"ckai\.models\.(encoding_type\(.*\)\.append_extra)\(boards\)", inputs["34 to 289"])
    positions = [Position.start(), Position.from_fen("W:W18,26,27:BK1,9,10,14")]
    append_extra = eval(call[1], {"encoding_type": encoding_type})
    logits, values = session.run(None, {"boards": append_extra(pack_positions(positions))})
    policy, value = predict(network, positions)
    assert np.abs(values - value).max() < 1e-4
    assert [
        max(p.legal_actions(), key=row.__getitem__) for p, row in zip(positions, logits, strict=True)
    ] == (policy.argmax(1).tolist())


def test_the_record_of_the_checkpoint_and_a_model_card_are_next_to_the_weights(tmp_path, ckai):
    skip_without("safetensors")
    info = {
        "data": [{"name": "club games.parquet", "rows": 500}],
        "games": torch.zeros(3, dtype=torch.int64),
        "config": {"model": "mlp"},
    }
    metrics = {"rows": 70, "top1_legal": 0.625, "value_mse": float("nan")}
    save_checkpoint(tmp_path / "net.ckpt", build("mlp", {"hidden": 8}), metrics=metrics, info=info)
    hub = tmp_path / "hub"
    hub.mkdir()
    status, _, err = ckai("export", tmp_path / "net.ckpt", "--to", "safetensors", "-o", hub)
    assert status == 0, err
    assert sorted(path.name for path in hub.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    config = json.loads((hub / "config.json").read_text())
    assert config["info"] == info | {"games": None}
    assert config["metrics"] == {"rows": 70, "top1_legal": 0.625}
    card = (hub / "README.md").read_text()
    for line in ("license: unknown", "tags: [checkers, draughts, mlp]", "| top1_legal | 0.625 |"):
        assert f"\n{line}\n" in card


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, ckai, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    status, _, err = ckai("export", "small", "--to", "safetensors", "-o", tmp_path / "model.safetensors")
    assert (status, "install it with pip install 'ckai[safetensors]'" in err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_an_export_replaces_nothing_unasked(tmp_path, ckai):
    skip_without("onnx", "onnxruntime")
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, build("cnn2x2", {"channels": 1, "hidden": 1}))
    (tmp_path / "net").mkdir()
    for name, to in (("net.onnx", "onnx"), ("net/README.md", "safetensors")):
        (tmp_path / name).write_text("mine")
        status, _, err = ckai("export", path, "--to", to)
        assert (status, f"{name} exists: give --force to replace it, or another -o" in err) == (1, True)
        assert (tmp_path / name).read_text() == "mine"
    assert ckai("export", path, "--to", "onnx", "--force")[0] == 0
    assert (tmp_path / "net.onnx").read_bytes() != b"mine"
