"""Checkpoints: what is written comes back; what is damaged, odd or does not fit is refused in one line."""

import os
import pickle
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ckai.models.checkpoint import CheckpointError, load_checkpoint, load_network, save_checkpoint
from ckai.models.inference.backends import TorchEvaluator
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.network import build
from ckai.rl.evaluators.loading import load_evaluator


@pytest.fixture
def network():
    return build("cnn2x2", {"channels": 4, "hidden": 16})


@pytest.fixture
def path(tmp_path, network):
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, network, metrics={"top1": 0.5}, info={"split": {"heldout": 0.25}})
    return path


def rewrite(path, **changes):
    """Change entries as a program of somebody else would."""
    torch.save(torch.load(path, weights_only=True) | changes, path)


def refused(path, message):
    with pytest.raises(CheckpointError, match=message) as error:
        load_network(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < 600


def test_a_file_alone_rebuilds_the_network(path, network):
    again = load_network(path)
    assert not again.training
    assert again.settings == network.settings
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    checkpoint = load_checkpoint(path)
    assert (checkpoint.metrics, checkpoint.info) == ({"top1": 0.5}, {"split": {"heldout": 0.25}})


def test_weights_may_be_saved_in_half_the_size(tmp_path):
    network = build("resnet", {"channels": 64, "blocks": 2})
    save_checkpoint(tmp_path / "whole.ckpt", network)
    save_checkpoint(tmp_path / "half.ckpt", network, dtype=torch.float16)
    sizes = [(tmp_path / f"{name}.ckpt").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    rounded = load_network(tmp_path / "half.ckpt").state_dict()
    for name, tensor in network.state_dict().items():
        assert rounded[name].dtype == tensor.dtype, name
        assert torch.allclose(rounded[name].double(), tensor.double(), rtol=2**-11, atol=2**-24), name


def test_a_failed_write_leaves_the_old_file_and_no_other(path, network):
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        save_checkpoint(path, network, info={"bad": lambda: 1})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("pwned",))


def test_a_file_with_code_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"format": 1, "weights": Evil()}, tmp_path / "evil.ckpt")
    refused(tmp_path / "evil.ckpt", "plain data and tensors")
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    refused(tmp_path / "evil.pkl", "found a file that is not one")
    assert not Path("pwned").exists()


def test_other_files_are_refused(tmp_path, path):
    refused(tmp_path / "none.ckpt", "no such file")
    with pytest.raises(CheckpointError, match=r"best.ckpt: expected a checkpoint, found no such file"):
        load_checkpoint(tmp_path)
    torch.save([1], tmp_path / "list.ckpt")
    refused(tmp_path / "list.ckpt", "found a torch file with a list")
    short = tmp_path / "short.ckpt"
    short.write_bytes(path.read_bytes()[:-200])
    refused(short, "cut short")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("hello", "world")
    refused(tmp_path / "other.zip", "cannot be read")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/99", bytes(50_000_000))
    refused(path, "its parts are larger than the file")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("archive/data/0", b"\0\0\0\0")
    refused(path, "two parts have one name")


def test_a_checkpoint_has_a_digest_of_what_is_in_it(path, tmp_path):
    digest = load_checkpoint(path).digest
    assert len(bytes.fromhex(digest)) == 32
    other, network = tmp_path / "other.ckpt", load_network(path)
    save_checkpoint(other, network, metrics={"top1": 0.5}, info={"split": {"heldout": 0.25}})
    assert other.read_bytes() == path.read_bytes()
    with torch.no_grad():
        network.value.bias += 1
    save_checkpoint(other, network)
    assert load_checkpoint(other).digest != digest


