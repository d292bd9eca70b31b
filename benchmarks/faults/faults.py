"""Take nodes and joiners from a run, kill its process, and compare its files with an undisturbed run.

    python benchmarks/faults/faults.py ray --strikes 20 --driver-kills 10
    python benchmarks/faults/faults.py join --strikes 20 --driver-kills 10

`ray` starts a cluster on this machine, a head without CPUs and three nodes of one core, and strikes by
removing a node without warning; another joins a little later. `join` starts three `ckai selfplay --join` and
strikes with SIGKILL. The process of the run is a `ckai selfplay` that is killed and started again with the
same command. Strikes and kills come in random order: half of them a random time after new games are on disk,
half at any moment, while programs start or networks load too. Finally the run goes on undisturbed to its
end, and another run is made without helpers and without faults. Prints what was done, and ends with status 1
if a game is missing or doubled, a row not whole, a file too many, too few or of another form, or if a
program ended by itself.
"""

import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import click
from kills import check, where
from rich.console import Console
from rich.table import Table
from run_form import differences, form_of_run

from ckai.rl.leases.folder import FOLDER
from ckai.rl.loop.run import Run

HELPERS = 3
"""Nodes, or joiners."""
PATIENCE = 600.0
"""Most seconds without a new game, and for the last program to end."""
STARTS = 5
"""Most trials to start a node."""
ANY_MOMENT = 0.5
"""Share of the faults that do not wait for new games."""
RECORDED = ("leased", "games", "taken_back", "refused", "repeated")
"""What a generation records of its leases."""
ENDLESS = 10**6


class Difference(click.ClickException):
    """The run is not as it should be; one line that says what was expected and found."""


class Program:
    """A `ckai selfplay` of its own process."""

    def __init__(self, words: list[str], log: Path) -> None:
        """Start it; what it prints is appended to `log`."""
        self.log = log
        command = [sys.executable, "-m", "ckai.cli.main", "selfplay", *words, "--evaluator", "torch"]
        with log.open("ab") as file:
            self._process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL)

    def expect_alive(self) -> None:
        """Check that it has not ended by itself."""
        if self._process.poll() is not None:
            raise Difference(
                f"{self.log}: expected a program that goes on, found that it ended: {self._said}"
            )

    def expect_success(self) -> None:
        """Wait until it ends, with status 0."""
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Difference(f"{self.log}: expected an end within {PATIENCE:g} s, found none") from None
        if status:
            raise Difference(f"{self.log}: expected status 0, found {status}: {self._said}")

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._process.kill()
        self._process.wait()

    @property
    def _said(self) -> str:
        return (self.log.read_text(errors="replace").splitlines() or [""])[-1]


class Helpers(Protocol):
    """Who plays for the run besides its own process."""

    words: list[str]
    """Options of the run's process."""
    name: str
    """What is taken away."""

    def begin(self) -> None:
        """Start; the run's folder is there."""

    def strike(self, rng: random.Random, pause: float) -> None:
        """Take one away without warning; another comes within `pause` seconds."""

    def expect_success(self) -> None:
        """Check that all have ended well after the run."""

    def close(self) -> None:
        """End all."""


class Nodes:
    """A Ray cluster on this machine, see `Helpers`."""

    name = "nodes removed"

    def __init__(self) -> None:
        """Start the head and the nodes."""
        self._folder = tempfile.mkdtemp(prefix="ckai-ray-")
        os.environ |= {"RAY_TMPDIR": self._folder, "RAY_USAGE_STATS_ENABLED": "0"}
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        # By default Ray's workers give way to everything else; on a busy machine they would do nothing but
        # wait. Nodes that start are a little before them.
        os.environ |= {"RAY_worker_niceness": "3"}
        from ray.cluster_utils import Cluster

        self._store = {"object_store_memory": 80 * 2**20}
        head = {"num_cpus": 0, "include_dashboard": False, **self._store}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(HELPERS):
            self._add()
        self.words = ["--ray", str(self._cluster.address), "--overlap"]

    def begin(self) -> None:
        """See `Helpers`; the nodes are there."""

    def strike(self, rng: random.Random, pause: float) -> None:
        """See `Helpers`."""
        node = rng.choice(sorted(self._cluster.worker_nodes, key=lambda node: str(node.unique_id)))
        self._cluster.remove_node(node, allow_graceful=False)
        time.sleep(rng.uniform(0, pause))
        self._add()

    def _add(self) -> None:
        """Start a node; Ray gives one up that is not there in half a minute, as on a busy machine."""
        for _ in range(STARTS):
            try:
                self._cluster.add_node(num_cpus=1, **self._store)
                return
            except Exception as error:  # Ray raises no other
                click.echo(f"a node that does not start: {error}", err=True)
        raise Difference(f"expected a node that starts, found none in {STARTS} trials")

    def expect_success(self) -> None:
        """See `Helpers`; nodes do not end."""

    def close(self) -> None:
        """See `Helpers`."""
        self._cluster.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)


