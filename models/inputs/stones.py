"""Encodings of games in which two players place stones on a grid.

A new game derives from `StonesEncoding`, sets the class variables and registers the class under a name
(`ckai.models.inputs.registry`). 1 is an own stone, -1 the other's; the jumper is -1 and the halfmove clock 0.
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ckai.models.inputs.encodings import Encoding


class StonesEncoding(Encoding):
    """Planes of own stones, the other's stones, and ones, which show a zero-padded convolution the edge."""

    PLANES = 3
    NAMES: ClassVar[tuple[str, ...]] = ("own stones", "other stones", "ones")
    VALUES: ClassVar[tuple[int, ...]] = (1, -1)

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return boards with random stones, `[number, position_bytes]` int8."""
        stones = rng.integers(-1, 2, (number, cls.SHAPE[0] * cls.SHAPE[1]))
        return np.concatenate([stones, np.tile([-1, 0], (number, 1))], 1).astype(np.int8)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return `[B, 3, rows, columns]` of 0 and 1."""
        planes = torch.stack([board > 0, board < 0, torch.ones_like(board, dtype=torch.bool)], 1)
        return planes.to(dtype).view(-1, StonesEncoding.PLANES, *self.SHAPE)
