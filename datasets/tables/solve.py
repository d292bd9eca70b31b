"""Retrograde analysis: all positions of a class of pieces, and of the class with the sides exchanged, at
once.

Values are plies to the end with best play, for the side to move: odd it wins (as fast as it can), even it
loses (as late as it can), `DRAWN` neither. Captures and crownings lead to classes that were solved before.
Inside a class only steps are left: from each position whose value has become known, the steps that lead to
it are taken back, in the order of the plies (Thompson, "Retrograde Analysis of Certain Endgames", 1986;
Lake, Schaeffer and Lu, "Solving Large Retrograde Analysis Problems Using a Network of Workstations",
1994). No draw rule counts plies here.
"""

import numpy as np
from numba import njit

from ckai.datasets.tables.index import STARTS, class_key, class_size, index_of, place
from ckai.game.kernels import (
    LAST_ROW,
    apply_hop,
    down_left,
    down_right,
    jump_sources,
    legal_hops,
    lowest,
    popcount,
    turn,
    up_left,
    up_right,
)

DRAWN = 255
UNKNOWN = 254
LONGEST = 250
"""Most plies that a value can say."""

ROOM = 64
"""Positions between two hops that may wait at once."""

_NEVER = 100  # added to the steps that are left where an exit draws: they never run out


@njit(cache=True)
def key_of(own, opp, kings):
    """The number of a position's class."""
    return class_key(
        popcount(own & ~kings), popcount(own & kings), popcount(opp & ~kings), popcount(opp & kings)
    )


@njit(cache=True)
def look(own, opp, kings, values, lookup):
    """The value of a position with a piece on each side and no hop under way, in tables that have it."""
    return values[lookup[STARTS + key_of(own, opp, kings)] + index_of(own, opp, kings, lookup)]


@njit(cache=True)
def _better(value, than):
    """Whether a mover prefers a value: a faster win, a draw, a later loss."""
    if than == UNKNOWN:
        return True
    if value & 1 and value != DRAWN:
        return not (than & 1 and than != DRAWN) or value < than
    if value == DRAWN:
        return than != DRAWN and not than & 1
    return than != DRAWN and not than & 1 and value > than


@njit(cache=True)
def _before(value):
    """What a position is worth whose mover goes to one that is worth `value` to the other side."""
    return value if value == DRAWN else value + 1


@njit(cache=True)
def best_capture(own, opp, kings, jumper, values, lookup, between):
    """The best value of the captures that are to be made now; all lead to classes that are known.

    `between` is room for positions between two hops, `[ROOM, 4]` int64. (No recursion: Numba's cache loses
    functions that call themselves with arrays.)
    """
    best = np.int64(UNKNOWN)
    between[0, 0], between[0, 1], between[0, 2], between[0, 3] = own, opp, kings, jumper
    waiting = 1
    while waiting:
        waiting -= 1
        own, opp, kings, jumper = (
            between[waiting, 0],
            between[waiting, 1],
            between[waiting, 2],
            between[waiting, 3],
        )
        a, b, c, d, _ = legal_hops(own, opp, kings, jumper)
        for direction in range(4):
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            while sources:
                label = lowest(sources) * 4 + direction
                sources &= sources - 1
                o, p, k, j, _, passed = apply_hop(own, opp, kings, 0, label)
                if not passed:
                    between[waiting, 0], between[waiting, 1], between[waiting, 2], between[waiting, 3] = (
                        o,
                        p,
                        k,
                        j,
                    )
                    waiting += 1
                    continue
                value = np.int64(1)  # the last piece of the other side
                if o != 0:
                    value = _before(np.int64(look(o, p, k, values, lookup)))
                if _better(value, best):
                    best = value
    return best


