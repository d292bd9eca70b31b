"""What a network sees of a position: small modules that turn row tensors into planes on the 8x4 grid.

Every encoding takes the same three tensors, always in mover's view (whoever moves plays towards higher rows):

- `board` `[B, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty;
- `jumper` `[B]` int8: index of the piece that must go on capturing, -1 if none;
- `quiet` `[B]` int16: plies since the last capture or man's move.

It gives floats `[B, planes, 8, 4]`, in the type of the network's weights. `VERSION` names the planes; it is
stored in checkpoints, and changes when a plane does.

Version history:
    grid-1: one plane of -3, -1, 0, 1, 3.
    planes-1: own men, own kings, the other's men, the other's kings, empty, odd rows, jumper, quiet / 80.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

ROWS, COLUMNS = 8, 4
QUIET_SCALE = 80.0
"""The quiet count at which the game is drawn by default; the plane is 1 there."""


class Encoding(nn.Module):
    """Rows to planes; knows its number of planes and its version."""

    VERSION: ClassVar[str]
    PLANES: ClassVar[int]

    def forward(self, board: Tensor, jumper: Tensor, quiet: Tensor, dtype: torch.dtype) -> Tensor:
        """`[B, PLANES, 8, 4]` of `dtype`; see the module's page for the inputs."""
        raise NotImplementedError


class GridEncoding(Encoding):
    """The seed article's single plane: -3, -1, 0, 1, 3. The jumper and the quiet count are not seen."""

    VERSION = "grid-1"
    PLANES = 1

    def forward(self, board: Tensor, jumper: Tensor, quiet: Tensor, dtype: torch.dtype) -> Tensor:
        """`[B, 1, 8, 4]`."""
        return board.to(dtype).view(-1, 1, ROWS, COLUMNS)


class PlanesEncoding(Encoding):
    """One plane per kind of piece, and what the pieces alone do not say.

    Row parity is a plane because in the 8x4 grid a diagonal step leads to another column from an odd row
    than from an even one.
    """

    VERSION = "planes-1"
    PLANES = 8

    values: Tensor
    parity: Tensor
    squares: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer(
            "values", torch.tensor([1, 3, -1, -3, 0], dtype=torch.int8).view(1, 5, 1), persistent=False
        )
        self.register_buffer("parity", (torch.arange(32) // COLUMNS % 2).view(1, 1, 32), persistent=False)
        self.register_buffer("squares", torch.arange(32, dtype=torch.int8).view(1, 32), persistent=False)

    def forward(self, board: Tensor, jumper: Tensor, quiet: Tensor, dtype: torch.dtype) -> Tensor:
        """`[B, 8, 8, 4]`, everything in [0, 1]; quiet is cut at 80."""
        size = board.shape[0]
        pieces = (board.unsqueeze(1) == self.values).to(dtype)
        parity = self.parity.to(dtype).expand(size, 1, 32)
        going_on = (jumper.view(-1, 1) == self.squares).to(dtype).unsqueeze(1)
        count = (quiet.to(dtype) / QUIET_SCALE).clamp(max=1.0).view(-1, 1, 1).expand(size, 1, 32)
        return torch.cat([pieces, parity, going_on, count], 1).view(size, self.PLANES, ROWS, COLUMNS)
