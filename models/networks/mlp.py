"""The published network without windows: dense layers on the 32 squares."""

import itertools
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from ckai.models.network import OUTPUTS, Network, NetworkSettings, register, require_at_least


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes."""

    encoding: str = "grid"
    hidden: int = 1024
    """Units of each dense layer."""
    layers: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, hidden=1, layers=1)


@register("mlp", settings=Settings)
class Mlp(Network):
    """Dense layers; with the grid encoding, 32 inputs."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.policy = nn.Linear(settings.hidden, self.encode.NUM_ACTIONS)
        self.value = nn.Linear(settings.hidden, OUTPUTS[settings.value])
        sizes = [self.encode.PLANES * self.encode.board_size] + [settings.hidden] * settings.layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        x = x.flatten(1)
        for layer in self.layers:
            x = functional.relu(layer(x))
        return self.policy(x), self.value(x)
