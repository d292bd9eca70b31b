"""Random numbers inside kernels: one 64-bit stream for each tree, so that threads change nothing.

The generator is SplitMix64 (Steele, Lea, Flood 2014); gamma variates after Marsaglia and Tsang (2000).
"""

import numpy as np
from numba import njit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@njit(cache=True)
def uniform(info):
    """A float64 in [0, 1) from the stream `info[0].rng` (uint64), which moves on."""
    state = info[0].rng + _GAMMA
    info[0].rng = state
    z = (state ^ (state >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return np.float64((z ^ (z >> _S31)) >> _S11) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def gamma(info, shape):
    """A gamma variate of the given shape (above 0) and scale 1."""
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
    """The first state of a stream, well mixed from any number of non-negative integers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