def test_every_flipped_bit_is_noticed_or_changes_nothing(path):
    good, expected = path.read_bytes(), load_checkpoint(path)
    rng, damaged = random.Random(0), 0
    for _ in range(80):
        data, at = bytearray(good), rng.randrange(8 * len(good))
        data[at >> 3] ^= 1 << (at & 7)
        path.write_bytes(data)
        try:
            found = load_checkpoint(path)
        except CheckpointError:
            damaged += 1
        else:
            assert (found.metrics, found.info) == (expected.metrics, expected.info)
            assert found.settings == expected.settings
            assert all(torch.equal(found.weights[name], weight) for name, weight in expected.weights.items())
    assert damaged > 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.to(torch.int8), "expected conv1.weight of type torch.float32, found torch.int8"),
        (lambda w: w.to(torch.complex64), "of type torch.float32, found torch.complex64"),
        (lambda w: torch.zeros(1).expand(10**12), "to be a dense tensor on the CPU"),
        (lambda w: w.to_sparse(), "to be a dense tensor on the CPU"),
        (lambda w: w.to("meta"), "to be a dense tensor on the CPU"),
        (lambda w: w.flatten(), r"of shape \[4, .*\], found \[\d+\]"),
        (lambda w: w.tolist(), "expected conv1.weight to be Tensor, found list"),
        (lambda w: w.double() * 1e300, "expected finite weights, found NaN or infinity in conv1.weight"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Sparse:UserWarning")
def test_weights_of_another_kind_are_refused(path, change, message, capfd):
    weights = torch.load(path, weights_only=True)["weights"]
    weights["conv1.weight"] = change(weights["conv1.weight"])
    rewrite(path, weights=weights)
    refused(path, message)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "cnn9x9"}, "cnn2x2, .*found 'cnn9x9'"),
        (
            {"architecture": "resnet"},
            "settings of resnet: unknown setting hidden; expected one of encoding, value, channels, blocks",
        ),
        ({"architecture": "x" * 10**5}, "expected one of the networks"),
        ({"settings": {"channels": 4, "hidden": 8}}, r"of shape .*8.*, found .*16"),
        ({"settings": {"channels": 0}}, "expected channels >= 1, found 0"),
        ({"settings": {"channels": "4"}}, "channels: expected a valid integer, found '4'"),
        ({"settings": {3: 4}}, "unknown setting 3; expected one of encoding, value, channels, hidden"),
        ({"settings": {"encoding": []}}, r"encoding: expected a valid string, found \[\]"),
        ({"settings": {"channels": 10**6, "hidden": 10**6}}, "weights, found a far larger one"),
        ({"settings": {"channels": 10**18}}, "net.ckpt: "),
        (
            {"architecture": "mlp", "settings": {"layers": 10**6, "hidden": 1}},
            "weights, found a far larger one",
        ),
        ({"encoding": "x\ny" * 10**5}, "expected encoding grid-1 for cnn2x2, found x"),
        ({"format": 7}, "expected checkpoint format 1, found 7"),
        ({"weights": {}}, "found weights without conv1.bias"),
        ({"weights": None}, "expected weights to be dict, found NoneType"),
        ({"metrics": [1.0]}, "expected metrics to be dict, found list"),
        ({"info": None}, "expected info to be dict, found NoneType"),
        ({"info": {"split": {"heldout": float("nan")}}}, r"info.split.heldout in \[0, 1\), found nan"),
        ({"info": {"split": {"seed": 0.5}}}, "expected info.split.seed to be int, found float"),
        ({"info": {"data": ["x"]}}, "expected each entry of info.data to be dict, found str"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_does_not_fit_says_expected_and_found(path, changes, message):
    rewrite(path, **changes)
    refused(path, message)


@pytest.mark.parametrize(
    ("model", "backend"), [("cnn2x2", "torch"), ("cnn2x2", "auto"), ("swift", "integers")]
)
def test_very_large_weights_are_refused_when_a_search_takes_them(tmp_path, model, backend):
    network = build(model, {"hidden": 8})
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(1e30)
    save_checkpoint(tmp_path / "large.ckpt", network)
    with pytest.raises(
        BackendError, match=r"^[^\n]*(finite logits and values|weights of up to 0\.851562 in first)[^\n]*$"
    ):
        load_evaluator(tmp_path / "large.ckpt", backend)


def test_integers_are_finite_whatever_the_weights_are():
    network = build("swift", {"hidden": 8, "narrow": 4, "narrowest": 4})
    for heads in ([-1000, 900, 1000], [1000, 0, 0], [-1000, 1000, -1000], [0, 0, 1000]):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.fill_(0.0)
            network.value.bias[:] = torch.tensor(heads, dtype=torch.float32)
        boards = network.encode.sample(4, np.random.default_rng(0))
        found, expected = (kind(network).evaluate(boards)[1] for kind in (IntegerEvaluator, TorchEvaluator))
        np.testing.assert_allclose(found, expected)
