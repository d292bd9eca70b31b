"""Kill and freeze the processes of a run of self-play, and check that every finished game is there once.

    python benchmarks/faults/kills.py pretrained.ckpt -o folder          # three workers that join
    python benchmarks/faults/kills.py pretrained.ckpt -o folder --ray    # three on Ray

In random order 20 workers and 10 times the run's process are killed with SIGKILL, and 10 workers are frozen
(SIGSTOP) for longer than anything waits, and woken. Then the same command continues the run undisturbed for
two more generations, and all files are checked.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from ckai.datasets.reader import read_rows
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.run.run import Run
from ckai.rl.selfplay.shards import Shard

FAULTS = {"worker killed": 20, "run killed": 10, "worker frozen": 10}
WORKERS = 3
FROZEN_SECONDS = 15.0
SETTINGS = (
    "--games 60 --sims 16 --epochs 1 --gate-games 4 --setting selfplay.in_flight=8 "
    "--setting selfplay.groups=1 --setting selfplay.max_plies=60 --setting learn.batch_size=64"
)


class Processes:
    """The run's process and its workers."""

    def __init__(self, folder: Path, network: Path, on_ray: bool) -> None:
        """Start all of them."""
        self.folder, self.on_ray = folder, on_ray
        self.command = [sys.executable, "-m", "ckai.cli.main", "selfplay", "--evaluator", "torch"]
        self.begin = ["--init", str(network), *SETTINGS.split()]
        if on_ray:
            self.command += ["--ray", "local", "--setting", f"workers.count={WORKERS}"]
        self.log = (folder.parent / f"{folder.name}.log").open("ab")
        self.joined: list[subprocess.Popen[bytes]] = []
        self.driver = self.start_run(1000)

    def start_run(self, generations: int) -> subprocess.Popen[bytes]:
        """Start the run's process."""
        begin = [] if Run.exists(self.folder) else self.begin
        words = [*self.command, "--run", str(self.folder), *begin, "--generations", str(generations)]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=self.log)

    def fill(self) -> None:
        """Start workers that join until there are enough, once there is a run."""
        self.joined = [each for each in self.joined if each.poll() is None]
        while not self.on_ray and Run.exists(self.folder) and len(self.joined) < WORKERS:
            words = [*self.command, "--join", str(self.folder), "--setting", "selfplay.groups=1"]
            self.joined.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=self.log))

    def workers(self) -> list[int]:
        """Return the process numbers of the workers."""
        if not self.on_ray:
            return [each.pid for each in self.joined if each.poll() is None]
        with suppress(psutil.Error):
            found = psutil.Process(self.driver.pid).children(recursive=True)
            return [each.pid for each in found if "WorkerActor" in " ".join(each.cmdline())]
        return []


def shards(folder: Path) -> int:
    """Return the number of shards of a run."""
    return len(list(folder.glob("games/*.parquet")))


def disturb(processes: Processes, rng: random.Random) -> Counter[str]:
    """Kill and freeze, each time after something new was played; return what was done."""
    faults = [name for name, count in FAULTS.items() for _ in range(count)]
    rng.shuffle(faults)
    done, frozen = Counter[str](), list[tuple[float, int]]()
    for fault in faults:
        processes.fill()
        before, begun = shards(processes.folder), time.monotonic()
        while (
            shards(processes.folder) <= before or not processes.workers()
        ) and time.monotonic() - begun < 60:
            time.sleep(0.1)
            assert processes.driver.poll() is None, f"the run ended by itself, see {processes.log.name}"
        time.sleep(rng.uniform(0, 1.5))
        for end, pid in list(frozen):
            if time.monotonic() > end:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                frozen.remove((end, pid))
        if fault == "run killed":
            processes.driver.kill()
            processes.driver.wait()
            processes.driver = processes.start_run(1000)
        elif workers := [pid for pid in processes.workers() if pid not in {pid for _, pid in frozen}]:
            pid = rng.choice(workers)
            os.kill(pid, signal.SIGKILL if fault == "worker killed" else signal.SIGSTOP)
            if fault == "worker frozen":
                frozen.append((time.monotonic() + FROZEN_SECONDS, pid))
        else:
            faults.append(fault)
            continue
        done[fault] += 1
        print(f"{sum(done.values())}: {fault}, {shards(processes.folder)} shards", flush=True)
    for _, pid in frozen:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return done


def check(run: Run) -> dict[str, int]:
    """Check all files of a run: each is whole, and each game counts once."""
    games, learned = Counter[tuple[str, int]](), Counter[str]()
    files = sorted((run.folder / "games").glob("*.parquet"))
    for path in files:
        shard, _ = Shard.read_rows(path, run.spec.schema)  # raises where it is damaged
        games.update((shard.worker, header.game) for header in shard.games)
    for n in range(1, run.generations + 1):
        learned.update(list(run.learned(n).files))
        load_checkpoint(run.network_path(n)).network()
        steps = run.history()[n - 1]["learn"]
        assert steps["step"] == -(-int(steps["rows"]) // run.config.learn.batch_size)
    assert max(games.values()) == max(learned.values()) == 1, "a game or a shard counts twice"
    assert learned.keys() <= {path.name for path in files}
    read_rows(files)
    late = len(files) - len(learned)
    return {
        "generations": run.generations,
        "shards": len(files),
        "games": len(games),
        "not learned yet": late,
    }


def main() -> None:
    """Run the test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("network", type=Path, help="checkpoint to start from")
    parser.add_argument("-o", "--output", type=Path, default=Path("kills"), help="folder of the run")
    parser.add_argument("--ray", action="store_true", help="workers on Ray in place of those that join")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begun = time.monotonic()
    processes = Processes(given.output, given.network, given.ray)
    try:
        done = disturb(processes, random.Random(given.seed))
        processes.driver.kill()
        processes.driver.wait()
        processes.fill()
        run = Run.open(given.output)
        last = processes.start_run(run.generations + 2)
        assert last.wait() == 0, f"the run did not continue, see {processes.log.name}"
        for each in processes.joined:
            assert each.wait() in (0, -signal.SIGKILL), f"a worker failed, see {processes.log.name}"
    finally:
        for pid in processes.workers():
            os.kill(pid, signal.SIGKILL)
        processes.driver.kill()
    minutes = round((time.monotonic() - begun) / 60, 1)
    print(json.dumps({**done, **check(run), "minutes": minutes}))


if __name__ == "__main__":
    main()
