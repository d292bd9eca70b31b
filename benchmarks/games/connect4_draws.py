"""How the classes of solved positions are made: random legal moves from a seed, solved and sorted."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckai.datasets.files import whole_file
from ckai.rl.games.connect4 import kernels
from ckai.rl.games.connect4.book import DAMAGED
from ckai.rl.games.connect4.classes import CLASSES, PHASES, class_of, solved_value
from ckai.rl.games.connect4.rules import four
from ckai.rl.games.connect4.solver import Connect4Solver


class Draw(NamedTuple):
    """A position drawn at random, solved."""

    phase: str
    own: int
    """Stones of the side to move."""
    taken: int
    """All stones."""
    score: int
    """For the side to move, see `ckai.rl.games.connect4.kernels`; `NO_SCORE` if it was drawn before."""
    moves: tuple[int, ...]
    """Scores of the seven columns, for the side to move; `NO_SCORE` for a full one; empty if the class of the
    position had enough."""

    @property
    def name(self) -> str:
        """Its class, one of `CLASSES`; empty if it was drawn before."""
        if self.score == kernels.NO_SCORE:
            return ""
        return class_of(self.taken.bit_count(), solved_value(self.score, self.taken.bit_count()))

    @property
    def key(self) -> int:
        """The key of the position or of its mirror image, whichever is smaller."""
        key = self.own + self.taken + kernels.BOTTOM
        return min(key, int(kernels.mirrored(np.int64(key))))


def draw_classes(
    per_class: int,
    seed: int,
    known: Sequence[Draw] = (),
    *,
    solver: Connect4Solver,
    classes: Sequence[str] = CLASSES,
    on_draw: Callable[[Sequence[Draw], Mapping[str, int]], None] = lambda draws, found: None,
) -> list[Draw]:
    """Draw positions until every class has enough; each is there once, in one of its two mirror images.

    Args:
        per_class: positions of each class; with fewer, each class begins with the same ones.
        seed: of the random moves; draw number n of a phase depends on nothing else.
        known: draws of an earlier call with the same seed, in order; they are not solved again.
        solver: solves the positions.
        classes: the classes to fill.
        on_draw: called after every solved draw with all draws so far, and the positions of each class.
    """
    draws: list[Draw] = []
    found, before = dict.fromkeys(classes, 0), set[int]()
    for phase in PHASES:
        later = [draw for draw in known if list(PHASES).index(draw.phase) > list(PHASES).index(phase)]
        mine = [name for name in classes if name.startswith(phase)]
        earlier = [draw for draw in known if draw.phase == phase]
        for number in count():
            if all(found[name] >= per_class for name in mine):
                break
            draw = earlier[number] if number < len(earlier) else _solved(seed, phase, number, before, solver)
            before.add(draw.key)
            wanted = draw.name in mine and found[draw.name] < per_class
            if wanted:
                found[draw.name] += 1
            moves = (draw.moves or _move_scores(draw, solver)) if wanted else ()
            draw = draw._replace(moves=moves)
            draws.append(draw)
            if number >= len(earlier):
                on_draw([*draws, *later], found)
    return draws


def _solved(seed: int, phase: str, number: int, before: set[int], solver: Connect4Solver) -> Draw:
    """Return a draw with its score."""
    draw = Draw(phase, *_random_state(seed, phase, number), kernels.NO_SCORE, ())
    return draw if draw.key in before else draw._replace(score=solver.score_of(draw.own, draw.taken))


def _random_state(seed: int, phase: str, number: int) -> tuple[int, int]:
    """Return the stones of the side to move and all stones after random moves, where the game goes on."""
    random = np.random.default_rng((seed, list(PHASES).index(phase), number))
    first, last = PHASES[phase]
    while True:
        own = taken = 0
        for _ in range(int(random.integers(first, last + 1))):
            moves = [move for move in _column_moves(taken) if move]
            move = moves[random.integers(len(moves))]
            if four(own | move):
                break
            own, taken = own ^ taken, taken | move
        else:
            return own, taken


def _column_moves(taken: int) -> list[int]:
    """Return the square where a stone in each column falls to, 0 if the column is full."""
    return [taken + (1 << 7 * column) & 0o77 << 7 * column & ~taken for column in range(7)]


def _move_scores(draw: Draw, solver: Connect4Solver) -> tuple[int, ...]:
    """Return the score of every column for the side to move, see `Draw.moves`."""
    out = []
    for move in _column_moves(draw.taken):
        taken = draw.taken | move
        if not move:
            out.append(kernels.NO_SCORE)
        elif four(draw.own | move):
            out.append((kernels.SQUARES + 1 - draw.taken.bit_count()) // 2)
        elif taken.bit_count() == kernels.SQUARES:
            out.append(0)
        else:
            out.append(-solver.score_of(draw.own ^ draw.taken, taken))
    return tuple(out)


def save_draws(path: Path, draws: Sequence[Draw]) -> None:
    """Write positions to a file."""
    phases, scores = list(PHASES), [each.moves or (kernels.NO_SCORE,) * 7 for each in draws]
    with whole_file(path) as file:
        np.savez_compressed(
            file,
            phases=np.array([phases.index(each.phase) for each in draws], np.int8),
            states=np.array([(each.own, each.taken) for each in draws], np.int64).reshape(-1, 2),
            scores=np.array([each.score for each in draws], np.int8),
            moves=np.array(scores, np.int8).reshape(-1, 7),
        )


def load_draws(path: Path) -> list[Draw]:
    """Read positions from a file.

    Raises:
        ValueError: it is no such file.
    """
    phases = list(PHASES)
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = [file[name].tolist() for name in ("phases", "states", "scores", "moves")]
        return [
            Draw(phases[phase], own, taken, score, tuple(moves) if set(moves) != {kernels.NO_SCORE} else ())
            for phase, (own, taken), score, moves in zip(*columns, strict=True)
        ]
    except (OSError, ValueError, KeyError, IndexError, TypeError, *DAMAGED) as error:
        raise ValueError(f"{path}: expected positions of Connect-4, found none ({error})") from error