class Joiners:
    """Programs that join the run, see `Helpers`."""

    name = "joiners killed"

    def __init__(self, folder: Path) -> None:
        """Begin without any.

        Args:
            folder: folder of the run.
        """
        self.words = ["--in-turn"]
        self._folder, self._joined = folder, list[Program]()

    def begin(self) -> None:
        """See `Helpers`."""
        self._joined = [self._join() for _ in range(HELPERS)]

    def _join(self) -> Program:
        return Program(["--join", str(self._folder), "--groups", "1"], self._folder.parent / "joiners.log")

    def strike(self, rng: random.Random, pause: float) -> None:
        """See `Helpers`."""
        one = rng.randrange(HELPERS)
        self._joined[one].expect_alive()
        self._joined[one].kill()
        time.sleep(rng.uniform(0, pause))
        self._joined[one] = self._join()

    def expect_success(self) -> None:
        """See `Helpers`."""
        for program in self._joined:
            program.expect_success()

    def close(self) -> None:
        """See `Helpers`."""
        for program in self._joined:
            program.kill()


def wait_for_games(driver: Program, folder: Path) -> None:
    """Wait until there are more shards or generations on disk than now."""

    def on_disk() -> tuple[int, ...]:
        parts = ("gen_*/done.json", "gen_*/shards/*.parquet")
        return tuple(sum(1 for _ in folder.glob(part)) for part in parts)

    before, begun = on_disk(), time.monotonic()
    while on_disk() == before:
        driver.expect_alive()
        if time.monotonic() - begun > PATIENCE:
            raise Difference(f"{folder}: expected new games within {PATIENCE:g} s, found none")
        time.sleep(0.1)


def disturb(
    command: list[str], folder: Path, helpers: Helpers, faults: list[str], pause: float, rng: random.Random
) -> Counter[str]:
    """Play with faults, the last of which is a kill of the run's process.

    Args:
        command: options of the run's process.
        folder: folder of the run.
        helpers: who plays for it.
        faults: `driver` or `strike`.
        pause: most seconds before a fault, and until someone new comes.
        rng: draws the times of the faults.

    Returns:
        The kills by the stage of the run.
    """
    log, stages, games = folder.parent / "driver.log", Counter[str](), 0
    driver = Program(command, log)
    try:
        while not Run.exists(folder):
            driver.expect_alive()
            time.sleep(0.1)
        helpers.begin()
        for number, fault in enumerate(faults, 1):
            if rng.random() > ANY_MOMENT:
                wait_for_games(driver, folder)
            time.sleep(rng.uniform(0, pause))
            driver.expect_alive()
            if fault == "strike":
                helpers.strike(rng, pause)
                click.echo(f"{number}: {helpers.name}", err=True)
                continue
            driver.kill()
            stage, now, _ = where(folder)
            if now < games:
                raise Difference(f"{folder}: expected at least the {games} games that it had, found {now}")
            games = now
            stages[stage] += 1
            click.echo(f"{number}: killed while {stage}, {games} games", err=True)
            if number < len(faults):
                driver = Program(command, log)
    finally:
        driver.kill()
    return stages


