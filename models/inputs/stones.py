"""Encodings of games in which two players set stones on a grid.

A game of its own derives from `StonesEncoding`, sets the class variables and registers itself under its name
(`ckai.models.inputs.registry`). 1 is an own stone, -1 the other's; the jumper is -1 and the halfmove clock 0.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ckai.models.inputs.encodings import Encoding


class StonesEncoding(Encoding):
    """Own stones, the other's stones, and ones, which show a convolution that pads with zeros where it ends."""

    PLANES = 3

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Stones anywhere, `[number, position_bytes]` int8."""
        stones = rng.integers(-1, 2, (number, cls.SHAPE[0] * cls.SHAPE[1]))
        return np.concatenate([stones, np.tile([-1, 0], (number, 1))], 1).astype(np.int8)

    @classmethod
    def legal_mask(cls, boards: NDArray[np.int8]) -> NDArray[np.bool_]:
        """All actions: stones anywhere are no positions of the game, and every score counts."""
        return np.ones((len(boards), cls.NUM_ACTIONS), np.bool_)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """`[B, 3, rows, columns]`, 0 or 1."""
        planes = torch.stack([board > 0, board < 0, torch.ones_like(board, dtype=torch.bool)], 1)
        return planes.to(dtype).view(-1, self.PLANES, *self.SHAPE)
