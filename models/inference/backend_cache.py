"""The fastest backend for small batches, tried once and remembered for this machine.

The file `backends.json` in the user's cache folder has one entry for each processor, set of installed
packages, architecture and use.
"""

import hashlib
import inspect
import json
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from ckai.datasets.files import WriteError, write_whole
from ckai.datasets.machine import available_cores, cache_folder
from ckai.models.layers.network import Network

FILE = "backends.json"
"""Name of the file in the cache folder."""
PACKAGES = ("torch", "openvino", "onnxruntime", "ckai")
"""Packages whose versions the choice may depend on."""


def remembered(network: Network, threads: int) -> str | None:
    """Return the backend that was fastest for such a network on this machine; None if it was not tried."""
    backend = _read().get(_key(network, threads))
    return backend if isinstance(backend, str) else None


def remember(network: Network, threads: int, backend: str) -> None:
    """Keep the fastest backend; without a folder to write to, it is tried again the next time."""
    with suppress(WriteError):
        write_whole(_path(), json.dumps(_read() | {_key(network, threads): backend}, indent=1) + "\n")


def _path() -> Path:
    return cache_folder() / FILE


def _read() -> dict[str, object]:
    try:
        content = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _key(network: Network, threads: int) -> str:
    """Identify the network's architecture, its use and this machine."""
    what = {
        "architecture": network.architecture,
        "settings": repr(network.settings),
        "source": _source(type(network)),
        "threads": threads,
        "cores": available_cores(),
        "processor": _processor(),
        "packages": {name: _version(name) for name in PACKAGES},
    }
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    return f"{network.architecture} {digest}"


def _source(architecture: type[Network]) -> str:
    """Return the source of an architecture: while it is written, other code may suit another backend."""
    try:
        return inspect.getsource(inspect.getmodule(architecture) or architecture)
    except (OSError, TypeError):  # defined where no file is, as in an interpreter
        return ""


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "flags")):
                return line
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
