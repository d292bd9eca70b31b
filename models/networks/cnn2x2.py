"""A published network with 2x2 windows, and a value head."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from ckai.models.network import OUTPUTS, Network, NetworkSettings, register, require_at_least


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes; the defaults are the published ones."""

    encoding: str = "grid"
    channels: int = 32
    """Filters of each convolution."""
    hidden: int = 1024
    """Units of the last dense layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, channels=1, hidden=1)


@register("cnn2x2", settings=Settings)
class Cnn2x2(Network):
    """Two 2x2 convolutions that keep 8x4 (zeros after the last row and column), and a dense layer.

    On the 8x4 grid a 2x2 window holds one whole step of each direction, whatever the parity of its row.
    """

    WINDOW, PADDING = 2, (0, 1, 0, 1)

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.policy = nn.Linear(settings.hidden, self.encode.NUM_ACTIONS)
        self.value = nn.Linear(settings.hidden, OUTPUTS[settings.value])
        self.conv1 = nn.Conv2d(self.encode.PLANES, settings.channels, self.WINDOW)
        self.conv2 = nn.Conv2d(settings.channels, settings.channels, self.WINDOW)
        self.dense = nn.Linear(settings.channels * self.encode.board_size, settings.hidden)

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        x = functional.relu(self.conv1(functional.pad(x, self.PADDING)))
        x = functional.relu(self.conv2(functional.pad(x, self.PADDING)))
        x = functional.relu(self.dense(x.flatten(1)))
        return self.policy(x), self.value(x)
