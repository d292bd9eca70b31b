"""What the machine gives a process: cores, memory, a folder to keep things in; how its threads wait."""

import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows its control groups, which limit containers and jobs."""
MEMBERSHIP = Path("/proc/self/cgroup")
"""The control groups of this process, one a line: `number:controllers:path`."""
MAX_THREADS = 1024
"""Most threads that anything may be asked to use."""
UNKNOWN_MEMORY = 8 << 30
"""Bytes that are assumed where the system does not say."""
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
"""How OpenMP threads wait, as environment variables; the second one is GNU's."""
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256", "LRU_CACHE_CAPACITY": "256"}
"""How many kernels PyTorch keeps of those it compiles for each size of a batch; also of the environment.

Each takes some 0.3 MB, and the last batch of every generation has another size: with 1,024, the default, a
long run grows for hours. The largest preset uses about a hundred at a time.
"""


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    Those that it may run on (`taskset`, Slurm), and no more than the CPU time that its control group is given
    (`docker run --cpus 2`), rounded up.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1
    for folder in _control_groups("cpu"):
        with suppress(OSError, ValueError):
            quota, period = _cpu_quota(folder)
            if quota > 0 and period > 0:
                cores = min(cores, math.ceil(quota / period))
    return max(1, cores)


def set_environment() -> None:
    """Set the environment variables that PyTorch reads when it is loaded, unless they are set.

    `ckai.datasets` calls it when it is imported, so nothing of ckai loads PyTorch before.
    """
    # Threads that wait for each other sleep after some microseconds: spinning on, they take the time of the
    # one that works as soon as anything else runs.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.update(WAITING | os.environ)
    # PyTorch knows the cores it may run on, but not a container's share of their time.
    if (cores := available_cores()) < (os.cpu_count() or 1):
        os.environ.setdefault("OMP_NUM_THREADS", str(cores))
    os.environ.update(CACHES | os.environ)


def available_memory() -> int:
    """Return the bytes of memory that this process may use.

    Those of the machine, and no more than its control group is given (`docker run --memory 4g`).
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = UNKNOWN_MEMORY
    for folder in _control_groups("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # of versions 2 and 1
            with suppress(OSError, ValueError):
                limit = int((folder / name).read_text())
                if limit > 0:
                    memory = min(memory, limit)
    return memory


def cache_folder() -> Path:
    """The user's cache folder: `$CKAI_CACHE`, or the platform's usual place.

    A user without a home, as in some containers, has a temporary one.
    """
    given = os.environ.get("CKAI_CACHE")
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:  # a container may run as a user whom it does not know
        return Path(tempfile.gettempdir()) / f"ckai-{os.getuid()}"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ckai"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ckai"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ckai"


def _cpu_quota(folder: Path) -> tuple[int, int]:
    """The CPU time of a control group in each period, and the period, in microseconds.

    Raises:
        ValueError: there is no limit.
    """
    if (folder / "cpu.max").exists():  # version 2: "200000 100000", or "max 100000"
        quota, period = (folder / "cpu.max").read_text().split()
        return int(quota), int(period)
    return int((folder / "cpu.cfs_quota_us").read_text()), int((folder / "cpu.cfs_period_us").read_text())


def _control_groups(controller: str) -> Iterator[Path]:
    """The folders of the control groups that may limit this process: its own and those around it.

    A container may read the path that its group has outside, and see the group itself as the root, so
    that some of the folders do not exist.
    """
    with suppress(OSError, ValueError):
        for line in MEMBERSHIP.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            root = CGROUPS / controllers  # version 2 has one hierarchy, and no name here
            folder = root / path.strip("/")
            yield folder
            while folder != root:
                folder = folder.parent
                yield folder
