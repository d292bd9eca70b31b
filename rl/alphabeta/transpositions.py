"""The transposition table of alpha-beta: what earlier searches found out about a state.

Row `[STATE_WORDS + 1]` int64 of the table: a state, so a hit is exact, and a word of fields, its entry. The
state is without its halfmove clock unless the search of it reaches as far as the clock. It has two places,
neighbours; the entry of the lower depth, or of an earlier search, gives way (Breuker, Uiterwijk, van den
Herik 1994).

Several threads may use a table, without locks: the words of the state are stored exclusive-or the entry, so
that a row which two of them wrote at once matches no state (Hyatt, Mann 2002).
"""

import numpy as np

from ckai.game.jit import hot, prefetch
from ckai.rl.alphabeta.memory import PROVEN
from ckai.rl.search.transpositions import hash_of, place_of

STATIC_ONLY, EXACT, LOWER, UPPER = 0, 1, 2, 3
"""How an entry's score bounds the true one; `STATIC_ONLY`: it has no score and no action."""
NO_SCORE = 32_767
"""Stands for a static score that was not computed."""
MAX_DEPTH = 255
"""Greatest depth of an entry."""

AGES = 1 << 13
"""Numbers of searches that an entry can tell apart."""

_OFFSET, _SHORT, _BYTE = 32_768, 0xFFFF, 0xFF
_AGED = 8
"""Plies taken off the depth of an entry, when one is replaced, for each search since it was written."""


@hot
def bucket_index(table, key):
    """Return the index of the first of a state's two rows."""
    return place_of(hash_of(key), len(table))


@hot
def fetch(table, place):
    """Ask for the rows of a state, `place` being its `bucket_index`: they are seldom in the CPU's caches."""
    prefetch(table, place, np.int64(0))
    prefetch(table, place ^ 1, np.int64(table.shape[1] - 1))


@hot
def entry_if(row, key):
    """Return the entry of a row if it is a state's, else 0."""
    entry = row[len(key)]
    for n, word in enumerate(key):
        if row[n] ^ entry != word:
            return np.int64(0)
    return entry


@hot
def probe(table, place, key):
    """Return the entry of a state, 0 if it is not in the table; `place` is its `bucket_index`."""
    entry = entry_if(table[place], key)
    other = place ^ 1
    if entry == 0 and other < len(table):
        entry = entry_if(table[other], key)
    return entry


@hot
def unpacked(entry, plies):
    """Return (score, static score, depth in plies, best action, bound) of an entry.

    A score from `PROVEN` on counts from the state, and is made to count from the root, `plies` before it.
    """
    score = (entry & _SHORT) - _OFFSET
    if score >= PROVEN:
        score -= plies
    elif score <= -PROVEN:
        score += plies
    return score, (entry >> 16 & _SHORT) - _OFFSET, entry >> 32 & _BYTE, entry >> 40 & _BYTE, entry >> 48 & 3


@hot
def _worth(entry, age):
    """Return the worth of an entry when one is replaced: its depth, less for older searches."""
    if entry == 0:
        return np.int64(-1_000_000)
    return (entry >> 32 & _BYTE) - _AGED * (age - (entry >> 50) & AGES - 1)


@hot
def store(table, place, key, score, static, depth, action, bound, age, plies):
    """Write an entry over the one of the same state or over the less valuable one of two.

    `score` is from -32,000 to 32,000, and counts from the root where it is proven, see `unpacked`; `static`
    is the network's score, or `NO_SCORE`; `depth` is 0 or more, `age` the number of the search.
    """
    last = len(key)
    other = place ^ 1
    if other < len(table) and entry_if(table[place], key) == 0:
        worse = _worth(table[other, last], age) < _worth(table[place, last], age)
        if worse or entry_if(table[other], key) != 0:
            place = other
    if score >= PROVEN:
        score += plies
    elif score <= -PROVEN:
        score -= plies
    entry = np.int64(score + _OFFSET) | np.int64(static + _OFFSET) << 16
    entry |= np.int64(min(depth, MAX_DEPTH)) << 32 | np.int64(action) << 40
    entry |= np.int64(bound) << 48 | np.int64(age & AGES - 1) << 50
    for n, word in enumerate(key):
        table[place, n] = word ^ entry
    table[place, last] = entry
