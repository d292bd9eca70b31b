"""A small network for one position at a time: a sum of few rows, then two narrow layers.

What engines call an efficiently updatable network (NNUE; Nasu 2018, and Stockfish's documentation of its
training): the first layer is the sum of one row of weights for each piece and pair of neighbours, and a move
changes few of these. The activations of its two halves are multiplied with each other. All are clipped to
[0, 1] and weights to a few units, so that the network can be computed with integers
(`ckai.models.inference.integers`).

Positions with many and with few pieces have later layers of their own ("buckets"). A search reads the logits
of the legal actions only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ckai.models.encodings import encoding_type
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.vectors import SCALE
from ckai.models.network import OUTPUTS, Network, NetworkSettings, register, require_at_least

MAX_WEIGHT, MAX_BIAS = 4.0, 1000.0
"""Bounds of weights and biases after the first layer: with at most `MAX_UNITS` units no sum overflows."""
MAX_UNITS, MAX_NARROW_UNITS = 1024, 256
"""Bounds of the units of the first layer and of the others."""
MAX_SUM = 32767
"""Bound of the sums of the first layer, in 16 bits."""


@dataclass(frozen=True, kw_only=True)
class Settings(NetworkSettings):
    """Sizes."""

    encoding: str = "pairs"
    value: str = "wdl"
    hidden: int = 512
    """Units of the first layer."""
    narrow: int = 32
    """Units of the second layer."""
    narrowest: int = 32
    """Units of the third layer, which only the value reads."""
    buckets: int = 8
    """Sets of later layers, by the number of pieces."""
    product: bool = True
    """Multiply the units of the first half of the first layer with those of the second half."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, hidden=1, narrow=1, narrowest=1, buckets=1)
        for name in ("hidden", "narrow", "narrowest"):
            most, found = MAX_UNITS if name == "hidden" else MAX_NARROW_UNITS, getattr(self, name)
            if found > most:
                raise ValueError(f"expected {name} <= {most}, found {found}")
        if self.product and self.hidden % 2:
            raise ValueError(f"expected an even number of hidden units to multiply, found {self.hidden}")
        if not encoding_type(self.encoding).VALUES:
            raise ValueError(f"expected an encoding with binary planes of pieces, found {self.encoding!r}")


