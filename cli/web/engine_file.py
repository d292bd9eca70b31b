"""The file from which the page's own engine reads a network; see `static/engine/network.js`."""

import json
import zlib
from dataclasses import asdict
from functools import cache

import numpy as np

from ckai.game.kernels import STEP_TO
from ckai.models.checkpoint import load_network
from ckai.models.networks.swift import Swift
from ckai.models.pretrained import CKAI, network_path
from ckai.rl.engine.alphabeta import LEVELS, QUICK_NODES


@cache
def engine_file(network: str = CKAI) -> bytes:
    """Return the integers of a network of checkers in one file, with what the levels of play are.

    The file is the length of a header as 4 bytes, the header in JSON, and the arrays that it names, one after
    the other, in zlib's format. Of each array come first the lowest bytes of all numbers, then the next ones:
    the high bytes of small numbers are alike. Weights that no position reads are 0.

    The page expects layers whose sizes are multiples of 16 after the first, and sums below 2**26, see `UPPER`
    there.

    Args:
        network: the name of an installed network, see `ckai.models.pretrained`.
    """
    source = load_network(network_path(network))
    assert isinstance(source, Swift)
    weights = {name: rounded.cpu().numpy() for name, rounded in source.rounded().items()}
    hidden = weights["first"].shape[1]
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
