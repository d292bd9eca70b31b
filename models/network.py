"""What networks are built of: the base class, its two heads, how other programs call one; networks by name.

The names are of files in `models/networks/`, of entry points of `ckai.networks`, and what a program registers
itself; see docs/tutorials/network.md.

The heads give logits of the actions, and a value, whose raw outputs are `[B, n]`: one, whose tanh is the
value, or three, the logits of win, draw and loss for the side to move, whose value is P(win) - P(loss).
"""

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ckai.datasets.choices import NETWORKS, entry_points_of, load_entry
from ckai.datasets.settings import STRICT, parse_settings, read_settings
from ckai.game.squares import NUM_ACTIONS, SQUARES
from ckai.models.encodings import encoding_type
from ckai.models.networks import shipped

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


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Settings that all architectures have; each adds its sizes, and every field has a default.

    Raises:
        ValueError: on construction, for an unknown encoding or value head.
    """

    __pydantic_config__: ClassVar = STRICT
    encoding: str = "planes"
    """The input planes: a name of `ckai.models.encodings`."""
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
            `[B, NUM_ACTIONS]` logits of the actions, and `[B, 1]` or `[B, 3]` raw value outputs.
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


class PackedNetwork(nn.Module):
    """A network with a single input for backends: positions as bytes, then the encoding's extra bytes."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.board_bytes, self.position_bytes = network.encode.board_bytes, network.encode.position_bytes
        self.width = self.position_bytes + network.encode.EXTRA
        """Bytes of an input row."""

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """`[B, width]` int8 (see `Encoding.append_extra`) to logits `[B, NUM_ACTIONS]` and values `[B]`."""
        logits, values = self.network(
            rows[:, : self.board_bytes],
            rows[:, self.board_bytes],
            rows[:, self.board_bytes + 1].to(torch.int16),
            rows[:, self.position_bytes :] if self.network.encode.EXTRA else None,
        )
        return logits, values


def float32_copy(network: Network) -> PackedNetwork:
    """A copy for backends: float32 on the CPU, in evaluation mode, without gradients."""
    mine = copy.deepcopy(network).to(device="cpu", dtype=torch.float32).eval().requires_grad_(False)
    return PackedNetwork(mine).eval()


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


def names() -> list[str]:
    """Names of all architectures, sorted."""
    return sorted({*_NETWORKS, *shipped(), *entry_points_of(NETWORKS)})


def network_type(name: str) -> type[Network]:
    """The class of an architecture.

    Raises:
        ValueError: no architecture has this name; its file registers another; or the package of its entry
            point cannot be imported.
    """
    if name not in _NETWORKS:
        if name in shipped():
            where = importlib.import_module(f"ckai.models.networks.{name}").__file__
        elif name in (entries := entry_points_of(NETWORKS)):
            load_entry(NETWORKS, name)
            where = f"entry point {entries[name].value}"
        else:
            raise ValueError(f"expected one of the networks {', '.join(names())}, found {name!r}")
        if name not in _NETWORKS:
            raise ValueError(f"{where}: expected a network marked @register({name!r}), found none")
    return _NETWORKS[name]


def build(name: str, settings: Mapping[str, Any] | None = None) -> Network:
    """Build a network with newly initialised weights, on the CPU.

    Args:
        name: the architecture, one of `names()` or registered with `register`.
        settings: its settings by name; others have their defaults.

    Raises:
        ValueError: an unknown architecture or setting, an invalid value, or planes or outputs of other
            shapes than declared.
    """
    cls = network_type(name)
    try:
        network = cls(read_settings(cls.settings_type, dict(settings or {})))
    except (TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"settings of {name}: {error}") from error
    _check_shapes(network)
    return network


def _check_shapes(network: Network) -> None:
    """Refuse planes and outputs of other shapes than the encoding and `Network.forward_planes` promise."""
    encode = network.encode
    board, extra = (torch.zeros(1, n, dtype=torch.int8) for n in (encode.board_bytes, encode.EXTRA))
    jumper, clock = torch.tensor([-1], dtype=torch.int8), torch.zeros(1, dtype=torch.int16)
    planes = encode(board, jumper, clock, network.dtype, extra if encode.EXTRA else None)
    if planes.shape != (expected := (1, encode.PLANES, *encode.SHAPE)):
        raise ValueError(
            f"encoding {network.settings.encoding}: expected planes of the shape {expected} for one "
            f"position, found {tuple(planes.shape)}; see PLANES and SHAPE"
        )
    with torch.inference_mode():
        found = [tuple(output.shape) for output in network.eval().forward_planes(planes)]
    network.train()
    if found != (outputs := [(1, encode.NUM_ACTIONS), (1, OUTPUTS[network.settings.value])]):
        raise ValueError(
            f"{network.architecture}: expected logits and raw values of the shapes {outputs} for one "
            f"position, found {found}; see forward_planes"
        )


def parse_network_settings(name: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` texts as settings of an architecture; ValueError as in `datasets.settings`."""
    return parse_settings(network_type(name).settings_type, pairs)
