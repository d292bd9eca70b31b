"""The same published network with 3x3 windows."""

from ckai.models.network import register
from ckai.models.networks.cnn2x2 import Cnn2x2, Settings


@register("cnn3x3", settings=Settings)
class Cnn3x3(Cnn2x2):
    """Two 3x3 convolutions with zeros around the grid, and a dense layer.

    The window holds both columns that a diagonal step may lead to, whatever the parity of its row, and one
    more square that no step reaches.
    """

    WINDOW, PADDING = 3, (1, 1, 1, 1)
