"""A small network for one position at a time: a sum of few rows, then two narrow layers.

What engines call an efficiently updatable network (NNUE; Nasu 2018, and Stockfish's documentation of its
training): the inputs are binary and few of them are 1, so that the first layer is the sum of one row of
weights for each piece. Activations are clipped to [0, 1] and weights to a few units,
so that the network can be computed with integers (`ckai.models.inference.integers`): all are multiples of
1/512 in 16 bits. A checkpoint holds both, the weights and the integers they are rounded to.

Positions with many and with few pieces have later layers of their own ("buckets"). A search reads the logits
of the legal actions only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ckai.models.inputs.registry import encoding_type
from ckai.models.layers.heads import OUTPUTS
from ckai.models.layers.network import Network, NetworkSettings, register, require_at_least

SCALE = 512
"""Integer that stands for 1, of an activation or a weight."""
LARGEST_WEIGHT, LARGEST_BIAS = 4.0, 1000.0
"""Bounds after the first layer: with so many units, all sums are less than 2 ** 31."""
MOST_UNITS, MOST_NARROW_UNITS = 1024, 256
"""Bounds of the units of the first layer and of the others."""
LARGEST_SUM = 32767 / SCALE
"""Bound of the sums of the first layer, in 16 bits."""


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes."""

    encoding: str = "pieces"
    value: str = "wdl"
    hidden: int = 512
    """Units of the first layer."""
    narrow: int = 32
    """Units of the second layer."""
    narrowest: int = 32
    """Units of the third layer, which only the value reads."""
    buckets: int = 8
    """Sets of later layers, by the number of pieces."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, hidden=1, narrow=1, narrowest=1, buckets=1)
        for name, most in (
            ("hidden", MOST_UNITS),
            ("narrow", MOST_NARROW_UNITS),
            ("narrowest", MOST_NARROW_UNITS),
        ):
            if getattr(self, name) > most:
                raise ValueError(f"expected {name} <= {most}, found {getattr(self, name)}")
        if not encoding_type(self.encoding).VALUES:
            raise ValueError(f"expected an encoding with binary planes of pieces, found {self.encoding!r}")


INTEGERS = "integers_"
"""Prefix of the names of the integers among a checkpoint's weights."""


class Buckets(nn.Module):
    """Linear layers of the same size, one for each bucket."""

    def __init__(self, buckets: int, inputs: int, outputs: int) -> None:
        super().__init__()
        layers = [nn.Linear(inputs, outputs) for _ in range(buckets)]
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))

    def forward(self, x: Tensor, bucket: Tensor) -> Tensor:
        """`[B, inputs]` and `[B]` int64 to `[B, outputs]`."""
        buckets, outputs, inputs = self.weight.shape
        everything = nn.functional.linear(x, self.weight.view(-1, inputs), self.bias.view(-1))
        chosen = bucket.view(-1, 1, 1).expand(-1, 1, outputs)
        return everything.view(-1, buckets, outputs).gather(1, chosen).squeeze(1)


@register("swift", settings=Settings)
class Swift(Network):
    """A wide first layer of binary inputs, two narrow layers, a value, and a row for every action."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        inputs = self.encode.binary_planes * self.encode.board_size
        self.first = nn.Linear(inputs, settings.hidden)
        self.second = Buckets(settings.buckets, settings.hidden, settings.narrow)
        self.third = Buckets(settings.buckets, settings.narrow, settings.narrowest)
        self.value = Buckets(settings.buckets, settings.narrowest, OUTPUTS[settings.value])
        self.policy = nn.Linear(settings.hidden, self.encode.NUM_ACTIONS)
        self.policy_narrow = Buckets(settings.buckets, settings.narrow, self.encode.NUM_ACTIONS)
        for name, rounded in self.rounded().items():
            self.register_buffer(f"{INTEGERS}{name}", rounded)
        self.register_state_dict_pre_hook(_refresh_integers)  # type: ignore[no-untyped-call]

    @property
    def bucket_pieces(self) -> int:
        """Numbers of pieces that share a bucket: 1 to this number the first, and so on."""
        buckets: int = self.settings.buckets
        return -(-self.encode.most_pieces // buckets)

    def first_layer(self) -> nn.Module:
        """See `Network.first_layer`."""
        return self.first

    def clip_weights(self) -> None:
        """Clip the weights, so that no sum of integers can overflow."""
        rows = self.encode.most_pieces + 2
        with torch.no_grad():
            for parameter in self.first.parameters():
                parameter.clamp_(-LARGEST_SUM / rows, LARGEST_SUM / rows)
            for layer in (self.second, self.third, self.value, self.policy, self.policy_narrow):
                layer.weight.clamp_(-LARGEST_WEIGHT, LARGEST_WEIGHT)
                layer.bias.clamp_(-LARGEST_BIAS, LARGEST_BIAS)

    def rounded(self) -> dict[str, Tensor]:
        """Return the integers of the weights, by name, see `scaled`.

        A weight that is not finite, or too large for its integer, gives nonsense.
        """
        return {
            name: torch.round(weights.double() * scale).to(dtype).contiguous()
            for name, (weights, scale, dtype) in self.scaled().items()
        }

    def scaled(self) -> dict[str, tuple[Tensor, int, torch.dtype]]:
        """Return the weights by the names of their integers, with the integer for 1 and the type of each.

        Weights and the biases of the first layer are multiples of 1 / `SCALE` in int16, other biases of
        1 / `SCALE` ** 2 in int32. `first` is `[inputs, hidden]`.
        """
        layers = {"second": self.second, "third": self.third, "value": self.value}
        parts = {
            "first": (self.first.weight.T, SCALE, torch.int16),
            "first_bias": (self.first.bias, SCALE, torch.int16),
            "policy": (self.policy.weight, SCALE, torch.int16),
            "policy_narrow": (self.policy_narrow.weight, SCALE, torch.int16),
            "policy_bias": (self.policy.bias + self.policy_narrow.bias, SCALE**2, torch.int32),
        }
        for name, layer in layers.items():
            parts[name] = (layer.weight, SCALE, torch.int16)
            parts[f"{name}_bias"] = (layer.bias, SCALE**2, torch.int32)
        return {name: (weights.detach(), scale, dtype) for name, (weights, scale, dtype) in parts.items()}

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        if self.training:
            self.clip_weights()
        planes = x[:, : self.encode.binary_planes].flatten(1)
        pieces = planes[:, : len(self.encode.VALUES) * self.encode.board_size].sum(1).long()
        bucket = ((pieces - 1) // self.bucket_pieces).clamp(0, self.settings.buckets - 1)
        wide = self.first(planes).clamp(0, 1)
        narrow = self.second(wide, bucket).clamp(0, 1)
        narrowest = self.third(narrow, bucket).clamp(0, 1)
        logits = self.policy(wide) + self.policy_narrow(narrow, bucket)
        return logits, self.value(narrowest, bucket)


def _refresh_integers(network: nn.Module, prefix: str, keep_vars: bool) -> None:
    """Round the weights anew before they are saved."""
    assert isinstance(network, Swift)
    for name, rounded in network.rounded().items():
        network.get_buffer(f"{INTEGERS}{name}").copy_(rounded)
