"""The backend that a network runs on, by name or in a fixed order; its outputs and its speed.

The order of `auto` is that of the speeds measured with the networks of all presets, in batches of 1 to 256
(docs/results.md): integers for an integer network, a GPU, OpenVINO, PyTorch.
"""

import importlib.util
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from ckai.datasets.files import first_line
from ckai.models.inference.evaluator import AUTO, BackendError, Boards, Evaluator, Floats
from ckai.models.inference.threads import use_one_torch_thread
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.inputs.encodings import Encoding
from ckai.models.layers.network import Network
from ckai.models.networks.swift import Swift

BACKENDS = ("integers", "cuda", "openvino", "torch")
"""Names of the backends; `cuda:N` is the GPU with that number, from 0."""
SECONDS = 0.1
"""Minimum duration of a measurement."""
_LOG = logging.getLogger("ckai")


def make_evaluator(network: Network, backend: str = AUTO, threads: int = 1) -> Evaluator:
    """Create an evaluator of a network.

    Args:
        network: the network; later changes of its weights have no effect.
        backend: `auto`, one of `BACKENDS`, or `cuda:N`.
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
    if backend.partition(":")[0] == "cuda":
        from ckai.models.inference.cuda_backend import CudaEvaluator, find_gpu

        return CudaEvaluator(network, find_gpu(backend))
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


def evaluations_per_second(
    evaluator: Evaluator, rows: Boards, threads: int, seconds: float = SECONDS
) -> float:
    """Measure the evaluations/s of an evaluator, called by some threads at once with the same positions."""

    def outputs(_: int) -> tuple[Floats, Floats]:
        logits, values = evaluator.evaluate(rows)
        return logits.copy(), values.copy()

    def work(out: tuple[Floats, Floats]) -> int:
        count = 0
        while time.perf_counter() - begun < seconds:
            evaluator.evaluate(rows, *out)
            count += len(rows)
        return count

    with ThreadPoolExecutor(threads, initializer=use_one_torch_thread) as pool:
        run = map if threads == 1 else pool.map
        ready = list(run(outputs, range(threads)))
        begun = time.perf_counter()
        return sum(run(work, ready)) / (time.perf_counter() - begun)


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
    best: tuple[float, int, int] = (0.0, 0, 0)
    for batch in batches:
        sample = sample_positions(min(batch, 256), encoding)
        rows = np.resize(sample, (batch, sample.shape[1]))
        for threads in callers:
            evaluations_per_second(evaluator, rows, threads, seconds / 4)
            best = max(best, (evaluations_per_second(evaluator, rows, threads, seconds), batch, threads))
    return best


def sample_positions(number: int, encoding: Encoding, seed: int = 0) -> Boards:
    """Return positions to test a network on: `[number, position_bytes]` int8, see `Encoding.sample`."""
    return encoding.sample(number, np.random.default_rng(seed))


def evaluate_positions(
    evaluator: Evaluator, boards: Boards, encoding: Encoding
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evaluate positions as a search does, with a softmax over the legal actions.

    Args:
        evaluator: the evaluator.
        boards: `[B, position_bytes]` int8 positions.
        encoding: encoding of the network.

    Returns:
        `[B, NUM_ACTIONS]` probabilities and `[B]` values for the side to move.

    Raises:
        BackendError: an output is NaN or infinite.
    """
    logits, values = evaluator.evaluate(boards)
    scores = np.where(encoding.legal_mask(boards), logits.astype(np.float64), -np.inf)
    with np.errstate(invalid="ignore"):  # infinity minus itself is NaN
        weights = np.exp(scores - scores.max(1, keepdims=True))
        policy = weights / weights.sum(1, keepdims=True)
    if not (np.isfinite(policy).all() and np.isfinite(values).all()):
        raise BackendError(
            f"{evaluator.name}: expected finite outputs, found NaN or infinity: the weights are of no use; "
            "take an earlier checkpoint or train again"
        )
    return policy, values.astype(np.float64)
