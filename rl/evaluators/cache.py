"""A cache of network evaluations: the same position, however it was reached, is evaluated once.

The key is all that a network sees of a position, byte for byte, so a hit is never wrong. A fixed number of
entries in sets of four; a new entry takes the place of one of its set in turn.
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
from ckai.rl.games.registry import DEFAULT_GAME

WAYS = 4
_SHIFT = np.uint64(29)


def entry_bytes(game: Any) -> int:
    """Return the memory of an entry, in bytes; `game` are the rules."""
    return 8 * -(-int(game.POSITION_BYTES) // 8) + 4 * int(game.NUM_ACTIONS) + 4 + 1


@inner
def set_of(words, row, sets):
    """The set of a position."""
    h = np.uint64(0)
    for i in range(words.shape[1]):
        h = (h ^ words[row, i]) * GOLDEN
        h ^= h >> _SHIFT
    return np.int64(h % np.uint64(sets))


@inner
def copy_row(source, out):
    """Copy a row into another: assigning slices compiles for seconds, for the message of an error."""
    for i in range(len(out)):
        out[i] = source[i]


@kernel
def look_up(words, keys, used, logits, values, out_logits, out_values, missing):
    """Copy what is known of a batch; fill `missing` with the rows that are not and return their number."""
    sets = len(used) // WAYS
    count = 0
    for row in range(len(words)):
        first = set_of(words, row, sets) * WAYS
        found = -1
        for entry in range(first, first + WAYS):
            if used[entry]:
                same = True
                for i in range(words.shape[1]):
                    if keys[entry, i] != words[row, i]:
                        same = False
                        break
                if same:
                    found = entry
                    break
        if found >= 0:
            copy_row(logits[found], out_logits[row])
            out_values[row] = values[found]
        else:
            missing[count] = row
            count += 1
    return count


@kernel
def store(words, keys, used, turns, logits, values, new_logits, new_values, missing, out_logits, out_values):
    """Put new evaluations of the missing rows into the cache and into the answer."""
    sets = len(used) // WAYS
    for n in range(len(missing)):
        row = missing[n]
        chosen = set_of(words, row, sets)
        entry = chosen * WAYS + turns[chosen]
        turns[chosen] = (turns[chosen] + 1) % WAYS
        used[entry] = 1
        copy_row(words[row], keys[entry])
        copy_row(new_logits[n], logits[entry])
        values[entry] = new_values[n]
        copy_row(new_logits[n], out_logits[row])
        out_values[row] = new_values[n]


class CachedEvaluator:
    """An evaluator that remembers. For one thread; give each its own."""

    def __init__(self, inner: Evaluator, positions: int, game: Any = DEFAULT_GAME.rules) -> None:
        """Remember up to `positions` evaluations of `inner` (`entry_bytes` each), which evaluates this game.

        Raises:
            ValueError: fewer than WAYS positions.
        """
        if positions < WAYS:
            raise ValueError(f"expected a cache of {WAYS} positions or more, found {positions}")
        sets = positions // WAYS
        size = sets * WAYS
        self.inner = inner
        self.name = f"{inner.name}, {size:,} positions cached"
        self.asked = 0
        """Positions asked for."""
        self.hits = 0
        """Of them, those that were known."""
        self.bytes, self.actions = int(game.POSITION_BYTES), int(game.NUM_ACTIONS)
        self._keys = np.zeros((size, -(-self.bytes // 8)), np.uint64)
        self._used, self._turns = np.zeros(size, np.uint8), np.zeros(sets, np.uint8)
        self._logits, self._values = np.zeros((size, self.actions), np.float32), np.zeros(size, np.float32)

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        check_boards(boards, self.bytes, self.actions, out_logits, out_values)
        n = len(boards)
        logits, values = output_arrays(n, self.actions, out_logits, out_values)
        padded = np.zeros((n, 8 * self._keys.shape[1]), np.int8)
        padded[:, : self.bytes] = boards
        words = padded.view(np.uint64)
        missing = np.empty(n, np.int64)
        table = (self._keys, self._used)
        count = look_up(words, *table, self._logits, self._values, logits, values, missing)
        self.asked += n
        self.hits += n - count
        if count:
            missing = missing[:count]
            new_logits, new_values = self.inner.evaluate(np.ascontiguousarray(boards[missing]))
            store(
                words, *table, self._turns, self._logits, self._values, new_logits, new_values, missing,
                logits, values,
            )  # fmt: skip
        return logits, values

    def close(self) -> None:
        """Close what it stands before."""
        self.inner.close()
