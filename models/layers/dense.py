"""What the published networks share: a last dense layer that both heads read."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ckai.models.layers.heads import OUTPUTS
from ckai.models.layers.network import Network, NetworkSettings, require_at_least


@dataclass(frozen=True, kw_only=True)
class DenseSettings(NetworkSettings):
    """Sizes; the defaults are those published for `cnn2x2`."""

    encoding: str = "grid"
    channels: int = 32
    """Filters of each convolution."""
    hidden: int = 1024
    """Units of the last dense layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, channels=1, hidden=1)


class DenseNetwork(Network):
    """A network whose heads are one dense layer each on its `features`."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.policy = nn.Linear(settings.hidden, self.encode.NUM_ACTIONS)
        self.value = nn.Linear(settings.hidden, OUTPUTS[settings.value])

    def features(self, x: Tensor) -> Tensor:
        """The last hidden units: planes `[B, PLANES, *SHAPE]` to `[B, hidden]`."""
        raise NotImplementedError

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        features = self.features(x)
        return self.policy(features), self.value(features)
