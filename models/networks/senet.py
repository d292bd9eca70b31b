"""A residual network whose blocks scale their channels by the whole board: squeeze and excitation."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.models.network import register, require_at_least
from ckai.models.networks.resnet import Block, ResNet
from ckai.models.networks.resnet import Settings as ResNetSettings


@dataclass(frozen=True, kw_only=True)
class Settings(ResNetSettings):
    """Sizes."""

    policy_hidden: int = 256
    """Units of the policy head's dense part; 0 omits it."""
    squeeze: int = 16
    """Units that a block's channels are squeezed into."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, squeeze=1)


class SqueezeBlock(Block):
    """A residual block whose channels are scaled and shifted depending on their means over the board.

    Hu, Shen and Sun, "Squeeze-and-Excitation Networks" (2018); the shift is Leela Chess Zero's.
    """

    def __init__(self, channels: int, squeeze: int) -> None:
        super().__init__(channels)
        self.squeeze = nn.Linear(channels, squeeze)
        self.excite = nn.Linear(squeeze, 2 * channels)

    def residual(self, x: Tensor) -> Tensor:
        """The residual that is added to `x`."""
        y = super().residual(x)
        gates: Tensor = self.excite(functional.relu(self.squeeze(y.mean((2, 3)))))
        scale, shift = gates.chunk(2, 1)
        return y * torch.sigmoid(scale)[:, :, None, None] + shift[:, :, None, None]


@register("senet", settings=Settings)
class SeNet(ResNet):
    """The residual network with squeeze-and-excitation blocks."""

    def block(self) -> nn.Module:
        """One block of the tower."""
        return SqueezeBlock(self.settings.channels, self.settings.squeeze)
