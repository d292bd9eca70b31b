"""The base class of every network, and the register of those that exist."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from ckai.models.inputs.registry import encoding_type
from ckai.models.layers.heads import OUTPUTS, value_of


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What every architecture can be told; each adds its sizes, and every field has a default."""

    encoding: str = "planes"
    """What it sees of a position: a name in `ckai.models.inputs.encodings`."""
    value: str = "tanh"
    """Its value head: "tanh", a number, or "wdl", the chances of a win, a draw and a loss."""

    def __post_init__(self) -> None:
        encoding_type(self.encoding)
        if self.value not in OUTPUTS:
            raise ValueError(f"expected value {' or '.join(OUTPUTS)}, found {self.value!r}")


def require_at_least(settings: NetworkSettings, **least: float) -> None:
    """Refuse settings below their least value.

    Raises:
        ValueError: with the setting's name.
    """
    for name, lowest in least.items():
        if not getattr(settings, name) >= lowest:
            raise ValueError(f"expected {name} >= {lowest}, found {getattr(settings, name)}")


class Network(nn.Module):
    """A plain module with two heads; `register` sets the class variables of its subclasses.

    Attributes:
        settings: the frozen dataclass it was built from.
        encode: what it sees of a position.
    """

    architecture: ClassVar[str]
    settings_type: ClassVar[type[NetworkSettings]]
    CHANNELS_LAST: ClassVar[bool] = False
    """Whether training is faster with the channels of a square side by side in memory."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.encode = encoding_type(settings.encoding)()

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights."""
        return next(self.parameters()).dtype

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What an architecture is: planes in, scores and the value head's raw output out.

        Args:
            x: `[B, PLANES, 8, 4]` of the encoding.

        Returns:
            `[B, 128]` raw scores of the move actions, and `[B, 1]` or `[B, 3]` (`ckai.models.layers.heads`).
        """
        raise NotImplementedError

    def forward(
        self, board: Tensor, jumper: Tensor, halfmove_clock: Tensor, extra: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Evaluate positions, all in the mover's view.

        Args:
            board: `[B, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty.
            jumper: `[B]` int8, index of the piece that must go on, -1 if none.
            halfmove_clock: `[B]` int16, plies since the last capture or man's move.
            extra: `[B, EXTRA]` int8, what the encoding's `extra` computes; None: computed here.

        Returns:
            `[B, 128]` raw scores of the move actions, legal or not, and `[B]` the value in [-1, 1] for the
            side to move (+1: it wins).
        """
        logits, raw = self.forward_planes(self.encode(board, jumper, halfmove_clock, self.dtype, extra))
        return logits, value_of(raw)

    def first_layer(self) -> nn.Module:
        """The layer that meets the planes: a convolution, or a linear layer over all squares."""
        return next(m for m in self.modules() if isinstance(m, nn.Conv2d | nn.Linear))

    def stages(self) -> list[tuple[str, "Network"]]:
        """Networks to train one after the other, each under a name; the last is this one."""
        return [(self.architecture, self)]


_NETWORKS: dict[str, type[Network]] = {}
_N = TypeVar("_N", bound=type[Network])


def register(name: str, *, settings: type[NetworkSettings]) -> Callable[[_N], _N]:
    """Class decorator: make a `Network` known as `name`.

    Args:
        name: what `--model` and checkpoints call it.
        settings: a frozen dataclass, every field with a default; it refuses wrong values with ValueError.
    """

    def mark(cls: _N) -> _N:
        cls.architecture, cls.settings_type = name, settings
        _NETWORKS[name] = cls
        return cls

    return mark
