"""The solver of Connect-4: measure it, and make the files that are installed with it.

    python benchmarks/games/connect4.py first                    # solve the first position from nothing
    python benchmarks/games/connect4.py book --stones 4          # what is true with 4 stones, into book.npz
    python benchmarks/games/connect4.py classes --per-class 200  # the positions of `ckai evaluate --solved`

A killed `book` or `classes` goes on when it is started again. The files are made in the current folder; those
of the package are in `rl/games/connect4/`.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from connect4_draws import Draw, draw_classes, load_draws, save_draws

from ckai.rl.games.connect4 import kernels
from ckai.rl.games.connect4.book import INSTALLED, Book, positions_with
from ckai.rl.games.connect4.classes import CLASSES, solved_value
from ckai.rl.games.connect4.solver import Connect4Solver
from ckai.rl.games.connect4.spec import SPEC

SAVE_SECONDS = 20.0


def first(megabytes: int) -> None:
    Connect4Solver(1, None).score_of(1 << 7, 1 | 1 << 7 | 1 << 14)  # compiles
    for book in (INSTALLED, None):
        solver, begun = Connect4Solver(megabytes, book), time.perf_counter()
        truth = solved_value(solver.score(SPEC.position()), 0)
        seconds = time.perf_counter() - begun
        print(
            f"{book or 'no book'}: value {truth.value}, {truth.plies} plies; {solver.visited:,} positions, "
            f"{seconds:.2f} s, {solver.visited / seconds / 1e6:.2f} M positions/s",
            flush=True,
        )


def book(path: Path, stones: int, megabytes: int) -> None:
    made = Book.load(path) if path.exists() else Book.empty(stones)
    if made.stones != stones:
        raise SystemExit(
            f"{path}: expected a book of {stones} stones, found one of {made.stones}; choose another -o"
        )
    positions, solver = positions_with(stones), Connect4Solver(megabytes, path if path.exists() else None)
    pairs = list(zip(positions.own.tolist(), positions.taken.tolist(), strict=True))
    solver.score(SPEC.position())  # at once where the file has been here
    found = np.array([bounds_of(solver, *pair) for pair in pairs], np.int8)
    made.bounds[:, 0] = np.maximum(made.bounds[:, 0], found[:, 0])
    made.bounds[:, 1] = np.minimum(made.bounds[:, 1], found[:, 1])
    made.save(path)
    print(f"{path}: the first position is solved", flush=True)
    missing, saved = np.flatnonzero(made.bounds[:, 0] < made.bounds[:, 1]).tolist(), time.monotonic()
    missing.sort(key=lambda i: distance_from_middle(pairs[i][1]))  # what players meet first
    for left, i in zip(reversed(range(len(missing))), missing, strict=True):
        made.bounds[i] = solver.score_of(*pairs[i])
        if time.monotonic() - saved > SAVE_SECONDS or not left:
            made.save(path)
            saved = time.monotonic()
            print(f"{len(pairs) - left:,} of {len(pairs):,} positions", flush=True)


def bounds_of(solver: Connect4Solver, own: int, taken: int) -> tuple[int, int]:
    """Return the least and the most that the solver's table says of the score of early stones."""
    key = own + taken + kernels.BOTTOM
    key = min(key, int(kernels.mirrored(key)))
    slot = key % len(solver.keys)
    bound = int(solver.bounds[slot]) if int(solver.keys[slot]) == key & 0xFFFFFFFF else 0
    if bound > 2 * kernels.HIGHEST + 1:
        return bound - 3 * kernels.HIGHEST - 2, kernels.HIGHEST
    return -kernels.HIGHEST, bound - kernels.HIGHEST - 1 if bound else kernels.HIGHEST


def distance_from_middle(taken: int) -> int:
    return sum(abs(column - 3) * (taken >> 7 * column & 0o77).bit_count() for column in range(7))


def classes(path: Path, per_class: int, seed: int, megabytes: int) -> None:
    known, saved = load_draws(path) if path.exists() else [], time.monotonic()

    def on_draw(draws: Sequence[Draw], found: Mapping[str, int]) -> None:
        nonlocal saved
        if time.monotonic() - saved > SAVE_SECONDS:
            save_draws(path, draws)
            saved = time.monotonic()
            print(", ".join(f"{name} {n}" for name, n in found.items()), f"of {per_class}", flush=True)

    save_draws(
        path, draw_classes(per_class, seed, known, solver=Connect4Solver(megabytes, None), on_draw=on_draw)
    )
    print(f"{path}: {per_class} positions of each of {', '.join(CLASSES)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["first", "book", "classes"])
    parser.add_argument("--megabytes", type=int, default=1000, help="memory of the solver's table")
    parser.add_argument("--stones", type=int, default=4, help="of the positions of the book")
    parser.add_argument("--per-class", type=int, default=200, help="positions of each class")
    parser.add_argument("--seed", type=int, default=1, help="of the classes")
    parser.add_argument("-o", "--output", type=Path, help="file to write")
    given = parser.parse_args()
    if given.what == "first":
        first(given.megabytes)
    elif given.what == "book":
        book(given.output or Path("book.npz"), given.stones, given.megabytes)
    else:
        classes(given.output or Path("classes.npz"), given.per_class, given.seed, given.megabytes)


if __name__ == "__main__":
    main()
