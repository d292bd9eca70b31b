"""Speed of the parts without a search: rules, playouts, PDN reading, training."""

import io
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckai.datasets.machine import available_cores
from ckai.game import Game, Position, perft
from ckai.pdn import from_game, write_game
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.playouts import playouts
from ckai.rl.search.inline_search import InlineSearcher
from ckai.rl.search.threads import run_all

if TYPE_CHECKING:
    from ckai.models.layers.network import Network


@dataclass(frozen=True)
class Measure:
    """A speed measurement.

    Attributes:
        name: what was measured.
        unit: unit of the figures, such as `moves/s`.
        median: median of the rounds.
        least: smallest value of a round.
        most: largest value of a round.
        rounds: number of rounds.
        against: the ideal value or upper limit to compare with; empty if there is none.
    """

    name: str
    unit: str
    median: float
    least: float
    most: float
    rounds: int
    against: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)


def measured(name: str, unit: str, rates: list[float], against: str = "") -> Measure:
    """Summarise the values of several rounds."""
    return Measure(name, unit, statistics.median(rates), min(rates), max(rates), len(rates), against)


def rate(work: Callable[[], float], rounds: int) -> list[float]:
    """Measure the amount of work per second, in `rounds` rounds after a warm-up.

    Args:
        work: does some work and returns its amount.
        rounds: number of rounds.
    """
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
    nodes = rate(lambda: perft(start, 9), rounds)
    yield measured("perft, depth 9, one thread", "nodes/s", nodes)


def bench_parse(rounds: int, folder: Path) -> Iterator[Measure]:
    """Measure the conversion of PDN to rows, including the files, on games of random moves.

    Args:
        rounds: number of rounds.
        folder: folder for temporary files.
    """
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
    yield measured("PDN to rows", "games/s", games)
    yield measured("PDN to rows", "rows/s", [r * rows[0] / 4000 for r in games])


def bench_playouts(rounds: int, seconds: float) -> Iterator[Measure]:
    """Measure random games from the start position, and vanilla MCTS with random playouts."""
    start = np.int64(pack(Position.start())[0]), np.int64(pack(Position.start())[1])
    moves = int(playouts(Checkers(), start, 1000, 0)[3])
    games = max(1000, int(seconds * 15e6 / moves * 1000))

    def play(threads: int) -> float:
        done = [0] * threads

        def work(i: int) -> None:
            done[i] = playouts(Checkers(), start, games, i)[3]

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
                searcher.set_root(0, (int(start[0]), int(start[1])))
                searcher.run(np.array([visits], np.int32))
            return 100_000

        name = f"vanilla MCTS, {visits:,} simulations, one thread"
        yield measured(name, "simulations/s", rate(search, rounds))


def bench_training(rounds: int, network: "Network") -> Iterator[Measure]:
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
