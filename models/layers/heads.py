"""The two heads of a network: logits of the actions, and a value.

The value head has raw outputs `[B, n]`: one, whose tanh is the value, or three, the logits of win, draw and
loss for the side to move, whose value is P(win) - P(loss).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.game.squares import NUM_ACTIONS, SQUARES

OUTPUTS = {"tanh": 1, "wdl": 3}
"""Number of raw outputs of each type of value head."""


def value_of(raw: Tensor) -> Tensor:
    """`[B]` values in [-1, 1] for the side to move, from raw value outputs `[B, 1]` or `[B, 3]`."""
    if raw.shape[1] == 1:
        return torch.tanh(raw[:, 0])
    shares = torch.softmax(raw, 1)
    return shares[:, 0] - shares[:, 2]


class PlanesPolicy(nn.Sequential):
    """Logits that depend on the whole board: a 1x1 convolution and two dense layers."""

    PLANES = 16

    def __init__(self, channels: int, squares: int, hidden: int, actions: int) -> None:
        super().__init__(
            nn.Conv2d(channels, self.PLANES, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(self.PLANES * squares, hidden),
            nn.ReLU(),
            nn.Linear(hidden, actions),
        )


class StepPolicy(nn.Module):
    """Logits by 1x1 convolutions: four directions for each square.

    An action is index * 4 + direction, so four planes, read square by square, are the logits. Each action has
    a bias, because a step is worth more in some places than in others. An optional dense part that depends on
    the whole board adds its own logits.
    """

    def __init__(
        self, channels: int, hidden: int = 0, *, squares: int = SQUARES, actions: int = NUM_ACTIONS
    ) -> None:
        """Create the layers, with `hidden` units in the dense part; 0 omits it."""
        super().__init__()
        self.inner = nn.Conv2d(channels, channels, 1)
        self.out = nn.Conv2d(channels, 4, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(actions))
        self.dense: nn.Module | None = None
        if hidden:
            self.dense = PlanesPolicy(channels, squares, hidden, actions)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, channels, rows, columns]` to `[B, actions]`."""
        directions = self.out(functional.relu(self.inner(x)))
        scores: Tensor = directions.flatten(2).transpose(1, 2).reshape(-1, len(self.bias)) + self.bias
        return scores if self.dense is None else scores + self.dense(x)


class PlanesValue(nn.Module):
    """Raw value outputs: a 1x1 convolution to 8 planes, a dense layer, and the output layer."""

    PLANES = 8

    def __init__(self, channels: int, squares: int, hidden: int, output: str) -> None:
        super().__init__()
        self.inner = nn.Conv2d(channels, self.PLANES, 1)
        self.hidden = nn.Linear(self.PLANES * squares, hidden)
        self.out = nn.Linear(hidden, OUTPUTS[output])

    def forward(self, x: Tensor) -> Tensor:
        """`[B, channels, rows, columns]` to `[B, 1]` or `[B, 3]`."""
        x = functional.relu(self.inner(x)).flatten(1)
        out: Tensor = self.out(functional.relu(self.hidden(x)))
        return out
