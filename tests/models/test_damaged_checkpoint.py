"""What is damaged or odd in a checkpoint is found when it is read, and said in one line."""

import random
import zipfile

import numpy as np
import pytest
import torch

from ckai.models.checkpoint import CheckpointError, load_checkpoint, load_network, save_checkpoint
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.registry import build
from ckai.rl.evaluators.loading import load_evaluator

SMALL = {"channels": 4, "hidden": 16}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, build("cnn2x2", SMALL), metrics={"top1": 0.5}, info={"split": {"heldout": 0.25}})
    return path


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {part.filename: archive.read(part) for part in archive.infolist()}


def write_parts(path, parts, compression=zipfile.ZIP_STORED):
    """Write an archive with checksums that are right, whatever the parts are."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def rewrite(path, **changes):
    """Change entries as a program of somebody else would."""
    torch.save(torch.load(path, weights_only=True) | changes, path)


def refusal(path):
    with pytest.raises(CheckpointError) as error:
        load_network(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert len(text) < 600
    return text


# --- the digest ------------------------------------------------------------------------------------


def test_a_checkpoint_has_a_digest_of_what_is_in_it(path, tmp_path):
    digest = load_checkpoint(path).digest
    assert len(bytes.fromhex(digest)) == 32
    other = tmp_path / "other.ckpt"
    network = load_network(path)
    save_checkpoint(other, network, metrics={"top1": 0.5}, info={"split": {"heldout": 0.25}})
    assert load_checkpoint(other).digest == digest
    assert other.read_bytes() == path.read_bytes()
    with torch.no_grad():
        network.value.bias += 1
    save_checkpoint(other, network)
    assert load_checkpoint(other).digest != digest


def test_every_flipped_bit_is_noticed_or_changes_nothing(path):
    good, expected = path.read_bytes(), load_checkpoint(path)
    rng, refused = random.Random(0), 0
    for _ in range(150):
        data, at = bytearray(good), rng.randrange(8 * len(good))
        data[at >> 3] ^= 1 << (at & 7)
        path.write_bytes(data)
        try:
            found = load_checkpoint(path)
        except CheckpointError:
            refused += 1
        else:
            assert (found.metrics, found.info, found.settings) == (
                expected.metrics,
                expected.info,
                expected.settings,
            )
            assert all(torch.equal(found.weights[name], weight) for name, weight in expected.weights.items())
    assert refused > 75


# --- archives --------------------------------------------------------------------------------------


def test_parts_that_unpack_to_more_than_the_file_are_refused(path):
    parts = parts_of(path) | {"archive/data/99": bytes(50_000_000)}
    write_parts(path, parts, zipfile.ZIP_DEFLATED)
    assert "its parts are larger than the file" in refusal(path)


def test_two_parts_of_one_name_are_refused(path):
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("archive/data/0", b"\0\0\0\0")
    assert "two parts have one name" in refusal(path)


# --- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.to(torch.int8), "expected conv1.weight of type torch.float32, found torch.int8"),
        (lambda w: w.to(torch.complex64), "of type torch.float32, found torch.complex64"),
        (lambda w: w > 0, "of type torch.float32, found torch.bool"),
        (
            lambda w: w[:1, :1, :1, :1].expand(w.shape),
            "to be a dense tensor on the CPU",
        ),
        (
            lambda w: torch.zeros(1).expand(10**12),
            "to be a dense tensor on the CPU",
        ),
        (lambda w: w.to_sparse(), "to be a dense tensor on the CPU"),
        (lambda w: w.to("meta"), "to be a dense tensor on the CPU"),
        (lambda w: w.flatten(), r"of shape \[4, .*\], found \[\d+\]"),
        (lambda w: w.tolist(), "expected conv1.weight to be Tensor, found list"),
        (lambda w: None, "expected conv1.weight to be Tensor, found NoneType"),
        (lambda w: w.double() * 1e300, "expected finite weights, found NaN or infinity in conv1.weight"),
        (lambda w: w / 0, "expected finite weights, found NaN or infinity in conv1.weight"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Sparse:UserWarning")
def test_weights_of_another_kind_are_refused(path, change, message, capfd):
    weights = torch.load(path, weights_only=True)["weights"]
    weights["conv1.weight"] = change(weights["conv1.weight"])
    rewrite(path, weights=weights)
    with pytest.raises(CheckpointError, match=message) as error:
        load_network(path)
    assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""


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
        BackendError, match=r"^[^\n]*(finite outputs|weights of up to 0\.851562 in first)[^\n]*$"
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


# --- plain data ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"info": []}, "expected info to be dict, found list"),
        ({"info": None}, "expected info to be dict, found NoneType"),
        ({"info": {"split": {"heldout": float("nan")}}}, r"info.split.heldout in \[0, 1\), found nan"),
        ({"info": {"split": {"heldout": "a"}}}, "expected info.split.heldout to be float, found str"),
        ({"info": {"split": {"seed": 0.5}}}, "expected info.split.seed to be int, found float"),
        ({"info": {"split": None}}, "expected info.split to be dict, found NoneType"),
        ({"info": {"data": {"name": "x"}}}, "expected info.data to be list, found dict"),
        ({"info": {"data": ["x"]}}, "expected each entry of info.data to be dict, found str"),
        ({"metrics": [1.0]}, "expected metrics to be dict, found list"),
        ({"settings": {"channels": "4"}}, "expected an integer for channels, found '4'"),
        ({"settings": {3: 4}}, "unknown setting 3; expected one of encoding, value, channels, hidden"),
        ({"settings": {"encoding": []}}, r"expected a text for encoding, found \[\]"),
        ({"settings": {"channels": 10**6, "hidden": 10**6}}, "weights, found a far larger one"),
        ({"settings": {"channels": 10**18}}, "net.ckpt: "),
        (
            {"architecture": "mlp", "settings": {"layers": 10**6, "hidden": 1}},
            "weights, found a far larger one",
        ),
        ({"architecture": "x" * 10**5}, "expected one of the networks"),
        ({"encoding": "x\ny" * 10**5}, "expected encoding grid-1 for cnn2x2, found x"),
        ({"format": 1.5}, "expected checkpoint format 1, found 1.5"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_plain_data_that_cannot_be_is_refused(path, changes, message):
    rewrite(path, **changes)
    with pytest.raises(CheckpointError, match=message):
        load_network(path)
    assert refusal(path)
