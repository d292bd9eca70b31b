"""The file from which the page's own engine reads a network; see `static/engine/network.js`."""

import json
import zlib
from dataclasses import asdict
from functools import cache

import numpy as np

from ckai.models.checkpoint import load_network
from ckai.models.networks.swift import Swift
from ckai.models.pretrained import CKAI, network_path
from ckai.rl.engine.alphabeta import LEVELS, QUICK_NODES


@cache
def engine_file(network: str = CKAI) -> bytes:
    """Return the integers of a network of checkers in one file, with what the levels of play are.

    The file is the length of a header as 4 bytes, the header in JSON, and the arrays that it names, one after
    the other, in zlib's format. Of each array come first the lowest bytes of all numbers, then the next ones:
    the high bytes of small numbers are alike.

    The page expects layers whose sizes are multiples of 16 after the first, and sums below 2**26, see `UPPER`
    there.

    Args:
        network: the name of an installed network, see `ckai.models.pretrained`.
    """
    source = load_network(network_path(network))
    assert isinstance(source, Swift)
    weights = {name: rounded.cpu().numpy() for name, rounded in source.rounded().items()}
    weights["first"] = weights["first"].reshape(-1, 32, weights["first"].shape[1])
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
