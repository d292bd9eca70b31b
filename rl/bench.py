"""What `ckai bench` measures: the speed of networks and self-play.

The two sides of a ratio take turns, so that a machine that slows down affects both.
"""

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from ckai.datasets.machine import available_cores
from ckai.models.encodings import Encoding
from ckai.models.inference.backends import best_rate, make_evaluator
from ckai.models.inference.evaluator import BackendError, Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import running
from ckai.models.network import Network
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import SelfPlayCounts, compile_selfplay, play_games

BATCHES = (1, 16, 64, 128, 256, 1024, 4096)
"""Batch sizes to measure networks with."""


@dataclass(frozen=True)
class Measure:
    """The speed of one thing in several rounds."""

    name: str
    unit: str
    median: float
    least: float
    most: float
    rounds: int

    @classmethod
    def of(cls, name: str, unit: str, rates: Sequence[float]) -> "Measure":
        """Summarise the values of several rounds."""
        return cls(name, unit, statistics.median(rates), min(rates), max(rates), len(rates))


def bench_network(
    network: Network, backends: Sequence[str], rounds: int, seconds: float
) -> Iterator[Measure]:
    """Measure a network on all cores with every batch size and every backend that is available."""
    threads = available_cores()
    for backend in backends:
        try:
            evaluator = make_evaluator(network, backend, threads)
        except BackendError:  # it is not here, or cannot run this network
            continue
        with closing(evaluator):
            for batch in BATCHES:
                rates = [
                    best_rate(evaluator, network.encode, [batch], [threads], seconds)[0]
                    for _ in range(rounds)
                ]
                yield Measure.of(f"{evaluator.name}, batches of {batch}", "evaluations/s", rates)


def selfplay_rates(
    evaluator: Evaluator, config: SelfPlayConfig, seconds: float, spec: GameSpec = DEFAULT_GAME
) -> dict[str, float]:
    """Measure the counts of `SelfPlayCounts` per second, once all games have started."""
    compile_selfplay(spec, isinstance(evaluator, IntegerEvaluator))
    progress, stop = SelfPlayCounts(), threading.Event()

    def work() -> None:
        settings: dict[str, Any] = {"spec": spec, "progress": progress, "stop": stop}
        play_games(evaluator, config, range(10**6), seed=0, on_game=lambda _: None, **settings)

    with running([work], stop, name="self-play"):
        while not progress.evaluations and not stop.wait(0.01):
            pass
        stop.wait(0.3)
        before, begun = asdict(progress), time.perf_counter()
        stop.wait(seconds)
        after, spent = asdict(progress), time.perf_counter() - begun
        stop.set()
    return {name: (after[name] - before[name]) / spent for name in before}


def bench_selfplay(
    evaluator: Evaluator, encoding: Encoding, *, sims: int, in_flight: int, rounds: int, seconds: float
) -> Iterator[Measure]:
    """Measure self-play of the game of a network's encoding, and the network alone, alternately.

    The network has the batches and callers with which it is fastest.
    """
    spec = get_game(encoding.GAME)
    config = SelfPlayConfig(sims=sims, in_flight=in_flight)
    if not spec.supports_tables:
        config = replace(config, tables=0)
    selfplay_rates(evaluator, config, 0.5, spec)
    groups = config.group_count
    callers = sorted({1, min(2, groups), max(1, groups // 2), groups})
    _, batch, threads = best_rate(evaluator, encoding, BATCHES[2:], callers, seconds / 8)
    tops, plays = [], []
    for _ in range(rounds):
        tops.append(best_rate(evaluator, encoding, [batch], [threads], seconds)[0])
        plays.append(selfplay_rates(evaluator, config, seconds, spec))
    evaluations, simulations = ([play[count] for play in plays] for count in ("evaluations", "simulations"))
    relative = [rate / top for rate, top in zip(evaluations, tops, strict=True)]
    yield Measure.of(f"{evaluator.name}, {threads} batches of {batch}", "evaluations/s", tops)
    yield Measure.of(f"self-play: {in_flight} games, {sims} visits", "evaluations/s", evaluations)
    yield Measure.of("self-play relative to the network alone", "ratio", relative)
    yield Measure.of("self-play", "simulations/s", simulations)
