"""The solver of Connect-4: measure it, and make the files that are installed with it.

    python benchmarks/games/connect4.py first                    # solve the first position from nothing
    python benchmarks/games/connect4.py book                     # scores of positions with 4 stones
    python benchmarks/games/connect4.py classes --per-class 200  # the positions of `ckai evaluate --solved`

A killed `book` continues when it is started again. The files are made in the current folder; those of the
package are `rl/games/connect4-*.npz`.
"""

import argparse
import random
import time
from itertools import count
from pathlib import Path

import numpy as np

from ckai.datasets.files import whole_file
from ckai.rl.analysis.solved import CLASSES, NO_SCORE
from ckai.rl.games.connect4 import (
    BOOK,
    BOOK_STONES,
    BOTTOM,
    SPEC,
    SQUARES,
    Connect4Solver,
    mirrored,
    solved_value,
)
from ckai.rl.games.spec import GridPosition

SAVE_SECONDS = 20.0
PHASES = {"Begin": (8, 13), "Middle": (14, 28), "End": (29, 40)}
"""Fewest and most stones. There are few positions with fewer than 8, and each takes long."""
EASY, MEDIUM = 13, 28
"""Most plies until the end in easy and in medium positions."""


def key_of(position: GridPosition) -> int:
    """Return the key of a position or of its mirror image, whichever is smaller."""
    own, other = position.state
    key = own + (own | other) + BOTTOM
    return min(key, int(mirrored(np.int64(key))))


def score_of(solver: Connect4Solver, position: GridPosition) -> int:
    """Return the score for the side to move, also where the game is over."""
    own, other = position.state
    outcome = position.outcome()
    if outcome is None:
        return solver.score_of(own, own | other)
    return 0 if outcome.winner is None else -(SQUARES // 2 + 1 - ((own | other).bit_count() + 1) // 2)


def first(megabytes: int) -> None:
    Connect4Solver(1, book=False).score_of(1 << 7, 1 | 1 << 7 | 1 << 14)  # compiles
    for book in (True, False):
        solver, begun = Connect4Solver(megabytes, book=book), time.perf_counter()
        truth = solver.solve(SPEC.position())
        seconds = time.perf_counter() - begun
        print(
            f"{BOOK if book else 'no book'}: value {truth.value}, {truth.plies} plies; {seconds:.2f} s",
            flush=True,
        )


def save_book(path: Path, found: dict[int, tuple[int, int]]) -> None:
    keys = sorted(found)
    with whole_file(path) as file:
        bounds = np.array([found[key] for key in keys], np.int8)
        np.savez_compressed(file, keys=np.array(keys, np.int64), bounds=bounds)


def book(path: Path, megabytes: int) -> None:
    with np.load(path if path.exists() else BOOK) as file:
        bounds = map(tuple, file["bounds"].tolist())
        found = dict(zip(file["keys"].tolist(), bounds, strict=True))
    positions = {key_of(each): each for each in SPEC.openings(BOOK_STONES)}
    missing = [key for key in positions if len(set(found.get(key, (0, 1)))) > 1]
    solver, saved = Connect4Solver(megabytes), time.monotonic()
    for left, key in zip(reversed(range(len(missing))), missing, strict=True):
        found[key] = (score_of(solver, positions[key]),) * 2
        if time.monotonic() - saved > SAVE_SECONDS or not left:
            save_book(path, found)
            saved = time.monotonic()
            print(f"{len(positions) - left:,} of {len(positions):,} positions", flush=True)


def random_position(rng: random.Random, least: int, most: int) -> GridPosition:
    """Return a position with so many stones after random moves, where the game has not ended."""
    while True:
        position = SPEC.position()
        for _ in range(rng.randint(least, most)):
            if moves := position.legal_moves():
                position = position.push(rng.choice(moves))
        if position.outcome() is None and least <= sum(map(int.bit_count, position.state)):
            return position


def draw_classes(path: Path, per_class: int, seed: int, megabytes: int) -> None:
    rng, solver, seen = random.Random(seed), Connect4Solver(megabytes), set[int]()
    found = dict.fromkeys(CLASSES, 0)
    states, moves, classes = [], [], []
    for phase, stones in PHASES.items():
        for _ in count():
            if all(number >= per_class for name, number in found.items() if name.startswith(phase)):
                break
            position = random_position(rng, *stones)
            own, other = position.state
            plies = solved_value(score_of(solver, position), (own | other).bit_count()).plies
            name = f"{phase}-{'Easy' if plies <= EASY else 'Medium' if plies <= MEDIUM else 'Hard'}"
            if key_of(position) in seen or found.get(name, per_class) >= per_class:
                continue
            seen.add(key_of(position))
            found[name] += 1
            states.append((own, own | other))
            classes.append(CLASSES.index(name))
            moves.append([NO_SCORE] * 7)
            for move in position.legal_moves():
                moves[-1][move.action] = -score_of(solver, position.push(move))
            print(", ".join(f"{name} {n}" for name, n in found.items()), f"of {per_class}", flush=True)
    with whole_file(path) as file:
        small = {"moves": np.array(moves, np.int8), "classes": np.array(classes, np.int8)}
        np.savez_compressed(file, states=np.array(states, np.int64), **small)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["first", "book", "classes"])
    parser.add_argument("--megabytes", type=int, default=1000, help="memory of the solver's table")
    parser.add_argument("--per-class", type=int, default=200, help="positions of each class")
    parser.add_argument("--seed", type=int, default=1, help="of the classes")
    parser.add_argument("-o", "--output", type=Path, help="file to write")
    given = parser.parse_args()
    if given.what == "first":
        first(given.megabytes)
    elif given.what == "book":
        book(given.output or Path("book.npz"), given.megabytes)
    else:
        draw_classes(given.output or Path("classes.npz"), given.per_class, given.seed, given.megabytes)


if __name__ == "__main__":
    main()
