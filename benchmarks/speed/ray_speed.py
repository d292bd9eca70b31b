"""Evaluations/s of workers on Ray beside those of as many threads of one process, in turn in one run.

    python benchmarks/speed/ray_speed.py --rounds 3

One run plays its generations in turn on `--ray local` with workers of one core each and in threads of its
own process; which of the two begins a round changes. While the one plays the other has nothing to do. Both
have the settings of the run, so a worker, as any process of ckai, has `--in-flight` games under way, and the
threads share as many.

Both are measured in the same way: the rate of each two seconds, from `--warm` seconds after all players make
evaluations, so without loading and compiling, until no game waits, so without the last games of the
generation. Prints the mean of each generation, and the ratio of Ray to threads by round and its median.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ckai.models.registry import build
from ckai.rl.games.registry import get_game
from ckai.rl.leases.cluster import LOCAL, connect
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.ledgers import Ledgers
from ckai.rl.leases.on_ray import RayWorkers
from ckai.rl.leases.worker import WorkerSetup
from ckai.rl.leases.workers import HEARTBEAT_SECONDS, Heartbeat, Workers
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.events import RunEvent
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig

PLACES = ("threads", "ray")


class InTurn(Workers):
    """Workers on Ray that play some generations, see `Workers`; threads of this process play the others."""

    def __init__(self, ray: RayWorkers, count: int, warm: float, order: list[str]) -> None:
        """Begin with the first generation.

        Args:
            ray: the workers.
            count: how many there are.
            warm: seconds without samples after all make evaluations.
            order: who plays each generation: `ray` or `threads`.
        """
        self.rates: dict[int, list[float]] = {}
        """Evaluations/s of all players together, one for each two seconds, by generation."""
        self._ray, self._count, self._warm, self._order = ray, count, warm, order
        self._generation = 1
        self._ledgers: Ledgers | None = None
        self._begun = self._sampled = self._evaluations = 0.0
        self._working: float | None = None

    matches = None
    """See `Workers`: there are no gate matches."""

    @property
    def plays_here(self) -> bool:
        """See `Workers`."""
        return self._order[self._generation - 1] == "threads"

    @property
    def heartbeats(self) -> dict[str, Heartbeat]:
        """See `Workers`."""
        return {} if self.plays_here else self._ray.heartbeats

    def begin(self, ledgers: Ledgers, setup_of: Callable[[int], WorkerSetup]) -> list[str]:
        """See `Workers`."""
        self._begun = self._sampled = time.monotonic()
        self._ledgers, self._working, self._evaluations = ledgers, None, 0.0
        return [] if self.plays_here else self._ray.begin(ledgers, setup_of)

    def exchange(self, ledgers: Ledgers) -> list[str]:
        """See `Workers`."""
        return [] if self.plays_here else self._ray.exchange(ledgers)

    def end(self, ledgers: Ledgers) -> None:
        """See `Workers`."""
        self._generation += 1

    def close(self) -> None:
        """See `Workers`."""
        self._ray.close()

    def on_event(self, event: RunEvent) -> None:
        """Take a sample if it is due; called after each exchange."""
        now = time.monotonic()
        if event.stage != "selfplay" or "evaluations_per_second" not in event.info or self._ledgers is None:
            return
        if now - self._sampled < HEARTBEAT_SECONDS:
            return
        if self.plays_here:
            evaluations = event.info["evaluations_per_second"] * (now - self._begun)
            rate = (evaluations - self._evaluations) / (now - self._sampled)
            self._evaluations, all_work = evaluations, rate > 0
        else:
            heartbeats = list(self._ray.heartbeats.values())
            rate = sum(each.evaluations_per_second for each in heartbeats)
            working = [each for each in heartbeats if each.evaluations_per_second > 0]
            all_work = len(working) == self._count
        self._sampled = now
        if all_work and self._working is None:
            self._working = now
        if self._working is not None and now - self._working > self._warm and self._ledgers.waiting:
            self.rates.setdefault(event.generation, []).append(rate)


def show(order: list[str], rates: dict[int, list[float]]) -> None:
    """Print the rounds and the median of their ratios.

    Raises:
        ClickException: a generation was too short for a sample.
    """
    table, ratios = Table("round", *(f"{place}, evaluations/s" for place in PLACES), "samples", "ratio"), []
    for number in range(0, len(order), 2):
        found = {order[n]: rates.get(n + 1, []) for n in (number, number + 1)}
        if not all(found.values()):
            raise click.ClickException(
                f"expected samples of round {number // 2 + 1}, found none; give more --games"
            )
        means = [statistics.mean(found[place]) for place in PLACES]
        ratios.append(means[1] / means[0])
        counts = ", ".join(str(len(found[place])) for place in PLACES)
        table.add_row(str(number // 2 + 1), *(f"{mean:,.0f}" for mean in means), counts, f"{ratios[-1]:.3f}")
    Console(width=100).print(table)
    click.echo(f"median of {len(ratios)}: {statistics.median(ratios):.3f}")


@click.command()
@click.option("--rounds", default=3, show_default=True)
@click.option("--workers", "count", default=2, show_default=True, help="Workers of one core, and threads.")
@click.option("--game", default="checkers", show_default=True)
@click.option("--model", default="cnn2x2", show_default=True)
@click.option("--games", default=800, show_default=True, help="Games of a generation.")
@click.option("--sims", default=SelfPlayConfig.sims, show_default=True, help="Visits per move.")
@click.option("--in-flight", default=SelfPlayConfig.in_flight, show_default=True, help="Games at once.")
@click.option("--warm", default=6.0, show_default=True, help="Seconds without samples.")
@click.option("--evaluator", default="torch", show_default=True)
def main(
    rounds: int,
    count: int,
    game: str,
    model: str,
    games: int,
    sims: int,
    in_flight: int,
    warm: float,
    evaluator: str,
) -> None:
    """Measure."""
    defaults = RunConfig.defaults_for(game)
    config = replace(
        defaults,
        games=games,
        overlap=False,
        selfplay=replace(defaults.selfplay, sims=sims, in_flight=in_flight, groups=count),
        learn=LearnConfig(epochs=1, window=1),
        gate=GateConfig(games=0),
    )
    encoding = get_game(game).encoding
    order = [place for n in range(rounds) for place in (PLACES if n % 2 == 0 else PLACES[::-1])]
    work = WorkersConfig(count=count)
    with tempfile.TemporaryDirectory() as folder:
        network = build(model, {"encoding": encoding} if encoding else {})
        run = Run.create(Path(folder, "run"), network, config)
        connect(LOCAL, work)
        workers = InTurn(RayWorkers(in_flight, evaluator, work), count, warm, order)
        run.go(len(order), workers.on_event, backend=evaluator, workers=workers)
    show(order, workers.rates)


if __name__ == "__main__":
    main()