TOLERANCE = 2.0**-10
"""Relative excess of weights over their bounds that is allowed: float16 rounds to 2 ** -11."""


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
        wide = settings.hidden // 2 if settings.product else settings.hidden
        self.first = nn.Linear(inputs, settings.hidden)
        self.second = Buckets(settings.buckets, wide, settings.narrow)
        self.third = Buckets(settings.buckets, settings.narrow, settings.narrowest)
        self.value = Buckets(settings.buckets, settings.narrowest, OUTPUTS[settings.value])
        self.policy = nn.Linear(wide, self.encode.NUM_ACTIONS)
        self.policy_narrow = Buckets(settings.buckets, settings.narrow, self.encode.NUM_ACTIONS)

    @property
    def bucket_pieces(self) -> int:
        """How many piece counts share a bucket: 1 to this number share the first, and so on."""
        buckets: int = self.settings.buckets
        return -(-self.encode.max_pieces // buckets)

    def bounds(self) -> dict[str, float]:
        """Return the largest absolute value of each parameter, by its name: no sum of integers overflows."""
        pairs = sum(square >= 0 for near in self.encode.PAIRS for square in near)
        first = MAX_SUM // (self.encode.max_pieces + pairs + 2) / SCALE
        found = {"first.weight": first, "first.bias": first}
        for layer in ("second", "third", "value", "policy", "policy_narrow"):
            found |= {f"{layer}.weight": MAX_WEIGHT, f"{layer}.bias": MAX_BIAS}
        return found

    def clip_weights(self) -> None:
        """Clip the weights to `bounds`."""
        with torch.no_grad():
            for name, bound in self.bounds().items():
                self.get_parameter(name).clamp_(-bound, bound)

    def rounded(self) -> dict[str, Tensor]:
        """Return the integers of the weights, by name, as if these were within `bounds`.

        Weights and the biases of the first layer are multiples of 1 / `SCALE` in int16, other biases of
        1 / `SCALE` ** 2 in int32. `first` is `[inputs, hidden]`. A weight that is not finite gives nonsense.
        """
        clipped = {
            name: self.get_parameter(name).detach().clamp(-bound, bound)
            for name, bound in self.bounds().items()
        }
        parts = {
            "first": clipped["first.weight"].T,
            "policy": clipped["policy.weight"],
            "policy_narrow": clipped["policy_narrow.weight"],
            "first_bias": clipped["first.bias"],
        }
        biases = {"policy_bias": clipped["policy.bias"] + clipped["policy_narrow.bias"]}
        for layer in ("second", "third", "value"):
            parts[layer], biases[f"{layer}_bias"] = clipped[f"{layer}.weight"], clipped[f"{layer}.bias"]
        return {
            name: torch.round(weights.double() * scale).to(dtype).contiguous()
            for scale, dtype, some in ((SCALE, torch.int16, parts), (SCALE**2, torch.int32, biases))
            for name, weights in some.items()
        }

    def forward_planes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `Network.forward_planes`."""
        if self.training:
            self.clip_weights()
        planes = x[:, : self.encode.binary_planes].flatten(1)
        pieces = planes[:, : len(self.encode.VALUES) * self.encode.board_size].sum(1).long()
        bucket = ((pieces - 1) // self.bucket_pieces).clamp(0, self.settings.buckets - 1)
        wide = self.first(planes).clamp(0, 1)
        if self.settings.product:
            wide = wide[:, : wide.shape[1] // 2] * wide[:, wide.shape[1] // 2 :]
        narrow = self.second(wide, bucket).clamp(0, 1)
        narrowest = self.third(narrow, bucket).clamp(0, 1)
        logits = self.policy(wide) + self.policy_narrow(narrow, bucket)
        return logits, self.value(narrowest, bucket)


def integers_of(network: Network) -> dict[str, NDArray[Any]]:
    """Return the integers of a `Swift` network, for `IntegerEvaluator`: its weights, clipped and rounded.

    Raises:
        BackendError: another architecture, or a weight that is not finite or beyond its bound, so that a sum
            of integers could overflow.
    """
    if not isinstance(network, Swift):
        raise BackendError(
            f"evaluator integers: expected a network of architecture swift, found {network.architecture}; "
            "`ckai pretrain --model swift` trains one"
        )
    for name, most in network.bounds().items():
        largest = float(network.get_parameter(name).detach().abs().max())
        if not largest <= most * (1 + TOLERANCE):  # NaN is not
            raise BackendError(
                f"evaluator integers: expected weights of up to {most:g} in {name}, found {largest:g}: the "
                "network may have diverged in training"
            )
    encode, values = network.encode, network.encode.VALUES
    planes, combinations = np.full(7, -1, np.int64), np.full((7, 7), -1, np.int64)
    for plane, value in enumerate(values):
        planes[value + 3] = plane
        for also, other in enumerate(values):
            combinations[value + 3, other + 3] = plane * len(values) + also
    pairs = np.array(
        [
            (square, other, len(values) + encode.JUMPER + way * len(values) ** 2)
            for way, near in enumerate(encode.PAIRS)
            for square, other in enumerate(near)
            if other >= 0
        ],
        np.int64,
    ).reshape(-1, 3)
    bits = np.arange(len(pairs))[:, None]
    return {
        "planes": planes,
        "jumper_plane": np.array([len(values) if encode.JUMPER else -1]),
        "pairs": pairs,
        "touched": ((pairs[:, :2, None] == np.arange(encode.board_size)).any(1) << bits).sum(0),
        "combinations": combinations,
        "bucket_pieces": np.array([network.bucket_pieces]),
        "sizes": np.array([encode.position_bytes, encode.NUM_ACTIONS]),
        **{name: weights.cpu().numpy() for name, weights in network.rounded().items()},
    }
