"""Cores and memory of this process: its affinity, and control groups of both versions; the cache folder."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ckai.datasets import machine
from ckai.datasets.machine import available_cores, available_memory, cache_folder

GIB = 1 << 30


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A machine with 16 cores and 64 GiB, and control groups from the contents of files."""
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(
        os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 24}.__getitem__, raising=False
    )

    def make(membership, **files):
        (tmp_path / "membership").write_text(membership)
        for name, content in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    return make


def test_without_control_groups_all_is_available(groups):
    assert (available_cores(), available_memory()) == (16, 64 * GIB)


def test_only_the_cores_that_the_process_may_run_on(groups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5}, raising=False)
    assert available_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 16), ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1)]
)
def test_the_share_of_a_container(groups, quota, cores):
    """Version 2, the group's files at the root, as a container sees them."""
    groups("0::/\n", **{"cpu.max": quota, "memory.max": str(3 * GIB)})
    assert (available_cores(), available_memory()) == (cores, 3 * GIB)


def test_the_smallest_share_of_all_groups_around_a_job_counts(groups):
    groups(
        "0::/slurm/job/step\n",
        **{
            "slurm/cpu.max": "800000 100000",
            "slurm/memory.max": "max",
            "slurm/job/cpu.max": "400000 100000",
            "slurm/job/memory.max": str(5 * GIB),
            "slurm/job/step/cpu.max": "max 100000",
            "slurm/job/step/memory.max": str(6 * GIB),
        },
    )
    assert (available_cores(), available_memory()) == (4, 5 * GIB)


def test_version_1_has_a_folder_for_each_controller(groups):
    """In a container, whose path is that of the machine."""
    groups(
        "5:memory:/docker/0123\n4:cpu,cpuacct:/docker/0123\n3:cpuset:/docker/0123\n",
        **{
            "cpu,cpuacct/cpu.cfs_quota_us": "300000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": str(2 * GIB),
            "cpuset/cpu.max": "100000 100000",
        },
    )
    assert (available_cores(), available_memory()) == (3, 2 * GIB)


def test_no_limit_in_version_1(groups):
    groups(
        "2:cpu:/\n1:memory:/\n",
        **{
            "cpu/cpu.cfs_quota_us": "-1",
            "cpu/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert (available_cores(), available_memory()) == (16, 64 * GIB)


@pytest.mark.parametrize("damage", ["", "what", "1:2", "0::/../../x"])
def test_what_cannot_be_read_is_no_limit(groups, damage):
    groups(damage, **{"cpu.max": "none at all", "memory.max": "-1"})
    assert (available_cores(), available_memory()) == (16, 64 * GIB)


def test_a_user_without_a_home_has_a_temporary_cache(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("CKAI_CACHE", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert cache_folder().parent == Path(tempfile.gettempdir())
    monkeypatch.setenv("CKAI_CACHE", "here")
    assert cache_folder() == Path("here")


@pytest.mark.parametrize(
    "code", ["from ckai.models import build", "from ckai.rl import Engine", "from ckai.cli.main import main"]
)
@pytest.mark.parametrize(("given", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_the_threads_of_pytorch_sleep_unless_the_user_says_otherwise(code, given, policy):
    """Checked when the first module of torch is looked for, as it reads the environment then."""
    program = (
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            print(os.environ.get('OMP_WAIT_POLICY'), flush=True); os._exit(0)\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"{code}\n"
        "import torch\n"
    )
    clean = {name: value for name, value in os.environ.items() if "OMP" not in name}
    out = subprocess.run(
        [sys.executable, "-c", program], env=clean | given, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == [policy]
