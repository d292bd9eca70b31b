"""Random numbers in kernels: one stream per tree, so that results do not depend on the threads.

The generator is SplitMix64 (Steele, Lea, Flood 2014); gamma variates after Marsaglia and Tsang (2000).
"""

import numpy as np

from ckai.datasets.split import GOLDEN, mix
from ckai.game.jit import inner

_S11, _S32 = np.uint64(11), np.uint64(32)


@inner
def below(stream, n):
    """Return (state of the stream afterwards, a random integer from 0 to n - 1), 0 < n < 2**31."""
    stream = stream + GOLDEN
    return stream, np.int64(mix(stream) >> _S32) * n >> 32


@inner
def uniform(info):
    """Return a random float64 in [0, 1) and advance the stream, `info[0].rng` (uint64)."""
    state = info[0].rng + GOLDEN
    info[0].rng = state
    return np.float64(mix(state) >> _S11) * (1.0 / 9007199254740992.0)


@inner
def gamma(info, shape):
    """Return a gamma variate of the given shape (above 0) and scale 1, see `uniform` for `info`."""
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
