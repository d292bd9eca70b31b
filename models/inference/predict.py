"""Positions evaluated in batches: move probabilities and values, without a search."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.rows import Rows
from ckai.game import Position
from ckai.game.squares import NUM_ACTIONS
from ckai.models.inference.evaluator import Evaluator, Floats
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.inputs.packing import pack_positions, pack_rows
from ckai.models.layers.network import Network


class Predictions(NamedTuple):
    """What a network says of N positions; unpacks as `policy, value`."""

    policy: Floats
    """`[N, M]` float32 probabilities of the actions, 0 for illegal ones; rows sum to 1. M is that of
    `Rows.legal_mask`, 128 in checkers."""
    value: Floats
    """`[N]` float32 in [-1, 1] for the side to move: +1 it wins."""


def predict(
    evaluator: Evaluator | Network, positions: Rows | Sequence[Position], *, batch_size: int = 1024
) -> Predictions:
    """Evaluate positions in batches.

    Args:
        evaluator: an evaluator (see `make_evaluator`), or a network, which is then
            evaluated in PyTorch on the CPU.
        positions: rows, or positions with at least one legal move.
        batch_size: positions in one call of the evaluator, at least 1.

    Returns:
        Probabilities of the actions (illegal ones masked out before the softmax) and values.

    Raises:
        ValueError: a position without a legal move, boards that the network is not for, or `batch_size` < 1.

    Examples:
        >>> from ckai.game import Position
        >>> from ckai.models import load_network
        >>> policy, value = predict(load_network("network.ckpt"), [Position.start()])
        >>> int((policy > 0).sum())  # the 7 moves of the start position
        7
        >>> bool(-1 <= value[0] <= 1)
        True
    """
    if batch_size < 1:
        raise ValueError(f"expected batch_size >= 1, found {batch_size}")
    if isinstance(positions, Rows):
        boards, legal = pack_rows(positions), positions.legal_mask()
    else:
        boards, legal = pack_positions(positions), _legal_mask(positions)
    stuck = np.flatnonzero(~legal.any(1))
    if len(stuck):
        raise ValueError(f"position {stuck[0]}: expected a legal move, found none: the game is over")
    if isinstance(evaluator, Network):
        evaluator = TorchEvaluator(evaluator)
    policy = np.zeros(legal.shape, np.float32)
    value = np.empty(len(boards), np.float32)
    for start in range(0, len(boards), batch_size):
        stop = min(start + batch_size, len(boards))
        logits, value[start:stop] = evaluator.evaluate(boards[start:stop])
        actions = logits.shape[1]  # games with fewer actions use the first of the 128
        masked = np.where(legal[start:stop, :actions], logits, -np.inf)
        weights = np.exp(masked - masked.max(1, keepdims=True))
        policy[start:stop, :actions] = weights / weights.sum(1, keepdims=True)
    return Predictions(policy, value)


def _legal_mask(positions: Sequence[Position]) -> NDArray[np.bool_]:
    mask = np.zeros((len(positions), NUM_ACTIONS), np.bool_)
    for row, position in zip(mask, positions, strict=True):
        row[position.legal_actions()] = True
    return mask
