"""SplitMix64: held-out games, position keys, and random streams in kernels.

A game is held out by a hash of its moves and the seed: a game is always on the same side, with all its
copies, whatever they are called, whatever file they are in and whatever else is in it.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.rows import Rows
from ckai.game.jit import inner, kernel

Split: TypeAlias = Literal["train", "heldout", "all"]
Hashes: TypeAlias = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Added to the state of SplitMix64 at each step."""
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)

SAME_ROWS = 32
"""Games whose first rows are the same, this many, are copies: one source may have more of a game."""

_SALT = np.uint64(51)
"""Any other would do; with this one the two games of the examples are on two sides."""


@inner
def mix(z):  # type: ignore[no-untyped-def]
    """The finisher of SplitMix64: every bit of a uint64 reaches every bit of the result.

    From Python it does the same to a NumPy array of uint64. It is behind every hash and random stream.
    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
    """
    z = (z ^ (z >> _S30)) * MIX_1
    z = (z ^ (z >> _S27)) * MIX_2
    return z ^ (z >> _S31)


@inner
def below(stream, n):  # type: ignore[no-untyped-def]
    """Return (state of the stream afterwards, a random integer from 0 to n - 1), 0 < n < 2**31."""
    stream = stream + GOLDEN
    return stream, np.int64(mix(stream) >> np.uint64(32)) * n >> 32


@inner
def uniform(info):  # type: ignore[no-untyped-def]
    """Return a random float64 in [0, 1) and advance the stream, `info[0].rng` (uint64)."""
    state = info[0].rng + GOLDEN
    info[0].rng = state
    return np.float64(mix(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def gamma(info, shape):  # type: ignore[no-untyped-def]
    """Return a gamma variate of the given shape (above 0) and scale 1, see `uniform` for `info`.

    Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
    """
    if shape == 1.0:
        return -np.log(1.0 - uniform(info))
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(info)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        normal = np.sqrt(-2.0 * np.log(1.0 - uniform(info))) * np.cos(2.0 * np.pi * uniform(info))
        v = (1.0 + c * normal) ** 3
        if v > 0.0 and np.log(1.0 - uniform(info)) < 0.5 * normal * normal + d - d * v + d * np.log(v):
            return boost * d * v


def seed_stream(*numbers: int) -> int:
    """Return the first state of a stream, 64 bits, from non-negative integers such as a seed."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def check_share(name: str, share: float) -> None:
    """Raise ValueError if a share of the games to hold out is not in [0, 1); `name` is of the setting."""
    if not 0 <= share < 1:
        raise ValueError(f"expected {name} in [0, 1), found {share}")


def game_keys(rows: Rows) -> tuple[Hashes, NDArray[np.int64]]:
    """Hashes of games, equal where the first position and the actions of the first `SAME_ROWS` rows are.

    Args:
        rows: whole games one after the other, as in a file. Halfmove clocks, results, numbers and searches do
            not count.

    Returns:
        `[G]` uint64, the key of each game, and `[G]` int64, its number of rows.
    """
    starts = np.flatnonzero(np.append(True, rows.game[1:] != rows.game[:-1])[: len(rows)])
    lengths = np.diff(np.append(starts, len(rows)))
    keys = position_keys(rows.board[starts], rows.jumper[starts]) ^ _SALT
    _add_actions(keys, starts, lengths, np.array(rows.label))
    return keys, lengths


@kernel
def _add_actions(keys, starts, lengths, labels):  # type: ignore[no-untyped-def]
    for g in range(len(keys)):
        for i in range(starts[g], starts[g] + min(lengths[g], SAME_ROWS)):
            keys[g] = mix((keys[g] ^ np.uint64(labels[i])) + GOLDEN)


def held_out(keys: NDArray[Any], seed: int, share: float) -> NDArray[np.bool_]:
    """Which games are held out, `[G]` bool.

    Args:
        keys: `[G]` integers, of `game_keys`.
        seed: selects the games.
        share: expected share of the games to hold out, in [0, 1].
    """
    start = np.uint64(seed % 2**64)
    with np.errstate(over="ignore"):
        mixed = mix(keys.astype(np.uint64) + mix(np.atleast_1d(start) + GOLDEN) + GOLDEN)
    result: NDArray[np.bool_] = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share
    return result


def position_keys(board: NDArray[np.int8], jumper: NDArray[np.int8]) -> Hashes:
    """Hashes of positions, `[N]` uint64, equal where board and jumper are; the halfmove clock does not count.

    Args:
        board: `[N, squares]` int8, mover's view.
        jumper: `[N]` int8.
    """
    if board.shape[1] % 8:  # to whole words
        board = np.pad(board, ((0, 0), (0, -board.shape[1] % 8)))
    words = np.ascontiguousarray(board).view(np.uint64).reshape(-1, board.shape[1] // 8)
    with np.errstate(over="ignore"):
        key: Hashes = mix(jumper.astype(np.int64).view(np.uint64) + GOLDEN)
        for column in range(words.shape[1]):
            key = mix((key ^ words[:, column]) + GOLDEN)
    return key
