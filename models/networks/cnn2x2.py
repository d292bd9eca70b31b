"""The seed article's network, with a value output beside the moves."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.game.squares import LABELS
from ckai.models.encodings import COLUMNS, ROWS, GridEncoding
from ckai.models.registry import Network, register


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes; the defaults are the article's."""

    channels: int = 32
    """Filters of each of the two convolutions."""
    hidden: int = 1024
    """Units of the dense layer."""

    def __post_init__(self) -> None:
        for name in ("channels", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"expected {name} >= 1, found {getattr(self, name)}")


@register("cnn2x2", settings=Settings, encoding=GridEncoding)
class Cnn2x2(Network):
    """Two 2x2 convolutions that keep 8x4 (zeros after the last row and column), a dense layer, two heads.

    On the 8x4 grid a 2x2 window holds one whole step of each direction, whatever the parity of its row.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.conv1 = nn.Conv2d(self.encode.PLANES, settings.channels, 2)
        self.conv2 = nn.Conv2d(settings.channels, settings.channels, 2)
        self.dense = nn.Linear(settings.channels * ROWS * COLUMNS, settings.hidden)
        self.policy = nn.Linear(settings.hidden, LABELS)
        self.value = nn.Linear(settings.hidden, 1)

    def forward(self, board: Tensor, jumper: Tensor, quiet: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward`."""
        x = self.encode(board, jumper, quiet, self.dtype)
        x = functional.relu(self.conv1(functional.pad(x, (0, 1, 0, 1))))
        x = functional.relu(self.conv2(functional.pad(x, (0, 1, 0, 1))))
        x = functional.relu(self.dense(x.flatten(1)))
        return self.policy(x), torch.tanh(self.value(x)).squeeze(1)
