"""The speed of networks and self-play, and what a generation of a run will take.

The two sides of a ratio take turns, so that a machine that slows down affects both.
"""

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from ckai.datasets.machine import available_cores
from ckai.models.encodings import Encoding
from ckai.models.inference.backends import best_rate, make_evaluator, sample_positions
from ckai.models.inference.evaluator import BackendError, Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import running
from ckai.models.network import Network, float32_copy
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.run.config import RunConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import SelfPlayCounts, compile_selfplay, memory, play_games

BATCHES = (1, 16, 64, 128, 256, 1024, 4096)
"""Batch sizes to measure networks with."""
EVALUATIONS = 0.85
"""Network evaluations per visit, on average."""
PLY_BYTES = 55
"""Disk space per ply in bytes: rows, headers and PDN."""
CORE_FLOPS = 2e11
"""Operations of a core a second: measured are 1.8e11 with the default network, 2.5e11 with a ResNet."""
LOSS_SECONDS, FEWEST = 120, 64
"""Most time of playing that a kill may cost by default, and the fewest games in flight for it."""


def summarize(name: str, unit: str, rates: Sequence[float]) -> dict[str, Any]:
    """Return the `name` of what was measured in several rounds, the `unit` and figures of its rates."""
    figures = {"median": statistics.median(rates), "least": min(rates), "most": max(rates)}
    return {"name": name, "unit": unit, **figures, "rounds": len(rates)}


def bench_network(
    network: Network, backends: Sequence[str], rounds: int, seconds: float
) -> Iterator[dict[str, Any]]:
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
                yield summarize(f"{evaluator.name}, batches of {batch}", "evaluations/s", rates)


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
) -> Iterator[dict[str, Any]]:
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
    yield summarize(f"{evaluator.name}, {threads} batches of {batch}", "evaluations/s", tops)
    yield summarize(f"self-play: {in_flight} games, {sims} visits", "evaluations/s", evaluations)
    yield summarize("self-play relative to the network alone", "ratio", relative)
    yield summarize("self-play", "simulations/s", simulations)


def estimate(config: RunConfig, rate: float, network_bytes: int) -> dict[str, float]:
    """Estimate `seconds`, and bytes of `memory` and `disk`, of a generation; `rate`: evaluations/s."""
    spec, games = get_game(config.game), config.games + config.gate.games
    return {
        "seconds": evaluations_of(config, games) / max(1.0, rate),
        "memory": memory(config.selfplay, spec),
        "disk": games * spec.plies * PLY_BYTES + network_bytes,
    }


def evaluations_of(config: RunConfig, games: int) -> float:
    """Estimate the network evaluations of games of self-play."""
    return games * config.selfplay.sims * get_game(config.game).plies * EVALUATIONS


def games_in_flight(config: RunConfig, network: Network) -> int:
    """Return how many games to play at the same time on a CPU: as set, or fewer of expensive ones.

    A kill loses half of each on average. The speed is estimated from the network's arithmetic, so that the
    same command gives the same games.
    """
    packed = float32_copy(network)
    rows = torch.from_numpy(network.encode.append_extra(sample_positions(1, network.encode)))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        packed(rows)
    rate = CORE_FLOPS * available_cores() / max(1, counter.get_total_flops())
    games = config.selfplay.in_flight
    while games > FEWEST and games / 2 * evaluations_of(config, 1) > LOSS_SECONDS * rate:
        games //= 2
    return games
