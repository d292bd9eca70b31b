"""A residual network on planes, with the geometry of the board built in."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.game.squares import LABELS
from ckai.models.encodings import PlanesEncoding
from ckai.models.registry import Network, register


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sizes; the defaults train on a laptop."""

    channels: int = 32
    blocks: int = 4
    """Residual blocks of two 3x3 convolutions each."""
    value_hidden: int = 64
    """Units of the value head's dense layer."""

    def __post_init__(self) -> None:
        for name, least in (("channels", 1), ("blocks", 0), ("value_hidden", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"expected {name} >= {least}, found {getattr(self, name)}")


class Block(nn.Module):
    """Two 3x3 convolutions with batch normalisation and a way past them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, channels, 8, 4]` to the same."""
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(x + self.norm2(self.conv2(y)))


@register("resnet", settings=Settings, encoding=PlanesEncoding)
class ResNet(Network):
    """A 3x3 stem, residual blocks, and a policy head of one 1x1 convolution: 4 directions for each square.

    A 3x3 window on the 8x4 grid holds both columns that a diagonal step can lead to; the parity plane, fed
    to the stem, tells them apart. Labels are index * 4 + direction, so the head's four planes, read square by
    square, are the 128 scores; a bias for each label is learned on top, as the same step is not worth the
    same everywhere.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        channels = settings.channels
        self.stem = nn.Conv2d(self.encode.PLANES, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(settings.blocks)))
        self.policy_in = nn.Conv2d(channels, channels, 1)
        self.policy_out = nn.Conv2d(channels, 4, 1, bias=False)
        self.policy_bias = nn.Parameter(torch.zeros(LABELS))
        self.value_in = nn.Conv2d(channels, 8, 1)
        self.value_hidden = nn.Linear(8 * 32, settings.value_hidden)
        self.value_out = nn.Linear(settings.value_hidden, 1)

    def forward(self, board: Tensor, jumper: Tensor, quiet: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward`."""
        x = self.encode(board, jumper, quiet, self.dtype)
        x = self.blocks(functional.relu(self.norm(self.stem(x))))
        directions = self.policy_out(functional.relu(self.policy_in(x)))  # [B, 4, 8, 4]
        logits = directions.flatten(2).transpose(1, 2).reshape(-1, LABELS) + self.policy_bias
        v = functional.relu(self.value_in(x)).flatten(1)
        v = self.value_out(functional.relu(self.value_hidden(v)))
        return logits, torch.tanh(v).squeeze(1)
