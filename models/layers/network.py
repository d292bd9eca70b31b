"""The base class of every network, and the registry of architectures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from ckai.datasets.settings import STRICT
from ckai.models.inputs.registry import encoding_type
from ckai.models.layers.heads import OUTPUTS, value_of


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Settings that all architectures have; each adds its sizes, and every field has a default.

    Raises:
        ValueError: on construction, for an unknown encoding or value head.
    """

    __pydantic_config__: ClassVar = STRICT
    encoding: str = "planes"
    """The input planes: a name of `ckai.models.inputs.registry`."""
    value: str = "tanh"
    """The value head: "tanh", a single output, or "wdl", the probabilities of win, draw and loss."""

    def __post_init__(self) -> None:
        encoding_type(self.encoding)
        if self.value not in OUTPUTS:
            raise ValueError(f"expected value {' or '.join(OUTPUTS)}, found {self.value!r}")


def require_at_least(settings: NetworkSettings, **least: float) -> None:
    """Check the lower bounds of settings by name; for the `__post_init__` of a settings class.

    Raises:
        ValueError: names the first setting below its bound.
    """
    for name, lowest in least.items():
        if not getattr(settings, name) >= lowest:
            raise ValueError(f"expected {name} >= {lowest}, found {getattr(settings, name)}")


class Network(nn.Module):
    """A PyTorch module with a policy and a value head: the base class of every architecture.

    A subclass implements `forward_planes` and is decorated with `register`; see docs/tutorials/network.md.

    Attributes:
        settings: the frozen dataclass it was built from.
        encode: its encoding, from the columns of rows to input planes.
    """

    architecture: ClassVar[str]
    settings_type: ClassVar[type[NetworkSettings]]
    CHANNELS_LAST: ClassVar[bool] = False
    """Whether training is faster in the channels-last memory format."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.encode = encoding_type(settings.encoding)()

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights."""
        return next(self.parameters()).dtype

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The architecture: from input planes to logits and raw value outputs.

        Args:
            x: `[B, PLANES, *SHAPE]` planes of the encoding, `[B, PLANES, 8, 4]` in checkers.

        Returns:
            `[B, NUM_ACTIONS]` logits of the actions, and `[B, 1]` or `[B, 3]` raw value outputs
            (`ckai.models.layers.heads`).
        """
        raise NotImplementedError

    def forward(
        self, board: Tensor, jumper: Tensor, halfmove_clock: Tensor, extra: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Evaluate positions, all in the view of the side to move.

        Args:
            board: `[B, board_bytes]` int8; in checkers 32 squares: 1 own man, 3 own king, -1 / -3 the
                other's, 0 empty.
            jumper: `[B]` int8, index of the piece that must continue a capture, -1 if none.
            halfmove_clock: `[B]` int16, plies since the last capture or man's move.
            extra: `[B, EXTRA]` int8, the result of the encoding's `extra`; None: compute it here.

        Returns:
            `[B, NUM_ACTIONS]` logits of the actions, legal or not, and `[B]` values in [-1, 1] for the side
            to move (+1: it wins).
        """
        logits, raw = self.forward_planes(self.encode(board, jumper, halfmove_clock, self.dtype, extra))
        return logits, value_of(raw)

    def clip_weights(self) -> None:
        """Clip the weights to the bounds of the architecture, if it has any; called after every step."""


_NETWORKS: dict[str, type[Network]] = {}
_N = TypeVar("_N", bound=type[Network])


def register(name: str, *, settings: type[NetworkSettings]) -> Callable[[_N], _N]:
    """Register an architecture under a name for `build`, `--model` and checkpoints; a class decorator.

    `settings` is a frozen dataclass whose fields have defaults; it raises ValueError for invalid values.
    """

    def mark(cls: _N) -> _N:
        cls.architecture, cls.settings_type = name, settings
        _NETWORKS[name] = cls
        return cls

    return mark
