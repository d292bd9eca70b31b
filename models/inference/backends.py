"""The backend that a network runs on, by name or in a fixed order; its outputs, its speed, its predictions.

The order of `auto` is that of the speeds measured with the networks of all presets, in batches of 1 to 256
(docs/results.md): integers for an integer network, a GPU, OpenVINO, PyTorch.
"""

import importlib.util
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from ckai.datasets.files import first_line
from ckai.datasets.rows import Rows
from ckai.game import Position
from ckai.game.squares import NUM_ACTIONS
from ckai.models.inference.evaluator import AUTO, BackendError, Boards, Evaluator, Floats
from ckai.models.inference.threads import use_one_torch_thread
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.inputs.encodings import Encoding
from ckai.models.inputs.packing import pack_positions, pack_rows
from ckai.models.layers.network import Network
from ckai.models.networks.swift import Swift

BACKENDS = ("integers", "cuda", "openvino", "torch")
"""Names of the backends."""
SECONDS = 0.1
"""Minimum duration of a measurement."""
_LOG = logging.getLogger("ckai")


def make_evaluator(network: Network, backend: str = AUTO, threads: int = 1) -> Evaluator:
    """Create an evaluator of a network.

    Args:
        network: the network; later changes of its weights have no effect.
        backend: `auto`, or one of `BACKENDS`.
        threads: number of threads that will call it at once.

    Raises:
        BackendError: the backend is not available; says why.
        ValueError: the backend is unknown.

    Examples:
        >>> from ckai.models import load_network
        >>> make_evaluator(load_network("network.ckpt"), "torch").name
        'resnet, torch float32, cpu'
    """
    if backend == AUTO:
        backend = usual_backend(network)
        if backend == "openvino":
            try:
                return make_evaluator(network, backend, threads)
            except Exception as error:  # a layer that it cannot convert, or a broken installation
                _LOG.warning(
                    "openvino cannot run the network (%s); using the slower torch", first_line(error)
                )
                backend = "torch"
    if backend == "torch":
        return TorchEvaluator(network)
    if backend == "openvino":
        from ckai.models.inference.openvino_backend import OpenVINOEvaluator

        return OpenVINOEvaluator(network, threads=threads)
    if backend == "integers":
        from ckai.models.inference.integers import IntegerEvaluator

        return IntegerEvaluator(network)
    if backend == "cuda":
        from ckai.models.inference.cuda_backend import CudaEvaluator

        if not torch.cuda.is_available():
            raise BackendError("evaluator cuda: PyTorch finds no GPU here; use auto or torch")
        return CudaEvaluator(network, torch.device("cuda", 0))
    raise ValueError(f"expected one of the evaluators {', '.join((AUTO, *BACKENDS))}, found {backend!r}")


def usual_backend(network: Network, backend: str = AUTO) -> str:
    """Return a backend by its name, and for `auto` the one that it takes for a network on this machine."""
    if backend != AUTO:
        return backend
    if isinstance(network, Swift):
        return "integers"
    if torch.cuda.is_available():
        return "cuda"
    return "torch" if importlib.util.find_spec("openvino") is None else "openvino"


def best_rate(
    evaluator: Evaluator,
    encoding: Encoding,
    batches: Sequence[int],
    callers: Sequence[int],
    seconds: float = SECONDS,
) -> tuple[float, int, int]:
    """Return the most evaluations/s of an evaluator alone, and the batch and the number of callers for it.

    Each of the `callers` evaluates a batch that is made once, for `seconds` after a shorter time to warm up.
    """

    def rate(rows: Boards, threads: int, seconds: float) -> float:
        outputs = [[out.copy() for out in evaluator.evaluate(rows)] for _ in range(threads)]

        def work(out: list[Floats]) -> int:
            count = 0
            while time.perf_counter() - begun < seconds:
                evaluator.evaluate(rows, *out)
                count += len(rows)
            return count

        with ThreadPoolExecutor(threads, initializer=use_one_torch_thread) as pool:
            begun = time.perf_counter()
            return sum(pool.map(work, outputs)) / (time.perf_counter() - begun)

    best: tuple[float, int, int] = (0.0, 0, 0)
    for batch in batches:
        sample = sample_positions(min(batch, 256), encoding)
        rows = np.resize(sample, (batch, sample.shape[1]))
        for threads in callers:
            rate(rows, threads, seconds / 4)
            best = max(best, (rate(rows, threads, seconds), batch, threads))
    return best


def sample_positions(number: int, encoding: Encoding, seed: int = 0) -> Boards:
    """Return positions to test a network on: `[number, position_bytes]` int8, see `Encoding.sample`."""
    return encoding.sample(number, np.random.default_rng(seed))


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
        evaluator: an evaluator, or a network, which is then evaluated in PyTorch on the CPU.
        positions: rows, or positions with at least one legal move.
        batch_size: positions in one call of the evaluator, at least 1.

    Returns:
        Probabilities of the actions (illegal ones masked out before the softmax) and values.

    Raises:
        ValueError: a position without a legal move, boards that the network is not for, or outputs that are
            not finite.

    Examples:
        >>> from ckai.game import Position
        >>> from ckai.models import load_network
        >>> policy, value = predict(load_network("network.ckpt"), [Position.start()])
        >>> int((policy > 0).sum())  # the 7 moves of the start position
        7
        >>> bool(-1 <= value[0] <= 1)
        True
    """
    if isinstance(positions, Rows):
        boards, legal = pack_rows(positions), positions.legal_mask()
    else:
        boards, legal = pack_positions(positions), np.zeros((len(positions), NUM_ACTIONS), np.bool_)
        for row, position in zip(legal, positions, strict=True):
            row[position.legal_actions()] = True
    stuck = np.flatnonzero(~legal.any(1))
    if len(stuck):
        raise ValueError(f"position {stuck[0]}: expected a legal move, found none: the game is over")
    if isinstance(evaluator, Network):
        evaluator = TorchEvaluator(evaluator)
    policy = np.zeros(legal.shape, np.float32)
    value = np.empty(len(boards), np.float32)
    actions = evaluator.num_actions  # games with fewer actions use the first of the 128
    for start in range(0, len(boards), batch_size):
        part = slice(start, start + batch_size)
        policy[part, :actions], value[part] = evaluator.policy(boards[part], legal[part, :actions])
    return Predictions(policy, value)
