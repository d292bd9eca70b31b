"""The connection to a Ray cluster, and what can be wrong with it."""

import os
import secrets
import socket
from typing import Any

from ckai.datasets.machine import available_cores
from ckai.rl.workers.config import WorkersConfig

MIN_VERSION = (2, 60)
"""Oldest version of Ray that is supported."""
LOCAL = "local"
"""Address of a cluster of this machine alone, which is started and ended."""
STORE_MB = 200
"""Shared memory of the object store of a cluster that is started here."""
AUTO = "auto"
"""Address of the cluster that runs on this machine."""
KNOCK_SECONDS = 5.0
"""Time for a cluster to answer."""


class RayError(RuntimeError):
    """Ray cannot be used; one line that says what was expected and found."""


def import_ray() -> Any:
    """Import Ray.

    Raises:
        RayError: it is not installed, or too old.
    """
    try:
        import ray
    except ImportError as error:
        raise RayError(
            f"expected Ray {'.'.join(map(str, MIN_VERSION))} or newer for --ray, found none ({error}); "
            "pip install 'ckai[ray]', or omit --ray"
        ) from error
    if tuple(map(int, ray.__version__.split(".")[:2])) < MIN_VERSION:
        raise RayError(
            f"expected Ray {'.'.join(map(str, MIN_VERSION))} or newer, found {ray.__version__}; "
            "pip install --upgrade 'ckai[ray]'"
        )
    return ray


def connect(address: str, config: WorkersConfig) -> None:
    """Connect to a cluster, or start one on this machine.

    Args:
        address: `local`, `auto` for the cluster that runs on this machine, or host:port.
        config: settings of the workers.

    Raises:
        RayError: Ray is missing, there is no such cluster, or it has another version of Ray or Python.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray prints the log of every node that goes on standard output, `log_to_driver` or not: print no line.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    options: dict[str, Any] = {}
    if address == LOCAL:
        # Ray lets its workers give way to everything else: beside one busy process they would hardly play.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Ray listens on all addresses of the machine; whoever connects needs this token.
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        cores = config.cpus_per_worker * (config.count or max(1, available_cores() // config.cpus_per_worker))
        options = {"num_cpus": cores, "object_store_memory": STORE_MB * 2**20}
        options["include_dashboard"] = False
    ray = import_ray()
    advice = "start one with `ray start --head`, or give --ray local"
    try:
        if address not in (LOCAL, AUTO):
            _knock(address)
            advice = "check that RAY_AUTH_MODE and RAY_AUTH_TOKEN are the cluster's, and the versions of Ray"
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RayError(
            f"--ray {address}: expected a cluster of Ray {ray.__version__}, found none that answers "
            f"({reason[:300]}); {advice}"
        ) from error


def _knock(address: str) -> None:
    """Try to connect to host:port, for which Ray itself would wait for minutes.

    Raises:
        OSError, ValueError: nobody answers, or it is no such text.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError("not host:port")
    socket.create_connection((host, int(port)), KNOCK_SECONDS).close()


def reason_of(error: BaseException) -> str:
    """Return what a remote error says, in one line and without the traceback."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line]
    return (named or lines or [type(cause).__name__])[-1].rpartition("Error: ")[2]
