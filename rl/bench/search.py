"""Speed of the search and of self-play, relative to the network alone."""

import resource
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import numpy as np

from ckai.datasets.machine import available_cores
from ckai.game import Position
from ckai.models.inference.backends import evaluations_per_second, make_evaluator, sample_positions
from ckai.models.inference.evaluator import BackendError, Evaluator
from ckai.models.inputs.encodings import Encoding, PlanesEncoding
from ckai.models.layers.network import Network
from ckai.rl.bench.rules import Measure, measured
from ckai.rl.engine.engine import THREADS, Engine
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.threads import running
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games

BATCHES = (1, 16, 64, 256, 1024)
"""Batch sizes to measure networks with."""
LIMITS = (0.02, 0.05, 0.2, 1.0, 5.0)
"""Limits of time to measure searches with, in seconds."""
SEARCH_NODES = 2_000_000
"""Capacity of their tree: more than the fastest network fills."""


def ceiling(
    evaluator: Evaluator, batch: int, threads: int, seconds: float, encoding: Encoding | None = None
) -> float:
    """Measure the evaluations/s of an evaluator alone, called from several threads.

    Args:
        evaluator: the evaluator.
        batch: positions per call.
        threads: threads that call at the same time.
        seconds: duration of the measurement.
        encoding: encoding of the network; default: that of checkers.
    """
    sample = sample_positions(min(batch, 256), encoding or PlanesEncoding())
    rows = np.resize(sample, (batch, sample.shape[1]))
    return evaluations_per_second(evaluator, rows, threads, seconds)


def bench_network(
    networks: Sequence[Network], backends: Sequence[str], rounds: int, seconds: float
) -> Iterator[Measure]:
    """Measure every backend that is available with every network and batch size, on all cores."""
    threads = available_cores()
    for network in networks:
        for backend in backends:
            try:
                evaluator = make_evaluator(network, backend, threads)
            except BackendError:
                continue
            for batch in BATCHES:
                rates = [ceiling(evaluator, batch, threads, seconds, network.encode) for _ in range(rounds)]
                yield measured(f"{evaluator.name}, batches of {batch}", "evaluations/s", rates)
            evaluator.close()


def selfplay_rates(
    evaluator: Evaluator, config: SelfPlayConfig, seconds: float, spec: GameSpec = DEFAULT_GAME
) -> dict[str, float]:
    """Measure the counts of `SelfPlayCounts` per second, once all games have started."""
    compile_selfplay(spec, evaluator)
    progress, stop = SelfPlayCounts(), threading.Event()

    def work() -> None:
        play_games(
            evaluator,
            config,
            range(10**6),
            seed=0,
            on_game=lambda _: None,
            spec=spec,
            progress=progress,
            stop=stop,
        )

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
    evaluator: Evaluator,
    *,
    sims: int,
    in_flight: int,
    rounds: int,
    seconds: float,
    encoding: Encoding | None = None,
) -> Iterator[Measure]:
    """Measure self-play and the network alone, alternately.

    The game is that of the network's encoding; default: checkers.
    """
    encoding = encoding or PlanesEncoding()
    spec = get_game(encoding.GAME)
    config = _settings(spec, sims, in_flight)
    threads = config.group_count
    batch = -(-in_flight // threads)
    selfplay_rates(evaluator, config, 0.5, spec)
    tops, plays = [], []
    for _ in range(rounds):
        tops.append(ceiling(evaluator, batch, threads, seconds, encoding))
        plays.append(selfplay_rates(evaluator, config, seconds, spec))
    evaluations, simulations = ([play[count] for play in plays] for count in ("evaluations", "simulations"))

    def relative(rates: Sequence[float]) -> list[float]:
        return [rate / top for rate, top in zip(rates, tops, strict=True)]

    yield measured(f"{evaluator.name}, batches of {batch}", "evaluations/s", tops)
    what = f"self-play: {in_flight} games, {sims} visits"
    yield measured(what, "evaluations/s", evaluations, "limit: the network alone")
    yield measured("self-play relative to the network alone", "ratio", relative(evaluations), "ideal: 1")
    yield measured("its simulations relative to the network alone", "ratio", relative(simulations))
    yield measured("self-play", "simulations/s", simulations)
    yield measured("peak resident memory so far", "MiB", [resident()])


def resident() -> float:
    """Return the peak resident memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _settings(spec: GameSpec, sims: int, in_flight: int) -> SelfPlayConfig:
    """Return settings of self-play, without tables for games that have none."""
    config = SelfPlayConfig(sims=sims, in_flight=in_flight)
    return config if spec.supports_tables else replace(config, tables=0)


def bench_games(
    evaluator: Evaluator, *, sims: int, games: int, in_flight: int, spec: GameSpec = DEFAULT_GAME
) -> Iterator[Measure]:
    """Measure whole games, including the slow end when few games are left."""
    progress = SelfPlayCounts()
    config = _settings(spec, sims, min(games, in_flight))
    compile_selfplay(spec, evaluator)
    begun = time.perf_counter()
    play_games(evaluator, config, range(games), seed=0, on_game=lambda _: None, spec=spec, progress=progress)
    spent = time.perf_counter() - begun
    yield measured(f"self-play, {games} whole games at {sims} visits", "games/minute", [60 * games / spent])
    yield measured("the same", "games/hour", [3600 * games / spent])
    yield measured("the same", "hops/s", [progress.rows / spent])


def bench_search(
    network: Network,
    backends: Sequence[str],
    rounds: int,
    seconds: float,
    limits: Sequence[float] = LIMITS,
) -> Iterator[Measure]:
    """Measure single searches of the first position by time, each in an empty tree.

    Args:
        network: a network for checkers.
        backends: those that are not available, or cannot run this network, are left out.
        rounds: searches for each time limit.
        seconds: duration of a measurement of the network alone, to which the searches are compared: in large
            batches on all cores.
        limits: seconds of the searches.
    """
    threads = available_cores()
    for backend in backends:
        try:
            evaluator = make_evaluator(network, backend, THREADS)
        except BackendError:
            continue
        with Engine(evaluator, nodes=SEARCH_NODES) as engine:
            engine.search(Position.start(), seconds=0.5)
            relative = []
            for limit in limits:
                visits, ratios, evaluated = [], [], []
                for _ in range(rounds):
                    top = ceiling(evaluator, 256, threads, seconds, network.encode)
                    engine.forget()
                    result = engine.search(Position.start(), seconds=limit)
                    visits.append(float(result.sims))
                    ratios.append(result.sims / result.seconds / top)
                    evaluated.append(result.evaluations / result.sims)
                what = f"{backend}, {limit * 1000:g} ms"
                yield measured(what, "simulations", visits)
                relative += [
                    measured(f"{what}, by the network alone", "ratio", ratios),
                    measured(f"{what}, evaluated of all simulations", "ratio", evaluated),
                ]
            yield from relative
        evaluator.close()


def bench_tree(rounds: int, seconds: float, *, sims: int, in_flight: int) -> Iterator[Measure]:
    """Measure the search without a network, an upper limit of its speed."""
    config = SelfPlayConfig(sims=sims, in_flight=in_flight)
    selfplay_rates(UniformEvaluator(), config, 0.5)
    rates = [selfplay_rates(UniformEvaluator(), config, seconds)["simulations"] for _ in range(rounds)]
    yield measured(f"search without a network, {config.group_count} threads", "simulations/s", rates)
