"""A cache of evaluations: a position that is reached again, in any game, is not evaluated again.

The key is the whole encoded position, so a hit is always right. The cache is 4-way set associative with a
fixed number of entries; within a set entries are replaced first in, first out.
"""

from typing import Any

import numpy as np

from ckai.datasets.splitmix import GOLDEN
from ckai.game.jit import inner, kernel
from ckai.models.inference.evaluator import (
    Boards,
    Evaluator,
    Floats,
    check_boards,
    output_arrays,
)
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.registry import DEFAULT_GAME

WAYS = 4
"""Entries per set."""
_SHIFT = np.uint64(29)


def entry_bytes(game: Any) -> int:
    """Return the memory in bytes of one entry for a game with these rules."""
    return 8 * -(-int(game.POSITION_BYTES) // 8) + 4 * int(game.NUM_ACTIONS) + 4 + 1


@inner
def set_index(words, row, sets):
    """Return the set, 0 to `sets - 1`, of the position in row `row` of `words`, `[N, W]` uint64."""
    h = np.uint64(0)
    for i in range(words.shape[1]):
        h = (h ^ words[row, i]) * GOLDEN
        h ^= h >> _SHIFT
    return np.int64(h % np.uint64(sets))


@inner
def copy_row(source, out):
    """Copy a row into another. Assigning a slice takes seconds to compile, for its error message alone."""
    for i in range(len(out)):
        out[i] = source[i]


@kernel
def lookup(words, keys, used, logits, values, out_logits, out_values, missing):
    """Copy the cached evaluations of a batch to the outputs.

    Args:
        words: `[N, W]` uint64, the encoded positions.
        keys, used, logits, values: the cache.
        out_logits, out_values: `[N, NUM_ACTIONS]` and `[N]` float32, filled for the hits.
        missing: `[N]` int64, filled with the rows that are not in the cache.

    Returns:
        The number of rows that are not in the cache.
    """
    sets = len(used) // WAYS
    num_missing = 0
    for row in range(len(words)):
        first = set_index(words, row, sets) * WAYS
        hit = -1
        for entry in range(first, first + WAYS):
            if used[entry]:
                same = True
                for i in range(words.shape[1]):
                    if keys[entry, i] != words[row, i]:
                        same = False
                        break
                if same:
                    hit = entry
                    break
        if hit >= 0:
            copy_row(logits[hit], out_logits[row])
            out_values[row] = values[hit]
        else:
            missing[num_missing] = row
            num_missing += 1
    return num_missing


@kernel
def store(words, keys, used, turns, logits, values, new_logits, new_values, missing, out_logits, out_values):
    """Store new evaluations of the rows `missing` in the cache and copy them to the outputs, see `lookup`.

    Args:
        words, keys, used, logits, values, missing, out_logits, out_values: see `lookup`.
        turns: `[sets]` uint8, entry of each set to replace next.
        new_logits, new_values: evaluations of the missing rows, in their order.
    """
    sets = len(used) // WAYS
    for n in range(len(missing)):
        row = missing[n]
        index = set_index(words, row, sets)
        entry = index * WAYS + turns[index]
        turns[index] = (turns[index] + 1) % WAYS
        used[entry] = 1
        copy_row(words[row], keys[entry])
        copy_row(new_logits[n], logits[entry])
        values[entry] = new_values[n]
        copy_row(new_logits[n], out_logits[row])
        out_values[row] = new_values[n]


class CachedEvaluator:
    """An evaluator that caches the evaluations of another one. Not thread-safe: each thread needs its own.

    Attributes:
        inner: the evaluator behind the cache.
        lookups: positions looked up so far.
        hits: of these, positions that were in the cache.
    """

    def __init__(self, inner: Evaluator, positions: int, game: Any = DEFAULT_GAME.rules) -> None:
        """Allocate the cache.

        Args:
            inner: evaluates the positions that are not in the cache.
            positions: capacity, rounded down to a multiple of `WAYS`; see `entry_bytes` for the memory.
            game: the rules of the game.

        Raises:
            ValueError: fewer than `WAYS` positions.
        """
        if positions < WAYS:
            raise ValueError(f"expected a cache of {WAYS} positions or more, found {positions}")
        sets = positions // WAYS
        size = sets * WAYS
        self.inner = inner
        self.name = f"{inner.name}, {size:,} positions cached"
        self.lookups = 0
        self.hits = 0
        self.position_bytes, self.actions = int(game.POSITION_BYTES), int(game.NUM_ACTIONS)
        self._keys = np.zeros((size, -(-self.position_bytes // 8)), np.uint64)
        self._used, self._turns = np.zeros(size, np.uint8), np.zeros(sets, np.uint8)
        self._logits, self._values = np.zeros((size, self.actions), np.float32), np.zeros(size, np.float32)

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`.

        Raises:
            ValueError: also if the inner evaluator answers with another shape or a number that is not finite;
                nothing of that answer is cached.
        """
        check_boards(boards, self.position_bytes, self.actions, out_logits, out_values)
        n = len(boards)
        logits, values = output_arrays(n, self.actions, out_logits, out_values)
        padded = np.zeros((n, 8 * self._keys.shape[1]), np.int8)
        padded[:, : self.position_bytes] = boards
        words = padded.view(np.uint64)
        missing = np.empty(n, np.int64)
        table = (self._keys, self._used)
        num_missing = lookup(words, *table, self._logits, self._values, logits, values, missing)
        self.lookups += n
        self.hits += n - num_missing
        if num_missing:
            missing = missing[:num_missing]
            new_logits, new_values = output_arrays(num_missing, self.actions, None, None)
            evaluate_into(self.inner, np.ascontiguousarray(boards[missing]), new_logits, new_values)
            # A logit of minus infinity is one way to mask an illegal action; NaN is below nothing.
            if not (np.isfinite(new_values).all() and (new_logits < np.inf).all()):
                raise non_finite_error(self.inner)
            store(
                words, *table, self._turns, self._logits, self._values, new_logits, new_values, missing,
                logits, values,
            )  # fmt: skip
        return logits, values

    def close(self) -> None:
        """Close the inner evaluator."""
        self.inner.close()
