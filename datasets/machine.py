"""What the machine gives a process: cores, memory, a folder to keep things in; how its threads wait."""

import ctypes
import math
import os
import time
from contextlib import suppress
from pathlib import Path

import psutil
from platformdirs import user_cache_path

CGROUP = Path("/sys/fs/cgroup")
"""Where a container sees the limits of its control group, which psutil does not read."""
WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}
"""How OpenMP threads wait, as environment variables; the second one is GNU's."""
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256", "LRU_CACHE_CAPACITY": "256"}
"""How many kernels PyTorch keeps of those it compiles for each size of a batch; also of the environment.

Each takes some 0.3 MB, and the last batch of every generation has another size: with 1,024, the default, a
long run grows for hours. The largest preset uses about a hundred at a time.
"""


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    Those that it may run on, and no more than its container's share of CPU time, rounded up.
    """
    try:
        cores = len(psutil.Process().cpu_affinity())
    except AttributeError:  # on macOS
        cores = psutil.cpu_count() or 1
    with suppress(OSError, ValueError):  # "200000 100000", microseconds of each period, or "max 100000"
        quota, period = map(int, (CGROUP / "cpu.max").read_text("ascii").split())
        cores = min(cores, math.ceil(quota / period))
    return max(1, cores)


class SharedCores:
    """How many cores other processes leave to this one, for threads that wait for each other.

    Two threads on two cores, one of which is busy, are slower than one: each waits for the other's turn.
    """

    SECONDS = 1.0
    """Least time that a number is measured over."""

    def __init__(self, most: int) -> None:
        """Begin to measure; `most` is the largest answer."""
        self.most = self._found = most
        self._before = self._used()

    def free(self) -> int:
        """The number of cores, at least 1, that were free in the last second or more; `most` until then."""
        now = self._used()
        seconds = now[0] - self._before[0]
        if seconds >= self.SECONDS:
            others = (now[1] - self._before[1]) / seconds
            self._found = max(1, min(self.most, round((psutil.cpu_count() or 1) - others)))
            self._before = now
        return self._found

    @staticmethod
    def _used() -> tuple[float, float]:
        """The time, and the CPU seconds of all other processes but those with a low priority."""
        machine, mine = psutil.cpu_times(), psutil.Process().cpu_times()
        return time.monotonic(), machine.user + machine.system - mine.user - mine.system


def available_memory() -> int:
    """Return the bytes of memory of the machine, or those of its container (`docker run --memory 4g`)."""
    memory: int = psutil.virtual_memory().total
    with suppress(OSError, ValueError):  # "max" without a limit
        memory = min(memory, int((CGROUP / "memory.max").read_text("ascii")))
    return memory


def set_environment() -> None:
    """Set the environment variables that PyTorch reads when it is loaded, unless they are set.

    `ckai.datasets` calls it when it is imported, so nothing of ckai loads PyTorch before.
    """
    # Threads that wait for each other sleep after some microseconds: spinning on, they take the time of the
    # one that works as soon as anything else runs.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.update(WAITING | os.environ)
    os.environ.update(CACHES | os.environ)
    # PyTorch knows the cores it may run on, but not a container's share of their time.
    if (cores := available_cores()) < (os.cpu_count() or 1):
        os.environ.setdefault("OMP_NUM_THREADS", str(cores))


def keep_freed_memory() -> None:
    """Let GNU's C library keep what is freed for the next allocation.

    Measured in an epoch of the default network on one core: 1.1 s of system time instead of 1.8, of 36 s.
    """
    with suppress(AttributeError, OSError, TypeError):  # other systems have no such function, or library
        library = ctypes.CDLL(None)
        library.mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD, its largest value
        library.mallopt(-1, 256 << 20)  # M_TRIM_THRESHOLD


def cache_folder() -> Path:
    """The user's cache folder: `$CKAI_CACHE`, or the platform's usual place."""
    given = os.environ.get("CKAI_CACHE")
    return Path(given) if given else user_cache_path("ckai", appauthor=False)
