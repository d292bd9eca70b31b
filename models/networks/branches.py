"""The three published networks side by side, joined by their last hidden layers."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.models.layers.dense import DenseNetwork, DenseSettings
from ckai.models.layers.network import Network, NetworkSettings, register, require_at_least
from ckai.models.networks.cnn2x2 import Cnn2x2
from ckai.models.networks.cnn3x3 import Cnn3x3
from ckai.models.networks.mlp import Mlp
from ckai.models.networks.mlp import Settings as MlpSettings


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes of the branches and of the layers that join them."""

    encoding: str = "grid"
    channels: int = 32
    """Filters of each convolution."""
    branch_hidden: int = 512
    """Units of each branch's last dense layer."""
    hidden: int = 1024
    """Units of the two dense layers that join the branches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, channels=1, branch_hidden=1, hidden=1)


@register("branches", settings=Settings)
class Branches(DenseNetwork):
    """2x2 windows, 3x3 windows and dense layers, each first trained alone, joined by two dense layers.

    The branches keep their own heads, which the first three stages of the training use.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        shared: dict[str, Any] = {
            "encoding": settings.encoding,
            "value": settings.value,
            "hidden": settings.branch_hidden,
        }
        windows = DenseSettings(channels=settings.channels, **shared)
        dense = MlpSettings(**shared)
        self.branches = nn.ModuleDict(
            {"cnn2x2": Cnn2x2(windows), "cnn3x3": Cnn3x3(windows), "mlp": Mlp(dense)}
        )
        self.join1 = nn.Linear(3 * settings.branch_hidden, settings.hidden)
        self.join2 = nn.Linear(settings.hidden, settings.hidden)

    def trained_parameters(self) -> list[nn.Parameter]:
        """All but those of the branches' own heads."""
        own = {id(p) for branch in self.branches.values() for p in _heads(cast(DenseNetwork, branch))}
        return [p for p in self.parameters() if id(p) not in own]

    def stages(self) -> list[tuple[str, Network]]:
        """Each branch alone, then the whole network."""
        parts = [(name, cast(Network, branch)) for name, branch in self.branches.items()]
        return [*parts, ("joined", self)]

    def features(self, x: Tensor) -> Tensor:
        """See `TrunkNetwork.features`."""
        parts = [branch.features(x) for branch in self.branches.values()]  # type: ignore[operator]
        return functional.relu(self.join2(functional.relu(self.join1(torch.cat(parts, 1)))))


def _heads(network: DenseNetwork) -> list[nn.Parameter]:
    return [*network.policy.parameters(), *network.value.parameters()]
