"""Random playouts and UCT with playouts: moves/s on one thread and two, simulations/s.

    python benchmarks/search_speed.py

Warm; the median of five.
"""

import statistics
import threading
import time
from collections.abc import Callable

import numpy as np

from ckai.game import Position
from ckai.rl.checkers import Checkers, pack
from ckai.rl.connect4 import Connect4
from ckai.rl.playouts import playouts
from ckai.rl.rollouts import RolloutSearcher

RUNS = 5
GAMES = 100_000
START = tuple(np.int64(word) for word in pack(Position.start()))


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """What the work says it did, and the seconds it took."""
    begun = time.perf_counter()
    done = work()
    return done, time.perf_counter() - begun


def median(work: Callable[[], float]) -> float:
    """Median of work done a second."""
    work()
    return statistics.median(done / seconds for done, seconds in (timed(work) for _ in range(RUNS)))


def moves_played(threads: int) -> float:
    """Whole moves of GAMES games on each thread."""
    moves = [0] * threads

    def play(i: int) -> None:
        moves[i] = playouts(Checkers(), START, GAMES, i)[3]

    workers = [threading.Thread(target=play, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(moves)


def simulations(game: object, state: tuple[int, int], visits: int) -> float:
    """A search of one position from nothing."""
    searcher = RolloutSearcher(nodes=visits + 1, game=game)
    searcher.set_root(0, state)
    searcher.run(np.array([visits], np.int32))
    return float(searcher.root(0)["visits"])


def main() -> None:
    won, drawn, lost, moves, hops = playouts(Checkers(), START, GAMES, 1)
    print(
        f"a random game: {moves / GAMES:.1f} moves, {hops / GAMES:.1f} hops; "
        f"{won / GAMES:.3f} won, {drawn / GAMES:.3f} drawn, {lost / GAMES:.3f} lost by the first side"
    )
    one, two = median(lambda: moves_played(1)), median(lambda: moves_played(2))
    print(f"{'playouts, one thread':34}{one / 1e6:8.2f} million moves/s")
    print(f"{'playouts, two threads':34}{two / 1e6:8.2f} million moves/s  ({two / one:.2f} times)")
    for visits in (1_000, 10_000, 100_000):
        speed = median(lambda n=visits: simulations(Checkers(), START, n))
        print(f"{f'UCT, checkers, {visits:,} simulations':34}{speed:8,.0f} simulations/s")
    speed = median(lambda: simulations(Connect4(), (0, 0), 100_000))
    print(f"{'UCT, Connect-4, 100,000 simulations':34}{speed:8,.0f} simulations/s")


if __name__ == "__main__":
    main()
