"""What the published networks share: a last dense layer that both heads read."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ckai.models.layers.heads import OUTPUTS
from ckai.models.layers.network import NetworkSettings, TrunkNetwork, require_at_least


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


class DenseNetwork(TrunkNetwork):
    """A network whose heads are one dense layer each on its `features`, the hidden units `[B, hidden]`."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.policy = nn.Linear(settings.hidden, self.encode.NUM_ACTIONS)
        self.value = nn.Linear(settings.hidden, OUTPUTS[settings.value])

    def heads(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """See `TrunkNetwork.heads`."""
        return self.policy(features), self.value(features)
