"""Auxiliary heads: what a network also predicts while it learns, so that its trunk learns more from a game.

They read the features that policy and value read (`TrunkNetwork.features`). They are not part of the network:
only training has them, so that searches, exports and backends neither see nor pay for them.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.models.layers.network import TrunkNetwork

MOVES_LEFT, OWNERSHIP = "moves_left", "ownership"
PLIES = 20.0
"""Plies that are 1 in the output of `MovesLeft`; Leela Chess Zero's scale."""
OWNERS = 3
"""What may be on a square: something of the mover, nothing, something of the other side."""


class MovesLeft(nn.Module):
    """How long the game still lasts, as Leela Chess Zero predicts it: a few planes and a dense layer.

    Its output is made positive by a softplus, whose gradient never vanishes, in place of Leela's ReLU.
    """

    PLANES, UNITS = 8, 64

    def __init__(self, features: torch.Size) -> None:
        """Create the layers; `features` is the shape of the features of one position."""
        super().__init__()
        self.planes: nn.Module | None = None
        units = features[0]
        if len(features) > 1:
            self.planes = nn.Conv2d(features[0], self.PLANES, 1)
            units = self.PLANES * features[1:].numel()
        self.hidden = nn.Linear(units, self.UNITS)
        self.out = nn.Linear(self.UNITS, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features to `[B]`, the plies to the end of the game over `PLIES`."""
        if self.planes is not None:
            x = functional.relu(self.planes(x)).flatten(1)
        out: Tensor = self.out(functional.relu(self.hidden(x)))
        return functional.softplus(out.float()[:, 0])


class Ownership(nn.Module):
    """What is on each square at the end of the game: KataGo's ownership, with three classes in place of two.

    Wu, "Accelerating Self-Play Learning in Go" (2019), section 4.1. In other games squares may be empty.
    """

    def __init__(self, features: torch.Size, squares: int) -> None:
        """Create the layers.

        Args:
            features: shape of the features of one position.
            squares: of the board.
        """
        super().__init__()
        self.squares = squares
        self.out: nn.Module
        if len(features) > 1:
            inner = nn.Conv2d(features[0], features[0], 1)
            self.out = nn.Sequential(inner, nn.ReLU(), nn.Conv2d(features[0], OWNERS, 1))
        else:
            self.out = nn.Linear(features[0], OWNERS * squares)

    def forward(self, x: Tensor) -> Tensor:
        """Features to `[B, OWNERS, squares]`, logits of the mover, nobody and the other."""
        out: Tensor = self.out(x)
        return out.float().reshape(-1, OWNERS, self.squares)


class AuxiliaryHeads(nn.ModuleDict):
    """The auxiliary heads of a network by their names, `MOVES_LEFT` and `OWNERSHIP`."""

    def __init__(self, network: TrunkNetwork, names: Iterable[str]) -> None:
        """Create heads with new weights.

        Args:
            network: whose features they read.
            names: of the heads.
        """
        features, squares = _feature_shape(network), network.encode.board_size
        makers: dict[str, Callable[[], nn.Module]] = {
            MOVES_LEFT: lambda: MovesLeft(features),
            OWNERSHIP: lambda: Ownership(features, squares),
        }
        super().__init__({name: makers[name]() for name in names})

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """The outputs of all heads to the features of positions, by name."""
        return {name: head(features) for name, head in self.items()}


def _feature_shape(network: TrunkNetwork) -> torch.Size:
    """The shape of the features of one position."""
    training, encode = network.training, network.encode
    network.eval()  # batch norms keep their running statistics
    with torch.no_grad():
        planes = torch.zeros(1, encode.PLANES, *encode.SHAPE, dtype=network.dtype)
        shape = network.features(planes).shape[1:]
    network.train(training)
    return shape
