"""What tests of runs share."""

import pytest

from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build


@pytest.fixture
def network(tmp_path):
    """Path of the checkpoint of a tiny network of random weights."""
    path = tmp_path / "init.ckpt"
    save_checkpoint(path, build("cnn2x2", {"channels": 4, "hidden": 16}))
    return path
