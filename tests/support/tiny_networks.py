"""A tiny network of every architecture that there is, for every encoding that it takes."""

import pytest
import torch

from ckai.models.encodings import ENCODINGS
from ckai.models.registry import build, network_type

ENCODING_NAMES = sorted({*ENCODINGS, "connect4", "go", "tictactoe"})
TINY = {
    "channels": 4,
    "hidden": 8,
    "blocks": 1,
    "squeeze": 2,
    "narrow": 4,
    "narrowest": 4,
}


def tiny(name, encoding):
    """The network, in evaluation mode; skips the test if the architecture does not take the encoding."""
    fields = network_type(name).settings_type.__dataclass_fields__
    settings = {key: value for key, value in TINY.items() if key in fields}
    torch.manual_seed(0)
    try:
        return build(name, {**settings, "encoding": encoding}).eval()
    except ValueError:
        pytest.skip("not for this encoding")
