"""A residual network whose policy head follows the geometry of the board."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from ckai.models.network import (
    Network,
    NetworkSettings,
    PlanesPolicy,
    PlanesValue,
    StepPolicy,
    register,
    require_at_least,
)


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes; the defaults train on a laptop."""

    channels: int = 32
    blocks: int = 4
    """Residual blocks of two 3x3 convolutions each."""
    value_hidden: int = 64
    """Units of the value head's dense layer."""
    policy_hidden: int = 0
    """Units of the policy head's dense part; 0 omits it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, channels=1, blocks=0, value_hidden=1, policy_hidden=0)


class Block(nn.Module):
    """Two 3x3 convolutions with batch normalisation and a skip connection (He et al. 2015)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def residual(self, x: Tensor) -> Tensor:
        """The residual that is added to `x`."""
        y: Tensor = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        return y

    def forward(self, x: Tensor) -> Tensor:
        """`[B, channels, rows, columns]` to the same."""
        return functional.relu(x + self.residual(x))


@register("resnet", settings=Settings)
class ResNet(Network):
    """A 3x3 stem, residual blocks, and a policy head that scores four directions for each square.

    A 3x3 window on the 8x4 grid holds both columns that a diagonal step can lead to; the parity plane
    distinguishes them.
    """

    CHANNELS_LAST = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        channels = settings.channels
        self.stem = nn.Conv2d(self.encode.PLANES, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.blocks = nn.Sequential(*(self.block() for _ in range(settings.blocks)))
        squares, actions, hidden = self.encode.board_size, self.encode.NUM_ACTIONS, settings.policy_hidden
        self.policy: nn.Module
        if actions == 4 * squares:
            self.policy = StepPolicy(channels, hidden, squares=squares, actions=actions)
        else:
            self.policy = PlanesPolicy(channels, squares, hidden or settings.value_hidden, actions)
        self.value = PlanesValue(channels, squares, settings.value_hidden, settings.value)

    def block(self) -> nn.Module:
        """One block of the tower."""
        return Block(self.settings.channels)

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        tower = self.blocks(functional.relu(self.norm(self.stem(x))))
        return self.policy(tower), self.value(tower)
