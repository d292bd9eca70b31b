"""Checkpoints: what is written comes back, and what does not fit is refused in one line."""

import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch

from ckai.models.checkpoint import CheckpointError, load_checkpoint, load_network, save_checkpoint
from ckai.models.registry import build

SMALL = {"channels": 4, "hidden": 16}


def rewrite(path, **changes):
    content = torch.load(path, weights_only=True)
    for key, value in changes.items():
        if value is None:
            del content[key]
        else:
            content[key] = value
    torch.save(content, path)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.ckpt"
    network = build("cnn2x2", SMALL)
    save_checkpoint(path, network, metrics={"top1": 0.5}, info={"seed": 1})
    return path, network


def test_a_file_alone_rebuilds_the_network(saved):
    path, network = saved
    again = load_network(path)
    assert not again.training
    assert again.settings == network.settings
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    checkpoint = load_checkpoint(path)
    assert checkpoint.metrics == {"top1": 0.5}
    assert checkpoint.info == {"seed": 1}


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


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("pwned",))


def test_a_file_with_code_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"format": 1, "weights": Evil()}, tmp_path / "evil.ckpt")
    with pytest.raises(CheckpointError, match="plain data and tensors"):
        load_checkpoint(tmp_path / "evil.ckpt")
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(CheckpointError, match="found a file that is not one"):
        load_checkpoint(tmp_path / "evil.pkl")
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "cnn9x9"}, "cnn2x2, .*found 'cnn9x9'"),
        (
            {"architecture": "resnet"},
            "settings of resnet: unknown setting hidden; expected one of encoding, value, channels, blocks",
        ),
        (
            {"settings": {"channels": 4, "hidden": 8}},
            r"of shape .*8.*, found .*16",
        ),
        ({"settings": {"channels": 0}}, "expected channels >= 1, found 0"),
        ({"encoding": "grid-9"}, "expected encoding grid-1 for cnn2x2, found grid-9"),
        ({"format": 7}, "expected checkpoint format 1, found 7"),
        ({"weights": {}}, "found weights without conv1.bias"),
        ({"weights": None}, "expected weights to be dict, found NoneType"),
        ({"format": None}, "expected a ckai checkpoint, found a torch file with keys"),
    ],
)
def test_what_does_not_fit_says_expected_and_found(saved, changes, message):
    path, _ = saved
    rewrite(path, **changes)
    with pytest.raises(CheckpointError, match=message) as error:
        load_network(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_other_files_are_refused(tmp_path, saved):
    path, _ = saved
    with pytest.raises(CheckpointError, match="no such file"):
        load_checkpoint(tmp_path / "none.ckpt")
    with pytest.raises(CheckpointError, match=r"best.ckpt: expected a checkpoint, found no such file"):
        load_checkpoint(tmp_path)
    torch.save([1], tmp_path / "list.ckpt")
    with pytest.raises(CheckpointError, match="found a torch file with a list"):
        load_checkpoint(tmp_path / "list.ckpt")
    short = tmp_path / "short.ckpt"
    short.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="cut short"):
        load_checkpoint(short)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("hello", "world")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(tmp_path / "other.zip")


def test_a_failed_write_leaves_the_old_file_and_no_other(saved):
    path, network = saved
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        save_checkpoint(path, network, info={"bad": lambda: 1})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
