"""How fast everything is here: each measure warm, repeated, with its unit and what to hold it against."""

import io
import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ckai.game import Game, Position, perft
from ckai.models.inference import POSITION_BYTES, Evaluator
from ckai.pdn import from_game, write_game
from ckai.rl.engine import Engine
from ckai.rl.evaluators import UniformEvaluator
from ckai.rl.selfplay import Progress, SelfPlayConfig, play_games


@dataclass(frozen=True)
class Measure:
    """One thing measured."""

    name: str
    unit: str
    median: float
    least: float
    most: float
    rounds: int
    against: str = ""
    """A peer or a limit to hold it against."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def measured(name: str, unit: str, rates: list[float], against: str = "") -> Measure:
    """A measure of several rounds."""
    return Measure(name, unit, statistics.median(rates), min(rates), max(rates), len(rates), against)


def rate(work: Callable[[], float], rounds: int) -> list[float]:
    """Amount of work a second, `rounds` times after one round that does not count."""
    work()
    rates = []
    for _ in range(rounds):
        begun = time.perf_counter()
        amount = work()
        rates.append(amount / (time.perf_counter() - begun))
    return rates


def bench_rules(rounds: int) -> Iterator[Measure]:
    """Move generation."""
    start = Position.start()
    nodes = rate(lambda: perft(start, 9), rounds)
    yield measured("perft, depth 9, one thread", "nodes/s", nodes, "163 M plain C, 0.43 M py-draughts")


def bench_parse(rounds: int, folder: Path) -> Iterator[Measure]:
    """PDN to rows, with files written, on games of random moves."""
    from ckai.datasets.convert import parse_files

    rng = random.Random(0)
    text = io.StringIO()
    for n in range(40):
        game = Game()
        while len(game.moves) < 50 and game.position.legal_moves():
            game.push(rng.choice(game.position.legal_moves()))
        text.write(write_game(from_game(game, {"Event": f"game {n}"}, "*")))
    source = folder / "bench.pdn"
    source.write_text(text.getvalue() * 100)
    rows: list[int] = []

    def work() -> float:
        tally = parse_files([source], folder / "bench.parquet")
        rows.append(tally.rows)
        return tally.games_read

    games = rate(work, rounds)
    yield measured("PDN to rows", "games/s", games, "22,000 archive games in 3 s: 7,300")
    yield measured("PDN to rows", "rows/s", [r * rows[0] / 4000 for r in games])


def ceiling(evaluator: Evaluator, batch: int, threads: int, seconds: float) -> float:
    """Evaluations/s of an evaluator alone, as many threads calling it as self-play has."""
    import torch

    rng = random.Random(1)
    position, boards = Position.start(), np.zeros((batch, POSITION_BYTES), np.int8)
    for row in boards:
        moves = position.legal_moves()
        position = position.push(rng.choice(moves)) if moves else Position.start()
        row[:32], row[32], row[33] = position.board, position.jumper, min(position.quiet, 127)
    counts = [0] * threads
    barrier = threading.Barrier(threads + 1)
    end = [0.0]

    def work(number: int) -> None:
        torch.set_num_threads(1)
        logits, values = np.zeros((batch, 128), np.float32), np.zeros(batch, np.float32)
        evaluator.evaluate(boards, logits, values)
        barrier.wait()
        while time.perf_counter() < end[0]:
            evaluator.evaluate(boards, logits, values)
            counts[number] += batch

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    begun = time.perf_counter()
    end[0] = begun + 3600
    barrier.wait()
    begun = time.perf_counter()
    end[0] = begun + seconds
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - begun)


def selfplay_rates(evaluator: Evaluator, config: SelfPlayConfig, seconds: float) -> dict[str, float]:
    """What self-play does in a second, once all games are under way."""
    progress, stop = Progress(), threading.Event()
    ended: list[BaseException] = []

    def work() -> None:
        try:
            play_games(
                evaluator, config, range(10**6), seed=0, on_game=lambda _: None, progress=progress, stop=stop
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
    evaluator: Evaluator, *, sims: int, in_flight: int, rounds: int, seconds: float
) -> Iterator[Measure]:
    """Self-play beside the network's own speed, in turn, so that both meet the same machine."""
    config = SelfPlayConfig(sims=sims, in_flight=in_flight)
    threads = config.group_count
    batch = -(-in_flight // threads)
    selfplay_rates(evaluator, config, 0.5)
    tops, plays = [], []
    for _ in range(rounds):
        tops.append(ceiling(evaluator, batch, threads, seconds))
        plays.append(selfplay_rates(evaluator, config, seconds))
    name = f"{evaluator.name}, batches of {batch}, {threads} threads"
    yield measured(f"network alone: {name}", "evaluations/s", tops)
    rates = [play["evaluations"] for play in plays]
    yield measured(
        f"self-play: {in_flight} games, {sims} visits", "evaluations/s", rates, "the network alone"
    )
    ratios = [mine / top for mine, top in zip(rates, tops, strict=True)]
    yield measured("self-play by the network alone", "ratio", ratios, "1")
    yield measured("self-play", "simulations/s", [play["simulations"] for play in plays])


def bench_games(evaluator: Evaluator, *, sims: int, games: int) -> Iterator[Measure]:
    """Whole games from the first to the last, with the slow end when few are left."""
    progress = Progress()
    config = SelfPlayConfig(sims=sims, in_flight=min(games, 512))
    begun = time.perf_counter()
    play_games(evaluator, config, range(games), seed=0, on_game=lambda _: None, progress=progress)
    spent = time.perf_counter() - begun
    yield measured(
        f"self-play, {games} whole games at {sims} visits", "games/minute", [60 * games / spent],
        "15 OpenSpiel's Python at 20 visits",
    )  # fmt: skip
    yield measured("self-play", "moves/s", [progress.rows / spent])


def bench_search(evaluator: Evaluator, rounds: int) -> Iterator[Measure]:
    """One game, one search at a time."""
    engine = Engine(evaluator)
    engine.search(Position.start(), sims=50)
    for seconds in (0.05, 0.2, 1.0):
        rates = []
        for _ in range(rounds):
            fresh = Engine(evaluator)
            found = fresh.search(Position.start(), seconds=seconds)
            rates.append(found.sims / found.seconds)
        yield measured(f"one search of {seconds:g} s", "simulations/s", rates)


def bench_training(rounds: int, model: str) -> Iterator[Measure]:
    """Forward, backward and step of a network's training on rows in memory."""
    import torch
    from torch.nn import functional

    from ckai.models.registry import build

    torch.set_num_threads(os.cpu_count() or 1)
    network = build(model).train()
    optimizer = torch.optim.AdamW(network.parameters())
    batch = 512
    board = torch.randint(-1, 2, (batch, 32), dtype=torch.int8)
    jumper, quiet = torch.full((batch,), -1, dtype=torch.int8), torch.zeros(batch, dtype=torch.int16)
    label = torch.randint(0, 128, (batch,))

    def work() -> float:
        for _ in range(8):
            logits, value = network(board, jumper, quiet)
            loss = functional.cross_entropy(logits, label) + value.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return 8 * batch

    yield measured(f"training, {model}, batches of {batch}", "rows/s", rate(work, rounds))


def bench_tree(rounds: int, seconds: float) -> Iterator[Measure]:
    """The search without a network: what it can do at most."""
    config = SelfPlayConfig(sims=200, in_flight=512)
    selfplay_rates(UniformEvaluator(), config, 0.5)
    rates = [selfplay_rates(UniformEvaluator(), config, seconds)["simulations"] for _ in range(rounds)]
    yield measured(f"search without a network, {config.group_count} threads", "simulations/s", rates)
