"""Random numbers inside kernels: one 64-bit stream for each tree, so that threads change nothing.

The generator is SplitMix64 (Steele, Lea, Flood 2014); gamma variates after Marsaglia and Tsang (2000).
"""

import numpy as np

from ckai.datasets.splitmix import GOLDEN, mix
from ckai.game.jit import inner, quick_kernel

_S11, _S32 = np.uint64(11), np.uint64(32)


@inner
def below(stream, n):
    """(stream afterwards, a random integer from 0 to n - 1), n < 2**31."""
    stream = stream + GOLDEN
    return stream, np.int64(mix(stream) >> _S32) * n >> 32


@quick_kernel
def uniform(info):
    """A float64 in [0, 1) from the stream `info[0].rng` (uint64), which moves on."""
    state = info[0].rng + GOLDEN
    info[0].rng = state
    return np.float64(mix(state) >> _S11) * (1.0 / 9007199254740992.0)


@inner
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
