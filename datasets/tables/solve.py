"""Solve tables: retrograde analysis of a material class together with the class with the sides exchanged.

Values are plies to the end of the game with best play: odd if the side to move wins (as fast as it can), even
if it loses (as slowly as it can), `DRAWN` otherwise. Captures and crownings lead to classes solved before.
Inside a class only steps remain: from each newly solved position, the steps that lead to it are retracted,
in order of distance (Thompson, "Retrograde Analysis of Certain Endgames", 1986;
Lake, Schaeffer and Lu, "Solving Large Retrograde Analysis Problems Using a Network of Workstations",
1994). Draws by move count are ignored.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import locked, remove_temporaries
from ckai.datasets.machine import available_cores
from ckai.datasets.tables.index import (
    STARTS,
    Material,
    TableLayout,
    class_key,
    class_size,
    make_layout,
    rank_position,
    unrank_position,
    write_tables,
)
from ckai.game.jit import inner, kernel
from ckai.game.kernels import (
    LAST_ROW,
    apply_hop,
    down_left,
    down_right,
    jump_sources,
    legal_hops,
    lowest,
    popcount,
    rotate,
    up_left,
    up_right,
)

DRAWN = 255
UNKNOWN = 254
MAX_DISTANCE = 250
"""Largest distance in plies that a value can hold."""

_NEVER = 100  # added to the count of open steps where an exit draws, so that it never reaches 0


@inner
def look(own, opp, kings, values, lookup):
    """Look up a position of the tables with pieces on both sides and no capture under way."""
    m1, k1 = popcount(own & ~kings), popcount(own & kings)
    m2, k2 = popcount(opp & ~kings), popcount(opp & kings)
    key = class_key(m1, k1, m2, k2)
    return values[lookup[STARTS + key] + rank_position(own, opp, kings, lookup)]


@inner
def _score(value):
    """Above 0 for a win, 0 for a draw, below for a loss: higher is better for the side to move."""
    if value == UNKNOWN:
        return -2 * UNKNOWN
    if value == DRAWN:
        return 0
    return UNKNOWN - value if value & 1 else value - UNKNOWN


@inner
def _before(value):
    """The value of moving to a position that is worth `value` to the other side."""
    return value if value == DRAWN else value + 1


@inner
def best_capture(own, opp, kings, jumper, values, lookup):
    """The value of the best capture; all captures lead to solved classes.

    No recursion: Numba cannot cache functions that call themselves with arrays.
    """
    best = np.int64(UNKNOWN)
    between = np.empty((64, 4), np.int64)  # positions between two hops
    between[0, 0], between[0, 1], between[0, 2], between[0, 3] = own, opp, kings, jumper
    waiting = 1
    while waiting:
        waiting -= 1
        own, opp, kings, jumper = between[waiting]
        a, b, c, d, _ = legal_hops(own, opp, kings, jumper)
        for direction in range(4):
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            while sources:
                action = lowest(sources) * 4 + direction
                sources &= sources - 1
                o, p, k, j, _, passed = apply_hop(own, opp, kings, np.int64(0), action)
                if not passed:
                    between[waiting, 0], between[waiting, 1] = o, p
                    between[waiting, 2], between[waiting, 3] = k, j
                    waiting += 1
                    continue
                value = np.int64(1)  # captured the last piece
                if o != 0:
                    value = _before(np.int64(look(o, p, k, values, lookup)))
                if _score(value) > _score(best):
                    best = value
    return best


@inner
def _initialise(m1, k1, m2, k2, values, lookup, left, late):
    """Initialise a class with what needs no step inside it: ends, captures, crownings.

    `left` counts the steps inside the class; `late` keeps the longest losing exit.
    """
    at = lookup[STARTS + class_key(m1, k1, m2, k2)]
    for number in range(len(left)):
        own, opp, kings = unrank_position(number, m1, k1, m2, k2, lookup)
        a, b, c, d, jumps = legal_hops(own, opp, kings, -1)
        left[number], late[number] = 0, 0
        if not a | b | c | d:
            values[at + number] = 0
            continue
        if jumps:
            values[at + number] = best_capture(own, opp, kings, -1, values, lookup)
            continue
        inside = popcount(a) + popcount(b) + popcount(c) + popcount(d)
        best = np.int64(UNKNOWN)
        men = own & ~kings
        crowning = men & (up_left(LAST_ROW) | up_right(LAST_ROW))
        for direction in range(1, 3):
            sources = (b if direction == 1 else c) & crowning
            while sources:
                action = lowest(sources) * 4 + direction
                sources &= sources - 1
                inside -= 1
                o, p, k, _, _, _ = apply_hop(own, opp, kings, np.int64(0), action)
                value = _before(np.int64(look(o, p, k, values, lookup)))
                if _score(value) > _score(best):
                    best = value
        won = _score(best) > 0
        if won or inside == 0:
            values[at + number] = best
        else:
            values[at + number] = UNKNOWN
        if best == DRAWN:
            inside += _NEVER
        elif best != UNKNOWN and not won:
            late[number] = best
        left[number] = inside


@inner
def _take_back(own, opp, kings, plies, at, values, left, late, lookup):
    """Retract the steps that lead to this newly solved position; the longest distance of those it solves."""
    longest = np.int64(0)
    # In the view of the side that has just moved.
    mine, theirs, crowned = rotate(opp), rotate(own), rotate(kings)
    empty = ~(mine | theirs) & 0xFFFFFFFF
    movers = mine
    while movers:
        here = movers & -movers
        movers ^= here
        king = (crowned & here) != 0
        if king:
            origins = (down_left(here) | down_right(here) | up_left(here) | up_right(here)) & empty
        else:
            origins = (up_left(here) | up_right(here)) & empty
        while origins:
            origin = origins & -origins
            origins ^= origin
            o = mine ^ here | origin
            k = crowned ^ here | origin if king else crowned
            free = empty ^ origin | here
            a, b, c, d = jump_sources(o, k, theirs, free)
            if a | b | c | d:
                continue  # it had to capture
            number = rank_position(o, theirs, k, lookup)
            value = values[at + number]
            if plies & 1 == 0:  # this position is lost: a step to it wins
                if value == UNKNOWN or (value != DRAWN and value & 1 and value > plies + 1):
                    values[at + number] = plies + 1
                    longest = max(longest, plies + 1)
            elif value == UNKNOWN:
                left[number] -= 1
                if left[number] == 0:
                    values[at + number] = max(plies + 1, late[number])
                    longest = max(longest, values[at + number])
    return longest


@inner
def _longest(values, at, size):
    """The longest distance known of a class."""
    longest = np.int64(0)
    for number in range(at, at + size):
        if values[number] < UNKNOWN:
            longest = max(longest, np.int64(values[number]))
    return longest


@kernel
def solve_pair(m1, k1, m2, k2, values, lookup):
    """Solve a class and the class with the sides exchanged; all classes they lead to must be solved.

    The values of the two are filled in. Returns the longest distance, or -1 if it is above `MAX_DISTANCE`.
    """
    size = class_size(m1, k1, m2, k2, lookup)
    same = m1 == m2 and k1 == k2
    sides = 1 if same else 2
    classes = (m1, k1, m2, k2), (m2, k2, m1, k1)
    starts = lookup[STARTS + class_key(m1, k1, m2, k2)], lookup[STARTS + class_key(m2, k2, m1, k1)]
    left = np.zeros((sides, size), np.uint8)
    late = np.zeros((sides, size), np.uint8)
    longest = np.int64(0)
    for side in range(sides):
        _initialise(*classes[side], values, lookup, left[side], late[side])
        longest = max(longest, _longest(values, starts[side], size))
    plies = 0
    while plies <= longest:
        for side in range(sides):
            of, at, other = classes[side], starts[side], sides - 1 - side
            for number in range(size):
                if values[at + number] == plies:
                    own, opp, kings = unrank_position(number, *of, lookup)
                    found = _take_back(
                        own, opp, kings, plies, starts[other], values, left[other], late[other], lookup
                    )
                    longest = max(longest, found)
        if longest > MAX_DISTANCE:
            return -1
        plies += 1
    for side in range(sides):
        at = starts[side]
        for number in range(at, at + size):
            if values[number] == UNKNOWN:
                values[number] = DRAWN
    return longest


def build_tables(
    pieces: int,
    path: Path,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Solve all positions with up to `pieces` pieces, 2 to 6, and write them to a table file.

    Args:
        pieces: on the board, both sides together.
        path: the file to write, usually `table_path(pieces, cache_folder())`.
        progress: called with the positions solved and the positions in all.

    Returns:
        The file's header: `pieces` and `counts` (won, lost, drawn for the side to move, by number of pieces).

    Raises:
        ValueError: `pieces` out of range, or a distance above 250 plies, which a byte cannot hold.
        LockedError: another process builds these tables.
        WriteError: the file cannot be written.
    """
    layout = make_layout(pieces)
    with locked(path.with_name(f".{path.name}.lock")):
        remove_temporaries(path.parent, of=path.name)
        values = _solve(layout, progress)
        header = {"pieces": pieces, "counts": _counts(layout, values)}
        write_tables(path, values, header)
    return header


