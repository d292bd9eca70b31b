"""SplitMix64 (Steele, Lea, Flood 2014): the one mixing function behind every hash and random stream."""

import numpy as np

from ckai.game.jit import inner

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Added to the state at each step."""
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


@inner
def mix(z):
    """The finisher: every bit of a uint64 reaches every bit of the result.

    From Python it does the same to a NumPy array of uint64.
    """
    z = (z ^ (z >> _S30)) * MIX_1
    z = (z ^ (z >> _S27)) * MIX_2
    return z ^ (z >> _S31)
