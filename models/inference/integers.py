"""The network `swift` computed with integers, in Numba, one position at a time.

Activations and weights are multiples of 1/512 in int16, so that a sum of products is a multiple of 2 ** -18
in int32. Weights are rounded once, when a network is converted; the sums are exact, so every machine gets
the same (as in the networks of Nasu 2018).

The kernels have no Python in them and need no batch: a search calls `activate`, and then `value`, or
`logit` for each legal action.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import hot, kernel
from ckai.game.kernels import lowest
from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.models.inference.vectors import (
    LANES,
    SCALE,
    clipped,
    exchanged,
    load,
    load_sums,
    nonzero_pairs,
    pair,
    plus_products,
    product,
    put,
    rounded,
    total,
    zeros,
)

if TYPE_CHECKING:
    from ckai.models.network import Network

BLOCK = 4 * LANES
"""Sums of the first layer that are kept in registers at a time: a row comes from a cache far away."""
PRODUCT_SCALE = SCALE * SCALE
"""Integer that stands for 1 in a sum of products."""
CACHE_LINE = 64
"""Bytes of a cache line, or of a vector."""
MAX_EXPONENT = 700.0
"""Exponent whose exponential still has room in float64: no weights make a value that is not finite."""


class IntegerWeights(NamedTuple):
    """The weights of a network, for the kernels.

    H, N and M are the units of the first, second and third layer, K the buckets, A the actions. The second
    layer and the policy read W: the products of the halves of the first layer, H / 2, or else H.
    """

    planes: Any
    """[7] int64: the binary plane of each board value from -3 to 3, -1 where it has none."""
    jumper_plane: Any
    """[1] int64: the plane of the jumper, -1 if the game has none."""
    pairs: Any
    """[P, 3] int64: the two squares of each pair of neighbours, and the first of its planes; P <= 64."""
    touched: Any
    """[squares] int64: the pairs that a square is part of, as bits."""
    combinations: Any
    """[7, 7] int64: by the board values of its squares from -3 to 3, which plane of a pair is 1; -1: none."""
    bucket_pieces: Any
    """[1] int64: how many piece counts share a bucket."""
    first: Any
    """[planes * squares + 1, H] int16, multiples of 1/512; the last row is 0."""
    first_bias: Any
    """[H] int16, multiples of 1/512."""
    second: Any
    """[K, W / 2, N, 2] int16."""
    second_bias: Any
    """[K, N] int32, multiples of 2 ** -18, as are all biases below."""
    third: Any
    """[K, N / 2, M, 2] int16."""
    third_bias: Any
    """[K, M] int32."""
    value: Any
    """[K, 1 or 3, M] int16."""
    value_bias: Any
    """[K, 1 or 3] int32."""
    policy: Any
    """[A, W] int16."""
    policy_narrow: Any
    """[K, A, N] int16."""
    policy_bias: Any
    """[K, A] int32."""


class Hidden(NamedTuple):
    """Working memory of one thread: the activations of the position that was activated last."""

    wide: Any
    """[W] int16."""
    narrow: Any
    """[N] int16."""
    narrowest: Any
    """[M] int16."""
    bucket: Any
    """[1] int64."""
    rows: Any
    """[VIEWS, squares + 1 + pairs] int64: of the last position in each view, where the row of each square,
    the jumper and each pair begins."""
    sums: Any
    """[VIEWS, H] int16: the sums of these rows."""
    changed: Any
    """[2, squares + 2 + pairs] int64: the `rows` that go, and those that come."""


VIEWS = 2
"""Positions whose sums are kept: in alpha-beta one for each side."""


@hot
def plus_dot(sums, rows, at, inputs):
    """Return sums of products of inputs and as many weights, those from element `at` on, added to others."""
    for i in range(0, len(inputs), LANES):
        sums = plus_products(sums, load(rows, at + i), load(inputs, i))
    return sums


@hot
def dot(rows, at, inputs):
    """Return the int32 sum of products of inputs and as many weights, those from element `at` on."""
    return total(plus_dot(zeros(), rows, at, inputs))


@hot
def first_layer(weights, board, hidden, view):
    """Fill the first layer and the bucket, from what changed since the last position of a view."""
    rows, (old, new) = hidden.rows[view], hidden.changed
    squares, units = len(board) - 2, weights.first.shape[1]
    nothing = weights.first.size - units
    pieces, goes, comes, pairs = 0, 0, 0, np.int64(0)
    for i in range(squares + 1):  # branchless: the CPU would mispredict too many
        plane, square = weights.jumper_plane[0], np.int64(board[i])
        if i < squares:
            plane, square = weights.planes[square + 3], np.int64(i)
            pieces += plane >= 0
        row = (plane * squares + square) * units if min(plane, square) >= 0 else nothing
        before, rows[i] = rows[i], row
        changed = before != row
        if i < squares:
            pairs |= -np.int64(changed) & weights.touched[i]
        old[goes], new[comes] = before, row
        goes += changed & (before != nothing)
        comes += changed & (row != nothing)
    hidden.bucket[0] = min(max(0, (pieces - 1) // weights.bucket_pieces[0]), len(weights.second) - 1)
    while pairs:
        n = lowest(pairs)
        pairs &= pairs - 1
        square, other, plane = weights.pairs[n]
        which = weights.combinations[board[square] + 3, board[other] + 3]
        row = ((plane + which) * squares + square) * units if which >= 0 else nothing
        at = squares + 1 + n
        before, rows[at] = rows[at], row
        old[goes], new[comes] = before, row
        goes += (before != row) & (before != nothing)
        comes += (before != row) & (row != nothing)
    old[goes:comes] = nothing
    new[comes:goes] = nothing
    changes = max(goes, comes)
    for unit in range(0, units, BLOCK):
        at = view * units + unit
        a, b = load(hidden.sums, at), load(hidden.sums, at + LANES)
        c, d = load(hidden.sums, at + 2 * LANES), load(hidden.sums, at + 3 * LANES)
        for n in range(changes):
            off, on = old[n] + unit, new[n] + unit
            a = exchanged(a, load(weights.first, off), load(weights.first, on))
            b = exchanged(b, load(weights.first, off + LANES), load(weights.first, on + LANES))
            c = exchanged(c, load(weights.first, off + 2 * LANES), load(weights.first, on + 2 * LANES))
            d = exchanged(d, load(weights.first, off + 3 * LANES), load(weights.first, on + 3 * LANES))
        put(hidden.sums, at, a)
        put(hidden.sums, at + LANES, b)
        put(hidden.sums, at + 2 * LANES, c)
        put(hidden.sums, at + 3 * LANES, d)
    wide, at = hidden.wide, view * units
    for unit in range(0, len(wide), LANES):
        one = load(hidden.sums, at + unit)
        if len(wide) == units:
            put(wide, unit, clipped(one))
        else:
            put(wide, unit, product(one, load(hidden.sums, at + len(wide) + unit)))


@hot
def layer(weights, bias, bucket, inputs, out):
    """Fill the clipped activations of a later layer, rounded to multiples of 1/512.

    It skips pairs of inputs that are 0: about two of three.
    """
    pairs, units = weights.shape[1], weights.shape[2]
    for unit in range(0, units, LANES):
        at = bucket * units + unit
        low, high = load_sums(bias, at), load_sums(bias, at + LANES // 2)
        for first in range(0, pairs, 64):
            active = np.int64(0)
            for n in range(first, min(first + 64, pairs), LANES // 2):
                active |= nonzero_pairs(inputs, 2 * n) << n - first
            while active:
                n = first + lowest(active)
                active &= active - 1
                both, at = pair(inputs, 2 * n), 2 * ((bucket * pairs + n) * units + unit)
                low = plus_products(low, load(weights, at), both)
                high = plus_products(high, load(weights, at + LANES), both)
        put(out, unit, rounded(low, high))


@hot
def activate(weights, board, hidden, view):
    """Compute the layers of a position, `[squares + 2]` int8, that its logits need, into `hidden`.

    `view` is which of `VIEWS` earlier positions is likely to be similar.
    """
    first_layer(weights, board, hidden, view)
    layer(weights.second, weights.second_bias, hidden.bucket[0], hidden.wide, hidden.narrow)


@hot
def value(weights, hidden):
    """Return the value of the position that was activated last, for the side to move, [-1, 1].

    It is rounded as in a batch; see `heads.value_of`.
    """
    bucket, inputs = hidden.bucket[0], hidden.narrowest
    layer(weights.third, weights.third_bias, bucket, hidden.narrow, inputs)
    bias, units, at = weights.value_bias[bucket], len(inputs), bucket * weights.value[0].size
    first = (dot(weights.value, at, inputs) + bias[0]) / PRODUCT_SCALE
    if len(bias) == 1:
        return np.float64(np.float32(np.tanh(first)))
    draw = (dot(weights.value, at + units, inputs) + bias[1]) / PRODUCT_SCALE - first
    loss = (dot(weights.value, at + 2 * units, inputs) + bias[2]) / PRODUCT_SCALE - first
    shift = max(0.0, max(draw, loss) - MAX_EXPONENT)
    win, draw, loss = np.exp(-shift), np.exp(draw - shift), np.exp(loss - shift)
    return np.float64(np.float32((win - loss) / (win + draw + loss)))


@hot
def logit(weights, hidden, action):
    """Return the logit of an action in the position that was activated last."""
    bucket, wide, narrow = hidden.bucket[0], hidden.wide, hidden.narrow
    sums = plus_dot(zeros(), weights.policy, action * len(wide), wide)
    at = (bucket * len(weights.policy) + action) * len(narrow)
    score = total(plus_dot(sums, weights.policy_narrow, at, narrow))
    return np.float32(score + weights.policy_bias[bucket, action]) / np.float32(PRODUCT_SCALE)


@kernel
def evaluate_boards(weights, hidden, boards, logits, values):
    """Evaluate positions, `[B, squares + 2]` int8, one after the other, into `[B, A]` and `[B]` float32."""
    for row in range(len(boards)):
        activate(weights, boards[row], hidden, 0)
        values[row] = value(weights, hidden)
        for action in range(logits.shape[1]):
            logits[row, action] = logit(weights, hidden, action)


def arranged(integers: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the integers of a network as the kernels read them, aligned with cache lines.

    Zeros are the last row of the first layer, and fill up the widths: of the first layer to a multiple of
    `BLOCK`, each of its halves alike if these are multiplied, of others to one of `LANES`. The inputs of the
    second and third layer come in pairs, `[K, inputs / 2, units, 2]`.
    """
    found, wide = {}, integers["policy"].shape[-1]
    halves = integers["first"].shape[-1] // wide
    more = -wide % (BLOCK // halves)
    for name, weights in integers.items():
        if name in ("first", "first_bias"):
            weights = weights.reshape(*weights.shape[:-1], halves, wide)
            room = [(0, int(name == "first")), (0, 0), (0, more)]
            weights = np.pad(weights, room[-weights.ndim :])
            weights = weights.reshape(*weights.shape[:-2], -1)
        elif name in IntegerWeights._fields[6:] and name not in ("value_bias", "policy_bias"):
            below = -weights.shape[-2] % LANES if name in ("second", "third") else 0
            right = more if name in ("second", "policy") else -weights.shape[-1] % LANES
            room = [(0, 0)] * (weights.ndim - 2) + [(0, below), (0, right)]
            weights = np.pad(weights, room[-weights.ndim :])
        if name in ("second", "third"):
            weights = weights.reshape(*weights.shape[:2], -1, 2).swapaxes(1, 2)
        found[name] = aligned(weights)
    return found


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros that begin with a cache line; NumPy asks for huge pages for large arrays."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    array: NDArray[Any] = room[-room.ctypes.data % CACHE_LINE :][:size].view(dtype).reshape(shape)
    return array


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that begins with a cache line: no vector of it is in two."""
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


class IntegerEvaluator(Evaluator):
    """A `swift` network computed with integers; searches evaluate its positions inside their kernels."""

    name = "swift, integers, cpu"

    def __init__(self, network: "Network | Mapping[str, NDArray[Any]]") -> None:
        """Convert a `Swift` network, or what `integers_of` returns of one, which needs no PyTorch.

        Raises:
            BackendError: see `ckai.models.networks.swift.integers_of`.
        """
        if not isinstance(network, Mapping):
            from ckai.models.networks.swift import integers_of

            network = integers_of(network)
        arrays = arranged(network)
        self.position_bytes, self.num_actions = arrays.pop("sizes").tolist()
        self.weights = IntegerWeights(**arrays)

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        evaluate_boards(self.weights, self.working_memory(), boards, logits, values)

    def working_memory(self) -> Hidden:
        """Return new arrays for `activate`, aligned with cache lines; every thread needs its own."""
        weights, inputs = self.weights, self.position_bytes - 1 + len(self.weights.pairs)
        widths = weights.policy.shape[-1], weights.second_bias.shape[-1], weights.third_bias.shape[-1]
        wide, narrow, narrowest = (aligned_zeros((each,), np.int16) for each in widths)
        return Hidden(
            wide,
            narrow,
            narrowest,
            bucket=np.zeros(1, np.int64),
            rows=np.full((VIEWS, inputs), weights.first.size - weights.first.shape[1]),
            sums=aligned(np.tile(weights.first_bias, (VIEWS, 1))),
            changed=np.zeros((2, inputs + 1), np.int64),
        )
