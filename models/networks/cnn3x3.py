"""The same published network with 3x3 windows."""

from torch import Tensor, nn
from torch.nn import functional

from ckai.models.layers.dense import DenseNetwork, DenseSettings
from ckai.models.layers.network import register


@register("cnn3x3", settings=DenseSettings)
class Cnn3x3(DenseNetwork):
    """Two 3x3 convolutions with zeros around the grid, and a dense layer.

    The window holds both columns that a diagonal step may lead to, whatever the parity of its row, and one
    more square that no step reaches.
    """

    def __init__(self, settings: DenseSettings) -> None:
        super().__init__(settings)
        self.conv1 = nn.Conv2d(self.encode.PLANES, settings.channels, 3, padding=1)
        self.conv2 = nn.Conv2d(settings.channels, settings.channels, 3, padding=1)
        self.dense = nn.Linear(settings.channels * self.encode.board_size, settings.hidden)

    def features(self, x: Tensor) -> Tensor:
        """See `DenseNetwork.features`."""
        x = functional.relu(self.conv1(x))
        x = functional.relu(self.conv2(x))
        return functional.relu(self.dense(x.flatten(1)))
