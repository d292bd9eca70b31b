"""One position as the bytes that networks get; the search encodes its positions itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import quick_kernel
from ckai.rl.games import contract
from ckai.rl.games.spec import GameSpec


@quick_kernel
def _encode(game, state, out):  # type: ignore[no-untyped-def]
    contract.encode(game, state, out)  # type: ignore[no-untyped-call]


def encoded_position(spec: GameSpec, position: Any) -> NDArray[np.int8]:
    """Return a position as `[position_bytes]` int8, in the view of the side to move."""
    out = np.zeros(spec.position_bytes, np.int8)
    _encode(spec.rules, tuple(np.int64(word) for word in spec.state(position)), out)
    return out
