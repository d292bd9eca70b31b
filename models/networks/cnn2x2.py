"""A published network with 2x2 windows, and a value head."""

from torch import Tensor, nn
from torch.nn import functional

from ckai.models.layers.dense import DenseNetwork, DenseSettings
from ckai.models.layers.network import register


@register("cnn2x2", settings=DenseSettings)
class Cnn2x2(DenseNetwork):
    """Two 2x2 convolutions that keep 8x4 (zeros after the last row and column), and a dense layer.

    On the 8x4 grid a 2x2 window holds one whole step of each direction, whatever the parity of its row.
    """

    def __init__(self, settings: DenseSettings) -> None:
        super().__init__(settings)
        self.conv1 = nn.Conv2d(self.encode.PLANES, settings.channels, 2)
        self.conv2 = nn.Conv2d(settings.channels, settings.channels, 2)
        self.dense = nn.Linear(settings.channels * self.encode.board_size, settings.hidden)

    def features(self, x: Tensor) -> Tensor:
        """See `DenseNetwork.features`."""
        x = functional.relu(self.conv1(functional.pad(x, (0, 1, 0, 1))))
        x = functional.relu(self.conv2(functional.pad(x, (0, 1, 0, 1))))
        return functional.relu(self.dense(x.flatten(1)))
