"""How fast the search is, beside the network's own speed."""

import os
import resource
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import numpy as np

from ckai.game import Position
from ckai.models.inference.choose import BACKENDS, evaluations_per_second, make_evaluator, sample_positions
from ckai.models.inference.evaluator import BackendError, Evaluator
from ckai.models.inputs.encodings import Encoding, PlanesEncoding
from ckai.models.layers.network import Network
from ckai.rl.bench.rules import Measure, measured
from ckai.rl.engine import Engine
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.workers import play_games

BATCHES = (1, 16, 64, 256, 1024)
"""Sizes of batches that networks are measured with."""


def ceiling(
    evaluator: Evaluator, batch: int, threads: int, seconds: float, encoding: Encoding | None = None
) -> float:
    """Evaluations/s of an evaluator alone, as many threads calling it as self-play has."""
    sample = sample_positions(min(batch, 256), encoding or PlanesEncoding())
    rows = np.resize(sample, (batch, sample.shape[1]))
    return evaluations_per_second(evaluator, rows, threads, seconds)


def bench_network(networks: Sequence[Network], rounds: int, seconds: float) -> Iterator[Measure]:
    """Every backend that can be had here, with every network and size of batch, all cores at work."""
    threads = os.cpu_count() or 1
    for network in networks:
        for backend in BACKENDS:
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
    """What self-play does in a second, once all games are under way."""
    progress, stop = SelfPlayCounts(), threading.Event()
    ended: list[BaseException] = []

    def work() -> None:
        try:
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
        except BaseException as error:
            ended.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    while not progress.evaluations and worker.is_alive():
        time.sleep(0.01)
    time.sleep(0.3)
    before, begun = asdict(progress), time.perf_counter()
    time.sleep(seconds)
    after, spent = asdict(progress), time.perf_counter() - begun
    stop.set()
    worker.join()
    if ended:
        raise ended[0]
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
    """Self-play beside the network's own speed, in turn, so that both meet the same machine.

    The game is that of the network's encoding; checkers if it is None.
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
    yield measured(f"{evaluator.name}, batches of {batch}", "evaluations/s", tops)
    rates = [play["evaluations"] for play in plays]
    yield measured(
        f"self-play: {in_flight} games, {sims} visits", "evaluations/s", rates, "the network alone"
    )
    ratios = [mine / top for mine, top in zip(rates, tops, strict=True)]
    yield measured("self-play by the network alone", "ratio", ratios, "1")
    yield measured("self-play", "simulations/s", [play["simulations"] for play in plays])
    yield measured("largest resident memory so far", "MiB", [resident()])


def resident() -> float:
    """Most memory that this process has had resident, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _settings(spec: GameSpec, sims: int, in_flight: int) -> SelfPlayConfig:
    """The settings of self-play; no tables, which not every game has."""
    config = SelfPlayConfig(sims=sims, in_flight=in_flight)
    return config if spec.supports_tables else replace(config, tables=0)


def bench_games(
    evaluator: Evaluator, *, sims: int, games: int, spec: GameSpec = DEFAULT_GAME
) -> Iterator[Measure]:
    """Whole games from the first to the last, with the slow end when few are left."""
    progress = SelfPlayCounts()
    config = _settings(spec, sims, min(games, 512))
    begun = time.perf_counter()
    play_games(evaluator, config, range(games), seed=0, on_game=lambda _: None, spec=spec, progress=progress)
    spent = time.perf_counter() - begun
    yield measured(
        f"self-play, {games} whole games at {sims} visits", "games/minute", [60 * games / spent],
        "15 OpenSpiel's Python at 20 visits",
    )  # fmt: skip
    yield measured("the same", "games/hour", [3600 * games / spent])
    yield measured("the same", "hops/s", [progress.rows / spent])


def bench_search(evaluator: Evaluator, rounds: int, seconds: float) -> Iterator[Measure]:
    """One game, one search at a time, beside the network's own speed with large batches on all cores."""
    threads = os.cpu_count() or 1
    engine = Engine(evaluator)
    engine.search(Position.start(), sims=5000)
    for limit in (0.05, 0.2, 1.0):
        rates, ratios = [], []
        for _ in range(rounds):
            top = ceiling(evaluator, 256, threads, seconds)
            engine.forget()
            found = engine.search(Position.start(), seconds=limit)
            rates.append(found.sims / found.seconds)
            ratios.append(rates[-1] / top)
        yield measured(f"one search of {limit:g} s", "simulations/s", rates)
        yield measured("the same by the network alone", "ratio", ratios, "1")


def bench_tree(rounds: int, seconds: float) -> Iterator[Measure]:
    """The search without a network: what it can do at most."""
    config = SelfPlayConfig(sims=200, in_flight=512)
    selfplay_rates(UniformEvaluator(), config, 0.5)
    rates = [selfplay_rates(UniformEvaluator(), config, seconds)["simulations"] for _ in range(rounds)]
    yield measured(f"search without a network, {config.group_count} threads", "simulations/s", rates)
