"""What `ckai bench` measures: the speed of rules, files, networks, searches and self-play.

The two sides of a ratio take turns, so that a machine that slows down affects both.
"""

import io
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from ckai.datasets.machine import available_cores
from ckai.game import Game, Position, perft
from ckai.models.inference.backends import best_rate, make_evaluator
from ckai.models.inference.evaluator import BackendError, Evaluator
from ckai.models.inputs.encodings import Encoding
from ckai.models.layers.network import Network
from ckai.pdn import from_game, write_game
from ckai.rl.engine.tree import THREADS, TreeEngine
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.playouts import playouts
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.inline_search import InlineSearcher
from ckai.rl.search.threads import run_all, running
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.warmup import compile_selfplay

BATCHES = (1, 16, 64, 128, 256, 1024, 4096)
"""Batch sizes to measure networks with."""
LIMITS = (0.02, 0.05, 0.2, 1.0, 5.0)
"""Limits of time to measure searches with, in seconds."""
SEARCH_NODES = 2_000_000
"""Capacity of their tree: more than the fastest network fills."""
PLAYOUTS = 100_000
"""Random games of a thread in a round."""


@dataclass(frozen=True)
class Measure:
    """The speed of one thing in several rounds."""

    name: str
    unit: str
    median: float
    least: float
    most: float
    rounds: int
    against: str = ""
    """The ideal value or the upper limit to compare with, if there is one."""


def measured(name: str, unit: str, rates: list[float], against: str = "") -> Measure:
    """Summarise the values of several rounds."""
    return Measure(name, unit, statistics.median(rates), min(rates), max(rates), len(rates), against)


def rate(work: Callable[[], float], rounds: int) -> list[float]:
    """Return the amounts of work per second of rounds, after a warm-up; `work` returns its amount."""
    work()
    rates = []
    for _ in range(rounds):
        begun = time.perf_counter()
        amount = work()
        rates.append(amount / (time.perf_counter() - begun))
    return rates


def bench_rules(rounds: int) -> Iterator[Measure]:
    """Measure move generation."""
    start = Position.start()
    yield measured("perft, depth 9, one thread", "nodes/s", rate(lambda: perft(start, 9), rounds))


def bench_parse(rounds: int, folder: Path) -> Iterator[Measure]:
    """Measure the conversion of PDN to rows, including the files, on games of random moves."""
    from ckai.datasets.convert import parse_files

    rng = random.Random(0)
    text = io.StringIO()
    for n in range(40):
        game = Game()
        while len(game.moves) < 50 and game.position.legal_moves():
            game.push(rng.choice(game.position.legal_moves()))
        text.write(write_game(from_game(game, {"Event": f"game {n}"}, "*")))
    source = folder / "bench.pdn"
    source.write_text(text.getvalue() * 100, encoding="utf-8")
    rows: list[int] = []

    def work() -> float:
        tally = parse_files([source], folder / "bench.parquet")
        rows.append(tally.rows)
        return tally.games_read

    games = rate(work, rounds)
    yield measured("PDN to rows", "games/s", games)
    yield measured("PDN to rows", "rows/s", [r * rows[0] / 4000 for r in games])


