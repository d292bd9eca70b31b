"""The integer network: exact to a slow twin, close to the floats, and never out of its range."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from pytorch_lightning.core.optimizer import LightningOptimizer

from ckai.models.inference.backends import TorchEvaluator, make_evaluator, sample_positions
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.vectors import SCALE
from ckai.models.network import build
from ckai.models.networks.swift import MAX_NARROW_UNITS, MAX_UNITS, MAX_WEIGHT, integers_of
from ckai.models.training.lightning_module import PolicyValueModule

SMALL = {"hidden": 32, "narrow": 8, "narrowest": 8, "buckets": 4}


def network(seed=0, spread=2.0, **settings):
    """A network whose weights reach their bounds, so that all activations are clipped somewhere."""
    torch.manual_seed(seed)
    made = build("swift", SMALL | settings).eval()
    with torch.no_grad():
        for weights in made.parameters():
            weights.mul_(spread)
    made.clip_weights()
    return made


def twin(net, board):
    """The same computation with Python's integers, one unit at a time."""
    squares, planes = len(board) - 2, net.encode.VALUES
    parts = {name: weights.tolist() for name, weights in net.rounded().items()}
    rows = [planes.index(value) * squares + n for n, value in enumerate(board[:squares]) if value]
    pieces = len(rows)
    if board[squares] >= 0 and net.encode.JUMPER:
        rows.append(len(planes) * squares + int(board[squares]))
    plane = len(planes) + net.encode.JUMPER
    for near in net.encode.PAIRS:
        for one in planes:
            for other in planes:
                rows += [
                    plane * squares + n
                    for n, beside in enumerate(near)
                    if beside >= 0 and (board[n], board[beside]) == (one, other)
                ]
                plane += 1
    wide = [
        min(max(sum(parts["first"][row][unit] for row in rows) + bias, 0), SCALE)
        for unit, bias in enumerate(parts["first_bias"])
    ]
    if net.settings.product:
        half = len(wide) // 2
        wide = [(a * b + SCALE // 2) // SCALE for a, b in zip(wide[:half], wide[half:], strict=True)]
    bucket = min(max(0, (pieces - 1) // net.bucket_pieces), net.settings.buckets - 1)

    def sums(matrix, biases, inputs):
        return [
            sum(w * x for w, x in zip(row, inputs, strict=True)) + bias
            for row, bias in zip(matrix, biases, strict=True)
        ]

    def layer(name, inputs):
        found = sums(parts[name][bucket], parts[f"{name}_bias"][bucket], inputs)
        return [min(max((total + SCALE // 2) // SCALE, 0), SCALE) for total in found]

    narrow = layer("second", wide)
    value = sums(parts["value"][bucket], parts["value_bias"][bucket], layer("third", narrow))
    logits = np.add(
        sums(parts["policy"], parts["policy_bias"][bucket], wide),
        sums(parts["policy_narrow"][bucket], [0] * len(parts["policy"]), narrow),
    )
    return logits / SCALE**2, np.array(value) / SCALE**2


@pytest.mark.parametrize(
    "widths",
    [
        {},
        {"hidden": 154, "narrow": 33, "narrowest": 5, "encoding": "connect4"},
        {"hidden": 77, "encoding": "pieces", "product": False},
    ],
)
@pytest.mark.parametrize("value", ["wdl", "tanh"])
def test_the_kernels_compute_what_the_twin_does(value, widths):
    net = network(value=value, **widths)
    evaluator = IntegerEvaluator(net)
    boards = sample_positions(40, net.encode, seed=1)
    boards[20:30, :16] = boards[19, :16]  # what did not change is not computed again
    logits, values = evaluator.evaluate(boards)
    for board, mine, out in zip(boards, logits, values, strict=True):
        wanted, raw = twin(net, board)
        assert mine.tolist() == wanted.astype(np.float32).tolist()
        if value == "tanh":
            assert out == pytest.approx(np.tanh(raw[0]), abs=1e-6)
        else:
            shares = np.exp(raw - raw.max()) / np.exp(raw - raw.max()).sum()
            assert out == pytest.approx(shares[0] - shares[2], abs=1e-6)
    assert np.ptp(values) > 0.01


@pytest.mark.parametrize("encoding", ["pairs", "connect4", "tictactoe"])
def test_integers_are_close_to_the_floats(encoding):
    net = network(encoding=encoding)
    boards = sample_positions(300, net.encode)
    exact = TorchEvaluator(net).policy(boards, net.encode.legal_mask(boards))
    rounded = IntegerEvaluator(net).policy(boards, net.encode.legal_mask(boards))
    assert max(np.abs(a - b).max() for a, b in zip(rounded, exact, strict=True)) < 0.025
    assert np.ptp(exact[1]) > 0.01


def test_no_sum_leaves_its_type_at_the_bounds():
    net = build("swift", {"hidden": MAX_UNITS, "narrow": MAX_NARROW_UNITS, "narrowest": 4, "buckets": 1})
    with torch.no_grad():
        for weights in net.parameters():
            weights.fill_(1e6)
    net.clip_weights()
    weights = IntegerEvaluator(net).weights
    boards = sample_positions(20, net.encode)
    logits, _ = IntegerEvaluator(net).evaluate(boards)
    rows = net.encode.max_pieces + len(weights.pairs)
    assert int(weights.first.max()) * (rows + 1) + int(weights.first_bias.max()) <= np.iinfo(np.int16).max
    largest = MAX_UNITS * SCALE * int(weights.policy.max())
    largest += MAX_NARROW_UNITS * SCALE * int(weights.policy_narrow.max())
    assert largest + int(weights.policy_bias.max()) < 2**31
    assert (logits > 0).all()


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("first.weight", 32767 // 75 / 512),  # 24 pieces, 49 pairs, a jumper and the bias
        ("policy_narrow.weight", 4.0),
        ("policy.bias", 1000.0),
    ],
)
def test_weights_whose_sums_could_overflow_are_refused(name, bound):
    net = network()
    with torch.no_grad():
        weights = net.get_parameter(name)
        weights.view(-1)[0] = -bound * 1.01
        with pytest.raises(BackendError, match=rf"weights of up to {bound:g} in {name}, found .* diverged"):
            integers_of(net)
        net.clip_weights()
        at_the_bound = integers_of(net)
        weights.view(-1)[0] = -bound * (1 + 2**-11)  # as float16 may round it
        assert all(np.array_equal(at_the_bound[key], each) for key, each in integers_of(net).items())


def test_a_step_of_training_ends_within_the_bounds():
    """A result of training could be refused otherwise: the weights clipped before the step are not kept."""
    net = network()
    module = PolicyValueModule(net)
    module.trainer = Mock()
    with torch.no_grad():
        net.policy.weight.fill_(MAX_WEIGHT + 1)
    module.optimizer_step(0, 0, Mock(spec=LightningOptimizer))
    integers_of(module.network)


def test_other_networks_and_broken_ones_are_refused():
    with pytest.raises(BackendError, match="expected a network of architecture swift, found mlp"):
        make_evaluator(build("mlp", {"hidden": 4}), "integers")
    net = network()
    with torch.no_grad():
        net.value.bias[0, 0] = torch.nan
    with pytest.raises(BackendError, match="found nan: the network may have diverged"):
        IntegerEvaluator(net)
    with pytest.raises(ValueError, match="expected an encoding with binary planes of pieces, found 'grid'"):
        build("swift", {"encoding": "grid"})
    with pytest.raises(ValueError, match=f"expected hidden <= {MAX_UNITS}"):
        build("swift", {"hidden": MAX_UNITS + 1})
