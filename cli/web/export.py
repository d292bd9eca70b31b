"""The page as a static site, which plays and analyses checkers without a server."""

import hashlib
import json
from importlib.resources import as_file, files
from pathlib import Path

from ckai.cli.web.app import POLICY, STATIC, page_text, site_of
from ckai.cli.web.engine_file import engine_file
from ckai.cli.web.server import level_players
from ckai.datasets.files import write_whole
from ckai.models.pretrained import CKAI, HUMAN
from ckai.rl.games.registry import DEFAULT_GAME

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
