"""Cores and memory of this process: its affinity, and the limits of a container; the cache folder."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from ckai.datasets import machine
from ckai.datasets.machine import (
    SharedCores,
    available_cores,
    available_memory,
    cache_folder,
)

GIB = 1 << 30


@pytest.mark.parametrize(
    ("cpu", "cores"),
    [
        ("max 100000", 16),
        ("200000 100000", 2),
        ("50000 100000", 1),
        (None, 16),
    ],
)
@pytest.mark.parametrize(("limit", "memory"), [("max", 64), (str(3 * GIB), 3), (None, 64)])
def test_the_share_of_a_container(tmp_path, monkeypatch, cpu, cores, limit, memory):
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    monkeypatch.setattr(psutil.Process, "cpu_affinity", lambda self: list(range(16)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=64 * GIB))
    for name, text in (("cpu.max", cpu), ("memory.max", limit)):
        if text is not None:
            (tmp_path / name).write_text(text)
    assert (available_cores(), available_memory()) == (cores, memory * GIB)


@pytest.mark.parametrize(("others", "left"), [(0.0, 4), (0.67, 3), (2.6, 1), (9.0, 1)])
@pytest.mark.parametrize("most", [4, 2])
def test_the_cores_that_others_leave(monkeypatch, others, left, most):
    """For ten seconds this process uses 1.5 cores of four, and others the rest."""
    now = SimpleNamespace(seconds=0.0)

    def machine_times():
        return SimpleNamespace(user=now.seconds * (1.2 + others), system=now.seconds * 0.3, nice=0.0)

    monkeypatch.setattr(psutil, "cpu_times", machine_times)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
    monkeypatch.setattr(psutil.Process, "nice", lambda self: 0)
    own = SimpleNamespace(user=0.0, system=0.0)
    monkeypatch.setattr(psutil.Process, "cpu_times", lambda self: own)
    monkeypatch.setattr(machine.time, "monotonic", lambda: now.seconds)
    cores = SharedCores(most)
    assert cores.free() == most  # nothing is known yet
    now.seconds, own.user, own.system = 10.0, 12.0, 3.0
    assert cores.free() == min(most, left)


def test_the_cache_folder(monkeypatch):
    monkeypatch.delenv("CKAI_CACHE", raising=False)
    assert cache_folder().name == "ckai"
    monkeypatch.setenv("CKAI_CACHE", "here")
    assert cache_folder() == Path("here")


@pytest.mark.parametrize(
    ("code", "given", "policy"),
    [
        ("from ckai.models import build", {}, "PASSIVE"),
        ("from ckai.rl import Engine", {"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE"),
    ],
)
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