@njit(cache=True)
def _first_look(m1, k1, m2, k2, values, lookup, left, late):
    """What is known of a class before any step inside it: ends, captures, crownings; `left` counts its
    steps."""
    at = lookup[STARTS + class_key(m1, k1, m2, k2)]
    between = np.empty((ROOM, 4), np.int64)
    for number in range(len(left)):
        own, opp, kings = place(number, m1, k1, m2, k2, lookup)
        a, b, c, d, jumps = legal_hops(own, opp, kings, -1)
        left[number], late[number] = 0, 0
        if not a | b | c | d:
            values[at + number] = 0
            continue
        if jumps:
            values[at + number] = best_capture(own, opp, kings, -1, values, lookup, between)
            continue
        inside = popcount(a) + popcount(b) + popcount(c) + popcount(d)
        best = np.int64(UNKNOWN)
        men = own & ~kings
        crowning = men & (up_left(LAST_ROW) | up_right(LAST_ROW))
        for direction in range(1, 3):
            sources = (b if direction == 1 else c) & crowning
            while sources:
                label = lowest(sources) * 4 + direction
                sources &= sources - 1
                inside -= 1
                o, p, k, _, _, _ = apply_hop(own, opp, kings, 0, label)
                value = _before(np.int64(look(o, p, k, values, lookup)))
                if _better(value, best):
                    best = value
        won = best != UNKNOWN and best != DRAWN and best & 1
        if won or inside == 0:
            values[at + number] = best
        else:
            values[at + number] = UNKNOWN
        if best == DRAWN:
            inside += _NEVER
        elif best != UNKNOWN and not won:
            late[number] = best
        left[number] = inside


@njit(cache=True)
def _take_back(own, opp, kings, plies, at, values, left, late, lookup):
    """Tell the positions that a step leads from to this one, which has become known; returns how many
    learned."""
    learned = 0
    # As the side sees it that has just moved.
    mine, theirs, crowned = turn(opp), turn(own), turn(kings)
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
            number = index_of(o, theirs, k, lookup)
            known = values[at + number]
            if plies & 1 == 0:  # this one is lost: a step here wins
                if known == UNKNOWN or (known != DRAWN and known & 1 and known > plies + 1):
                    values[at + number] = plies + 1
                    learned += 1
            elif known == UNKNOWN:
                left[number] -= 1
                if left[number] == 0:
                    values[at + number] = max(plies + 1, late[number])
                    learned += 1
    return learned


@njit(cache=True, nogil=True)
def solve_pair(m1, k1, m2, k2, values, lookup):
    """Solve a class and the class with the sides exchanged; all classes they lead to are solved.

    Args:
        m1, k1, m2, k2: pieces of the class.
        values: uint8, all classes; the two are filled in.
        lookup: of the layout.

    Returns:
        The longest distance, or -1 if one is longer than `LONGEST`.
    """
    size = class_size(m1, k1, m2, k2, lookup)
    same = m1 == m2 and k1 == k2
    sides = 1 if same else 2
    left = np.zeros((sides, size), np.uint8)
    late = np.zeros((sides, size), np.uint8)
    for side in range(sides):
        if side == 0:
            _first_look(m1, k1, m2, k2, values, lookup, left[0], late[0])
        else:
            _first_look(m2, k2, m1, k1, values, lookup, left[1], late[1])
    first, second = lookup[STARTS + class_key(m1, k1, m2, k2)], lookup[STARTS + class_key(m2, k2, m1, k1)]
    longest = 0
    for side in range(sides):
        at = first if side == 0 else second
        for number in range(size):
            if values[at + number] < UNKNOWN:
                longest = max(longest, np.int64(values[at + number]))
    plies = 0
    while plies <= longest:
        for side in range(sides):
            at, other = (first, second) if side == 0 else (second, first)
            mirror = 0 if same else 1 - side
            for number in range(size):
                if values[at + number] != plies:
                    continue
                if side == 0:
                    own, opp, kings = place(number, m1, k1, m2, k2, lookup)
                else:
                    own, opp, kings = place(number, m2, k2, m1, k1, lookup)
                learned = _take_back(
                    own, opp, kings, plies, other, values, left[mirror], late[mirror], lookup
                )
                if learned:
                    longest = max(longest, plies + 1)
        # A loss that a late exit puts off lies further ahead.
        if plies == longest:
            for side in range(sides):
                at = first if side == 0 else second
                for number in range(size):
                    if values[at + number] < UNKNOWN:
                        longest = max(longest, np.int64(values[at + number]))
        if longest > LONGEST:
            return -1
        plies += 1
    for side in range(sides):
        at = first if side == 0 else second
        for number in range(size):
            if values[at + number] == UNKNOWN:
                values[at + number] = DRAWN
    return longest