def bench_playouts(rounds: int) -> Iterator[Measure]:
    """Measure random games from the start position, and vanilla MCTS with random playouts."""
    first, second = pack(Position.start())
    start = np.int64(first), np.int64(second)

    def play(threads: int) -> float:
        done = [0] * threads

        def work(i: int) -> None:
            done[i] = playouts(Checkers(), start, PLAYOUTS, i, np.empty(0, np.uint8))[3]

        run_all([partial(work, i) for i in range(threads)], threading.Event())
        return sum(done)

    one: list[float] = []
    two: list[float] = []
    for _ in range(rounds):  # alternately, so that both run under the same conditions
        one += rate(lambda: play(1), 1)
        two += rate(lambda: play(2), 1)
    yield measured("random games, one thread", "moves/s", one)
    yield measured("random games, two threads", "moves/s", two)
    yield measured("two threads by one", "ratio", [b / a for a, b in zip(one, two, strict=True)], "ideal: 2")
    for visits in (1_000, 100_000):
        searcher = InlineSearcher(RolloutEvaluator(), nodes=visits + 1)

        def search(searcher: InlineSearcher = searcher, visits: int = visits) -> float:
            for _ in range(100_000 // visits):
                searcher.set_root(0, (first, second))
                searcher.run(np.array([visits], np.int32))
            return 100_000

        name = f"vanilla MCTS, {visits:,} simulations, one thread"
        yield measured(name, "simulations/s", rate(search, rounds))


def bench_training(rounds: int, network: Network) -> Iterator[Measure]:
    """Measure training steps (forward, backward, optimizer) of a network for checkers, on rows in memory."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(available_cores())
    network.train()
    optimizer = torch.optim.AdamW(network.parameters())
    batch = 512
    board = torch.randint(-1, 2, (batch, 32), dtype=torch.int8)
    jumper, halfmove_clock = torch.full((batch,), -1, dtype=torch.int8), torch.zeros(batch, dtype=torch.int16)
    label = torch.randint(0, 128, (batch,))

    def work() -> float:
        for _ in range(8):
            logits, value = network(board, jumper, halfmove_clock)
            loss = functional.cross_entropy(logits, label) + value.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return 8 * batch

    yield measured(f"training, {network.architecture}, batches of {batch}", "rows/s", rate(work, rounds))


def ceiling(evaluator: Evaluator, batch: int, threads: int, seconds: float, encoding: Encoding) -> float:
    """Return the evaluations/s of an evaluator alone, called from several threads in batches."""
    return best_rate(evaluator, encoding, [batch], [threads], seconds)[0]


def bench_network(
    network: Network, backends: Sequence[str], rounds: int, seconds: float
) -> Iterator[Measure]:
    """Measure a network on all cores with every batch size and every backend that is available."""
    threads = available_cores()
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
    evaluator: Evaluator, encoding: Encoding, *, sims: int, in_flight: int, rounds: int, seconds: float
) -> Iterator[Measure]:
    """Measure self-play of the game of a network's encoding, and the network alone, alternately.

    The network has the batches and callers with which it is fastest.
    """
    spec = get_game(encoding.GAME)
    config = _settings(spec, sims, in_flight)
    selfplay_rates(evaluator, config, 0.5, spec)
    groups = config.group_count
    callers = sorted({1, min(2, groups), max(1, groups // 2), groups})
    _, batch, threads = best_rate(evaluator, encoding, BATCHES[2:], callers, seconds / 8)
    tops, plays = [], []
    for _ in range(rounds):
        tops.append(ceiling(evaluator, batch, threads, seconds, encoding))
        plays.append(selfplay_rates(evaluator, config, seconds, spec))
    evaluations, simulations = ([play[count] for play in plays] for count in ("evaluations", "simulations"))

    def relative(rates: Sequence[float]) -> list[float]:
        return [rate / top for rate, top in zip(rates, tops, strict=True)]

    yield measured(f"{evaluator.name}, {threads} batches of {batch}", "evaluations/s", tops)
    what = f"self-play: {in_flight} games, {sims} visits"
    yield measured(what, "evaluations/s", evaluations, "limit: the network alone")
    yield measured("self-play relative to the network alone", "ratio", relative(evaluations), "ideal: 1")
    yield measured("its simulations relative to the network alone", "ratio", relative(simulations))
    yield measured("self-play", "simulations/s", simulations)
    yield measured("resident memory", "MiB", [psutil.Process().memory_info().rss / 2**20])


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


def bench_search(network: Network, backends: Sequence[str], rounds: int, seconds: float) -> Iterator[Measure]:
    """Measure single searches of the first position of checkers by time, each in an empty tree.

    They are compared to the network alone, in large batches on all cores for some seconds. Backends that are
    not available, or cannot run this network, are left out.
    """
    threads = available_cores()
    for backend in backends:
        try:
            evaluator = make_evaluator(network, backend, THREADS)
        except BackendError:
            continue
        with TreeEngine(evaluator, nodes=SEARCH_NODES) as engine:
            engine.search(Position.start(), seconds=0.5)
            relative = []
            for limit in LIMITS:
                visits, ratios, evaluated = [], [], []
                for _ in range(rounds):
                    top = ceiling(evaluator, 256, threads, seconds, network.encode)
                    engine.new_game()
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
