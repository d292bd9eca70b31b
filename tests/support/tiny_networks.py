"""Tiny networks of every architecture, for every encoding that it takes; evaluators shared by threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from ckai.models.encodings import ENCODINGS
from ckai.models.network import build, network_type

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


def differences(evaluator, rows, wanted, calls, threads):
    """The largest ones of logits and of values from those wanted, for parts of the rows, from threads."""

    def call(seed):
        torch.set_num_threads(1)
        rng, found = np.random.default_rng(seed), []
        for _ in range(calls):
            picked = rng.choice(len(rows), int(rng.integers(1, len(rows))), replace=False)
            outputs = zip(evaluator.evaluate(rows[picked]), wanted, strict=True)
            found.append([np.abs(mine - right[picked]).max() for mine, right in outputs])
        return np.max(found, 0)

    with ThreadPoolExecutor(threads) as pool:
        return np.max([*pool.map(call, range(threads))], 0)
