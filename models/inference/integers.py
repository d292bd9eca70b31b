"""The network `swift` computed with integers, in Numba, one position at a time.

Activations and weights are multiples of 1/512 in int16, so that a sum of products is a multiple of 2 ** -18
in int32. Weights are rounded once, when a network is converted; the sums are exact, so every machine gets
the same (as in the networks of Nasu 2018).

The kernels have no Python in them and need no batch: a search calls `forward` and then `logit` for each
legal action.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from ckai.game.jit import hot, kernel, quick_kernel
from ckai.models.inference.evaluator import (
    BackendError,
    Boards,
    Floats,
    check_boards,
    output_arrays,
    sizes_of,
)
from ckai.models.layers.network import Network
from ckai.models.networks.swift import SCALE, Swift

SHIFT = SCALE.bit_length() - 1
"""log2 of `SCALE`."""
PRODUCT_SCALE = SCALE * SCALE
"""Integer that stands for 1 in a sum of products."""
TOLERANCE = 2.0**-10
"""Relative excess of weights over the bounds of `Swift` that is allowed: float16 rounds to 2 ** -11."""
MAX_EXPONENT = 700.0
"""Exponent whose exponential still has room in float64: no weights make a value that is not finite."""


class IntegerWeights(NamedTuple):
    """The weights of a network, for the kernels.

    H, N and M are the units of the first, second and third layer, K the buckets, A the actions.
    """

    planes: Any
    """[7] int64: the binary plane of each board value from -3 to 3, -1 where it has none."""
    jumper_plane: Any
    """[1] int64: the plane of the jumper, -1 if the game has none."""
    bucket_pieces: Any
    """[1] int64: how many piece counts share a bucket."""
    first: Any
    """[planes * squares, H] int16, multiples of 1/512."""
    first_bias: Any
    """[H] int16, multiples of 1/512."""
    second: Any
    """[K, N, H] int16."""
    second_bias: Any
    """[K, N] int32, multiples of 2 ** -18, as are all biases below."""
    third: Any
    """[K, M, N] int16."""
    third_bias: Any
    """[K, M] int32."""
    value: Any
    """[K, 1 or 3, M] int16."""
    value_bias: Any
    """[K, 1 or 3] int32."""
    policy: Any
    """[A, H] int16."""
    policy_narrow: Any
    """[K, A, N] int16."""
    policy_bias: Any
    """[K, A] int32."""


class Hidden(NamedTuple):
    """Working memory of one thread: the activations of the position that `forward` saw last."""

    wide: Any
    """[H] int16."""
    narrow: Any
    """[N] int16."""
    narrowest: Any
    """[M] int16."""
    bucket: Any
    """[1] int64."""


@quick_kernel
def hidden_arrays(weights):
    """Return new working memory for `forward`."""
    return Hidden(
        np.empty(weights.first.shape[1], np.int16),
        np.empty(weights.second.shape[1], np.int16),
        np.empty(weights.third.shape[1], np.int16),
        np.zeros(1, np.int64),
    )


@hot
def dot(row, activations):
    """Return the int32 sum of products of two int16 arrays of the same length."""
    total = np.int32(0)
    for i in range(len(activations)):
        # The casts keep the sum in 32 bits, which the compiler turns into its instruction for such sums.
        total = np.int32(total + np.int32(row[i]) * np.int32(activations[i]))
    return total


@hot
def narrow_layer(weights, bias, activations, out):
    """Fill `out` with the clipped activations of a layer, rounded to multiples of 1/512."""
    for unit in range(len(out)):
        total = dot(weights[unit], activations) + bias[unit] + (SCALE >> 1) >> SHIFT
        out[unit] = min(max(total, 0), SCALE)


@hot
def forward(weights, board, hidden):
    """Compute all layers of a position, and its value.

    Args:
        weights: the `IntegerWeights`.
        board: `[squares + 2]` int8, an encoded position in the view of the side to move.
        hidden: filled, for `logit`.

    Returns:
        The value for the side to move, [-1, 1].
    """
    wide = hidden.wide
    squares = len(board) - 2
    for i in range(len(wide)):
        wide[i] = weights.first_bias[i]
    pieces = 0
    for square in range(squares):
        plane = weights.planes[board[square] + 3]
        if plane >= 0:
            pieces += 1
            add_row(wide, weights.first[plane * squares + square])
    if board[squares] >= 0 and weights.jumper_plane[0] >= 0:
        add_row(wide, weights.first[weights.jumper_plane[0] * squares + board[squares]])
    for i in range(len(wide)):
        wide[i] = min(max(wide[i], np.int16(0)), np.int16(SCALE))
    bucket = min(max(0, (pieces - 1) // weights.bucket_pieces[0]), weights.second.shape[0] - 1)
    hidden.bucket[0] = bucket
    narrow_layer(weights.second[bucket], weights.second_bias[bucket], wide, hidden.narrow)
    narrow_layer(weights.third[bucket], weights.third_bias[bucket], hidden.narrow, hidden.narrowest)
    return value_of(weights.value[bucket], weights.value_bias[bucket], hidden.narrowest)


@hot
def add_row(total, row):
    """Add a row to a sum of the same length."""
    for i in range(len(total)):
        total[i] += row[i]


@hot
def value_of(weights, bias, activations):
    """Return the value of the last layer, [-1, 1], rounded as in a batch; see `heads.value_of`."""
    first = (dot(weights[0], activations) + bias[0]) / PRODUCT_SCALE
    if len(bias) == 1:
        return np.float64(np.float32(np.tanh(first)))
    draw = (dot(weights[1], activations) + bias[1]) / PRODUCT_SCALE - first
    loss = (dot(weights[2], activations) + bias[2]) / PRODUCT_SCALE - first
    shift = max(0.0, max(draw, loss) - MAX_EXPONENT)
    win, draw, loss = np.exp(-shift), np.exp(draw - shift), np.exp(loss - shift)
    return np.float64(np.float32((win - loss) / (win + draw + loss)))


@hot
def logit(weights, hidden, action):
    """Return the logit of an action in the position that `forward` saw last."""
    bucket = hidden.bucket[0]
    total = dot(weights.policy[action], hidden.wide)
    total += dot(weights.policy_narrow[bucket, action], hidden.narrow)
    return np.float32(total + weights.policy_bias[bucket, action]) / np.float32(PRODUCT_SCALE)


@kernel
def evaluate_boards(weights, boards, logits, values):
    """Evaluate positions one after the other.

    Args:
        weights: the `IntegerWeights`.
        boards: `[B, squares + 2]` int8.
        logits: `[B, A]` float32, filled for all actions.
        values: `[B]` float32, filled.
    """
    hidden = hidden_arrays(weights)
    for row in range(len(boards)):
        values[row] = forward(weights, boards[row], hidden)
        for action in range(logits.shape[1]):
            logits[row, action] = logit(weights, hidden, action)


def quantize(network: Network) -> IntegerWeights:
    """Return the integers of a network: its weights, clipped and rounded.

    Args:
        network: a `Swift` network.

    Raises:
        BackendError: another architecture, or a weight that is not finite or beyond its bound, so that a sum
            of integers could overflow.
    """
    if not isinstance(network, Swift):
        raise BackendError(
            f"evaluator integers: expected a network of architecture swift, found {network.architecture}"
        )
    if not all(bool(torch.isfinite(weights).all()) for weights in network.parameters()):
        raise BackendError("evaluator integers: expected finite weights, found NaN or infinity")
    for name, most in network.bounds().items():
        largest = float(network.get_parameter(name).detach().abs().max())
        if largest > most * (1 + TOLERANCE):
            raise BackendError(
                f"evaluator integers: expected weights of up to {most:g} in {name}, found {largest:g}: the "
                "network may have diverged in training"
            )
    encode = network.encode
    planes = np.full(7, -1, np.int64)
    for plane, value in enumerate(encode.VALUES):
        planes[value + 3] = plane
    return IntegerWeights(
        planes=planes,
        jumper_plane=np.array([len(encode.VALUES) if encode.JUMPER else -1]),
        bucket_pieces=np.array([network.bucket_pieces]),
        **{name: rounded.cpu().numpy() for name, rounded in network.rounded().items()},
    )


class IntegerEvaluator:
    """A `swift` network computed with integers; searches evaluate its positions inside their kernels."""

    def __init__(self, network: Network) -> None:
        """Convert a network.

        Args:
            network: a `Swift` network; later training does not change the evaluator.

        Raises:
            BackendError: see `quantize`.
        """
        self.weights = quantize(network)
        self._sizes = sizes_of(network.encode)
        self.name = f"{network.architecture}, integers, cpu"

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`."""
        check_boards(boards, *self._sizes, out_logits, out_values)
        logits, values = output_arrays(len(boards), self._sizes[1], out_logits, out_values)
        evaluate_boards(self.weights, boards, logits, values)
        return logits, values

    def working_memory(self) -> Hidden:
        """Return new arrays for `forward`; every thread needs its own."""
        return Hidden(*hidden_arrays(self.weights))

    def close(self) -> None:
        """Nothing to release."""
