"""The file from which the page's own engine reads a network; see `static/engine/network.js`."""

import json
import zlib
from dataclasses import asdict
from functools import cache

import numpy as np

from ckai.game.kernels import STEP_TO
from ckai.models.checkpoint import load_network
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.vectors import SCALE
from ckai.models.networks.swift import Swift, integers_of
from ckai.models.pretrained import CKAI, network_path
from ckai.rl.engine.levels import LEVELS, QUICK_NODES

MAX_SUM = 2**26
"""Bound of the sums that share a number in the page, see `UPPER` there."""
UNITS = 16
"""What the units of the layers after the first must be a multiple of."""


@cache
def engine_file(network: str = CKAI) -> bytes:
    """Return the integers of a network of checkers in one file, with what the levels of play are.

    The file is the length of a header as 4 bytes, the header in JSON, and the arrays that it names, one after
    the other, in zlib's format. Of each array come first the lowest bytes of all numbers, then the next ones:
    the high bytes of small numbers are alike. Weights that no position reads are 0.

    Args:
        network: the name of an installed network, or a checkpoint; see `ckai.models.pretrained`.

    Raises:
        BackendError: the network is not a `swift`, or of sizes or weights that the page has no room for.
    """
    source = load_network(network_path(network))
    integers_of(source)  # refuses what integers cannot hold
    assert isinstance(source, Swift)
    assert source.settings.value == "wdl"  # the page knows no other
    weights = {name: rounded.cpu().numpy() for name, rounded in source.rounded().items()}
    hidden = weights["first"].shape[1]
    for layer in (weights["second"], weights["third"]):
        signs = np.stack([layer, -layer]).astype(np.int64).clip(0).sum(-1)
        if hidden % 2 or layer.shape[1] % UNITS or signs.max() * SCALE >= MAX_SUM:
            raise BackendError(
                f"{network}: expected layers of even and of {UNITS}-fold sizes and sums below {MAX_SUM:,} for"
                f" the page, found {hidden}, {layer.shape[1]} and {signs.max() * SCALE:,}"
            )
    plane = {value: number for number, value in enumerate(source.encode.VALUES)}
    weights["first"] = first = weights["first"].reshape(-1, 32, hidden)
    first[plane[1], 28:] = first[plane[-1], :4] = 0  # no men stand where they are crowned
    for way, near in enumerate(source.encode.PAIRS):
        pairs = len(plane) + source.encode.JUMPER + len(plane) ** 2 * way
        first[pairs : pairs + len(plane) ** 2, np.array(near) < 0] = 0
    weights["policy"][STEP_TO < 0] = weights["policy_narrow"][:, STEP_TO < 0] = 0
    header = {
        "network": network,
        "levels": [*map(asdict, LEVELS), *({"nodes": nodes} for nodes in QUICK_NODES), {}],
        "bucket_pieces": source.bucket_pieces,
        "arrays": [{"name": name, "bytes": a.itemsize, "shape": a.shape} for name, a in weights.items()],
    }
    head = json.dumps(header, separators=(",", ":")).encode()
    body = b"".join(
        a.astype(a.dtype.newbyteorder("<")).view(np.uint8).reshape(-1, a.itemsize).T.tobytes()
        for a in weights.values()
    )
    return len(head).to_bytes(4, "little") + head + zlib.compress(body, 9)
