"""The planes of 9x9 Go: eight positions, whose turn it is, and how near the end is."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ckai.models.inputs.registry import register_encoding
from ckai.models.inputs.stones import StonesEncoding
from ckai.rl.games.go.board import POINTS, SIZE
from ckai.rl.games.go.rules import EARLIER, MAX_PLIES, PASS

_TURNS = 2 * (EARLIER + 1)


@register_encoding("go")
class GoEncoding(StonesEncoding):
    """Own and other stones of eight positions, the latest first; Black's turn; a pass; plies; ones.

    A square has three bytes: its stone, and a bit for each earlier position with an own stone, and with one
    of the other side. The byte of the jumper is -1, less 2 for each pass before, less 1 if White is to move;
    that of the halfmove clock is half the plies. Plies are scaled by the usual length of a game.
    """

    VERSION, GAME = "go-1", "go"
    SHAPE, NUM_ACTIONS, BYTES_PER_SQUARE = (SIZE, SIZE), PASS + 1, 3
    PLANES, VALUES = _TURNS + 4, ()
    NAMES = (
        "own stones",
        "other stones",
        *(f"{whose} stones, {n} before" for n in range(1, EARLIER + 1) for whose in ("own", "other")),
        "Black's turn",
        "a pass before",
        "plies",
        "ones",
    )

    bits: Tensor

    def __init__(self) -> None:
        super().__init__()
        bits = torch.tensor([1 << n for n in range(EARLIER)], dtype=torch.int32)
        self.register_buffer("bits", bits.view(1, -1, 1, 1), persistent=False)

    @classmethod
    def sample(cls, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return boards with random stones at random times, `[number, position_bytes]` int8."""
        stones = rng.integers(-1, 2, (number, POINTS))
        earlier = rng.integers(0, 1 << EARLIER, (number, 2, POINTS))
        earlier[:, 1] &= ~earlier[:, 0]
        rest = np.stack([rng.integers(-4, 0, number), rng.integers(0, MAX_PLIES // 2, number)], 1)
        return np.concatenate([stones, earlier.reshape(number, -1), rest], 1).astype(np.int8)

    def forward(
        self,
        board: Tensor,
        jumper: Tensor,
        halfmove_clock: Tensor,
        dtype: torch.dtype,
        extra: Tensor | None = None,
    ) -> Tensor:
        """Return `[B, 20, 9, 9]`, planes in [0, 1]."""
        layers = board.view(-1, self.BYTES_PER_SQUARE, POINTS)
        now, earlier = layers[:, 0], layers[:, 1:].to(torch.int32)
        past = (earlier.unsqueeze(1) & self.bits) != 0
        code = -1 - jumper
        white, passed = (code & 1).view(-1, 1, 1), (code > 1).view(-1, 1, 1)
        plies = (halfmove_clock.to(dtype) * (2 / MAX_PLIES)).clamp(max=1.0).view(-1, 1, 1)
        full = (-1, 1, POINTS)
        planes = torch.cat(
            [
                torch.stack([now > 0, now < 0], 1).to(dtype),
                past.to(dtype).view(-1, 2 * EARLIER, POINTS),
                (1 - white).to(dtype).expand(*full),
                passed.to(dtype).expand(*full),
                plies.expand(*full),
                torch.ones_like(plies).expand(*full),
            ],
            1,
        )
        return planes.view(-1, self.PLANES, *self.SHAPE)