def report(run: Run, helpers: Helpers, strikes: int, stages: Counter[str], rows: int, seconds: float) -> None:
    """Print what was done and found."""
    log = (run.folder.parent / "driver.log").read_text(errors="replace")
    recorded = Counter[str]()
    for measured in run.history():
        recorded.update({name: measured["selfplay"].get("workers", {}).get(name, 0) for name in RECORDED})
    table = Table("what", "found")
    by_stage = ", ".join(f"{count} while {stage}" for stage, count in sorted(stages.items()))
    lines: list[tuple[str, Any]] = [
        (helpers.name, strikes),
        ("the run's process killed", f"{stages.total()} ({by_stage})"),
        ("generations", run.generations),
        ("games, each once", f"{run.generations * run.config.games:,}"),
        ("rows, all whole", f"{rows:,}"),
        ("leases recorded", recorded["leased"]),
        ("games of helpers recorded", f"{recorded['games']:,}"),
        ("leases taken back, recorded", recorded["taken_back"]),
        ("warnings of games that are played again", log.count("played again")),
        ("shards refused", recorded["refused"]),
        ("games that came twice, dropped", recorded["repeated"]),
        ("files of the form of an undisturbed run", len(form_of_run(run.folder))),
        ("minutes", f"{seconds / 60:.1f}"),
    ]
    for what, found in lines:
        table.add_row(what, str(found))
    Console(width=100).print(table)
    click.echo("Of a generation, what is recorded is since the last start of the run's process.")


@click.command()
@click.argument("transport", type=click.Choice(["ray", "join"]))
@click.option("--strikes", default=20, show_default=True, help="Nodes removed, or joiners killed.")
@click.option("--driver-kills", default=10, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
@click.option("--game", default="checkers", show_default=True)
@click.option("--games", default=80, show_default=True, help="Games of a generation.")
@click.option("--sims", default=30, show_default=True, help="Visits per move.")
@click.option("--pause", default=5.0, show_default=True, help="Most seconds before a fault.")
@click.option("--lease-timeout", default=20.0, show_default=True, help="As of `ckai selfplay`.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="New folder, to keep the runs and logs."
)
def main(
    transport: str,
    strikes: int,
    driver_kills: int,
    seed: int,
    game: str,
    games: int,
    sims: int,
    pause: float,
    lease_timeout: float,
    output: Path | None,
) -> None:
    """Disturb a run, and compare it with one that is not."""
    begun, rng = time.monotonic(), random.Random(seed)
    faults = ["strike"] * strikes + ["driver"] * (driver_kills - 1)
    rng.shuffle(faults)
    settings = f"--game {game} --init none --set channels=4 --set hidden=16 --games {games} --sims {sims} "
    settings += "--in-flight 8 --groups 1 --epochs 1 --gate-games 0 --setting selfplay.max_plies=60"
    with tempfile.TemporaryDirectory(prefix="ckai-faults-") as temporary:
        place = output or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        disturbed, undisturbed = place / "disturbed", place / "undisturbed"
        helpers: Helpers = Nodes() if transport == "ray" else Joiners(disturbed)
        try:
            words = [*settings.split(), "--run", str(disturbed), "--lease-timeout", str(lease_timeout)]
            words += [*helpers.words, "--generations"]
            stages = disturb([*words, str(ENDLESS)], disturbed, helpers, [*faults, "driver"], pause, rng)
            # With overlap the generation after the next has been begun.
            generations = Run.open(disturbed).generations + 2
            Program([*words, str(generations)], place / "driver.log").expect_success()
            helpers.expect_success()
        finally:
            helpers.close()
        overlap = helpers.words[-1]
        words = [*settings.split(), "--run", str(undisturbed), overlap, "--generations", str(generations)]
        Program(words, place / "undisturbed.log").expect_success()
        run = Run.open(disturbed)
        try:
            rows = check(run, generations)
        except AssertionError as error:
            raise Difference(f"{disturbed}: {error}") from error
        if (disturbed / FOLDER).exists():
            raise Difference(
                f"{disturbed / FOLDER}: expected no such folder in a run that is over, found one"
            )
        lines = differences(disturbed, undisturbed)
        for line in lines:
            click.echo(line, err=True)
        report(run, helpers, strikes, stages, rows, time.monotonic() - begun)
    if lines:
        raise Difference(f"expected the files of a run without faults, found {len(lines)} that differ")


if __name__ == "__main__":
    main()
