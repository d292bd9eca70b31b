"""The page as a static site, which plays and analyses checkers without a server, and its network's file.

`static/engine/network.js` reads that file.
"""

import hashlib
import json
import zlib
from dataclasses import asdict
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from ckai.cli.web.app import POLICY, STATIC, page_text, site_of
from ckai.cli.web.server import level_players
from ckai.datasets.files import write_whole
from ckai.game.kernels import STEP_TO
from ckai.models.checkpoint import load_network
from ckai.models.networks.swift import Swift
from ckai.models.pretrained import CKAI, HUMAN, network_path
from ckai.rl.engine.alphabeta import LEVELS, QUICK_NODES
from ckai.rl.games.registry import DEFAULT_GAME


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


WORKER = """const FILES = %s, SITE = `ckai ${registration.scope} `, NAME = `${SITE}%s`;
self.oninstall = (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)));
self.onactivate = (event) => event.waitUntil(caches.keys().then((names) => Promise.all(
  names.filter((name) => name.startsWith(SITE) && name !== NAME).map((name) => caches.delete(name)))));
self.onfetch = (event) => event.respondWith(
  caches.match(event.request, { ignoreSearch: true, cacheName: NAME })
    .then((found) => found ?? fetch(event.request)));
"""
"""A service worker that keeps the page's files in the browser, so that it opens without a network. The files
of an earlier export give way."""


def export_site(folder: Path) -> int:
    """Write the site, and return its size in bytes."""
    site = site_of([DEFAULT_GAME], server=False)
    site["players"] = [each._asdict() for each in level_players()]
    policy = POLICY.replace("frame-ancestors 'none'; ", "")  # which only a header can say
    csp = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    found = {
        "index.html": page_text().replace("<title>", f"{csp}\n<title>", 1).encode(),
        "site.json": json.dumps(site).encode(),
        **{f"networks/{name}": engine_file(name) for name in (CKAI, HUMAN)},
    }
    for package in STATIC:
        with as_file(files(package) / "static") as static:
            for path in filter(Path.is_file, static.rglob("*")):
                found[f"static/{path.relative_to(static).as_posix()}"] = path.read_bytes()
    names = ["./", *sorted(found)]
    digest = hashlib.sha256(b"".join(found[name] for name in names[1:])).hexdigest()[:16]
    found["worker.js"] = (WORKER % (json.dumps(names), digest)).encode()
    for name, data in found.items():
        write_whole(folder / name, data)
    return sum(map(len, found.values()))