def _solve(layout: TableLayout, progress: Callable[[int, int], None]) -> NDArray[np.uint8]:
    values = np.full(layout.positions, UNKNOWN, np.uint8)
    solved = 0

    def level(of: Material) -> tuple[int, int]:
        """What must be solved after all that is less: a capture leaves fewer pieces, a crowning fewer men."""
        return sum(of), of.men + of.other_men

    def solve(of: Material) -> int:
        if solve_pair(*of, values, layout.lookup) < 0:
            raise ValueError(f"{of}: expected distances of up to {MAX_DISTANCE} plies, found more")
        return sum(layout.classes[side] for side in {of, of.swapped})

    # One class of each pair, in a level the largest first, so that no core idles long at its end.
    pairs = sorted(
        (of for of in layout.classes if of <= of.swapped), key=lambda of: (level(of), -layout.classes[of])
    )
    with ThreadPoolExecutor(available_cores()) as pool:
        for _, group in groupby(pairs, level):
            for size in pool.map(solve, group):  # it cancels after an error
                solved += size
                progress(solved, layout.positions)
    return values


def _counts(layout: TableLayout, values: NDArray[np.uint8]) -> dict[str, list[int]]:
    """Won, lost and drawn for the side to move, by number of pieces."""
    counts = {str(pieces): [0, 0, 0] for pieces in range(2, layout.pieces + 1)}
    for of in layout.classes:
        numbers = np.bincount(layout.part(values, of), minlength=256)
        drawn = int(numbers[DRAWN])
        found = int(numbers[1::2].sum()) - drawn, int(numbers[0::2].sum()), drawn
        counts[str(sum(of))] = [a + b for a, b in zip(counts[str(sum(of))], found, strict=True)]
    return counts
