"""How fast the parts without a search are: rules, playouts, reading, training; and what a measure is."""

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
from ckai.pdn import from_game, write_game
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.playouts import playouts
from ckai.rl.search.playout_search import RolloutSearcher


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


def bench_playouts(rounds: int, seconds: float) -> Iterator[Measure]:
    """Random games from the start position, and vanilla MCTS with them."""
    start = np.int64(pack(Position.start())[0]), np.int64(pack(Position.start())[1])
    moves = int(playouts(Checkers(), start, 1000, 0)[3])
    games = max(1000, int(seconds * 15e6 / moves * 1000))

    def play(threads: int) -> float:
        done = [0] * threads

        def work(i: int) -> None:
            done[i] = playouts(Checkers(), start, games, i)[3]

        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(done)

    one: list[float] = []
    two: list[float] = []
    for _ in range(rounds):  # in turn, so that both meet the same machine
        one += rate(lambda: play(1), 1)
        two += rate(lambda: play(2), 1)
    yield measured("random games, one thread", "moves/s", one, "15 M")
    yield measured("random games, two threads", "moves/s", two)
    yield measured("two threads by one", "ratio", [b / a for a, b in zip(one, two, strict=True)], "2")
    for visits in (1_000, 100_000):
        searcher = RolloutSearcher(nodes=visits + 1)

        def search(searcher: RolloutSearcher = searcher, visits: int = visits) -> float:
            for _ in range(100_000 // visits):
                searcher.set_root(0, (int(start[0]), int(start[1])))
                searcher.run(np.array([visits], np.int32))
            return 100_000

        yield measured(
            f"vanilla MCTS, {visits:,} simulations, one thread", "simulations/s", rate(search, rounds),
            "OpenSpiel 7,000 in C++, 1,700 in Python",
        )  # fmt: skip


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

    yield measured(f"training, {model}, batches of {batch}", "rows/s", rate(work, rounds))
