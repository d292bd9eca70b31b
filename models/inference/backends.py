"""The backend that a network runs on, by name or in a fixed order; its outputs, its speed, its predictions.

The order of `auto` is that of the speeds measured with the networks of all presets, in batches of 1 to 256
(docs/results.md): integers for an integer network, a GPU, OpenVINO, PyTorch.
"""

import functools
import importlib.util
import itertools
import logging
import os
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from ckai.datasets.files import first_line
from ckai.datasets.rows import Rows
from ckai.game import Position
from ckai.game.squares import NUM_ACTIONS
from ckai.models.encodings import Encoding
from ckai.models.inference.evaluator import (
    AUTO,
    BackendError,
    Boards,
    Evaluator,
    Floats,
    import_extra,
    pack_positions,
    pack_rows,
)
from ckai.models.inference.threads import use_one_torch_thread
from ckai.models.network import Network, float32_copy
from ckai.models.networks.swift import Swift

BACKENDS = ("integers", "cuda", "openvino", "torch")
"""Names of the backends."""
SECONDS = 0.1
"""Minimum duration of a measurement."""
_LOG = logging.getLogger("ckai")


class TorchEvaluator(Evaluator):
    """A network evaluated by PyTorch in float32 on the CPU, in the thread of the caller.

    Let threads that share one call `torch.set_num_threads(1)`.
    """

    def __init__(self, network: Network) -> None:
        """Copy a network: later training does not change the evaluator."""
        self._rows = float32_copy(network)
        self.position_bytes, self.num_actions = self._rows.position_bytes, network.encode.NUM_ACTIONS
        self.name = f"{network.architecture}, torch float32, cpu"

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        with torch.inference_mode():
            results = self._rows(torch.from_numpy(self._rows.network.encode.append_extra(boards)))
            for out, result in zip((logits, values), results, strict=True):
                torch.from_numpy(out).copy_(result)


_loading = threading.Lock()


@functools.cache
def _core() -> Any:
    """Return OpenVINO's core: one for the whole process, which is never released.

    A core gives the thread that makes it a stack for signal handlers, and takes it away when it is released.
    If another core was made since, the thread is left with the address of a stack that is gone, and the next
    signal, such as Ctrl-C, ends the process.
    """
    return import_extra("openvino", "openvino").Core()


class OpenVINOEvaluator(Evaluator):
    """A network compiled by OpenVINO for this CPU, once for each of `threads`.

    What is compiled for a single stream of one core runs in the thread of the caller; what is compiled for
    several runs in threads of OpenVINO, and each call waits until one of them is awake, and for the answer.
    """

    def __init__(self, network: Network, *, threads: int = 1) -> None:
        """Convert and compile, for bfloat16 if this CPU has it.

        That moves probabilities and values by at most 0.05 and by 0.001 to 0.008 on average.

        Args:
            network: copied; later training does not change the evaluator.
            threads: number of concurrent callers, each with a copy of the weights; further ones wait.

        Raises:
            BackendError: OpenVINO is not installed.
        """
        openvino = import_extra("openvino", "openvino")
        with _loading:
            core = _core()
        rows = float32_copy(network)
        example = torch.zeros(4, rows.width, dtype=torch.int8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # OpenVINO itself would trace twice, to compare.
            traced = cast(Any, torch.jit.trace)(rows, (example,), check_trace=False)
            shape = openvino.PartialShape([-1, rows.width])
            model = openvino.convert_model(traced, example_input=example, input=[shape])
        # OpenVINO has bfloat16 on every CPU with AVX-512, slower than float32.
        precision = "bf16" if cpu_has_bf16() else "f32"
        settings = {
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": 1,
            "ENABLE_CPU_PINNING": False,  # other programs use these cores too
        }
        compiled: list[Any] = [core.compile_model(model, "CPU", settings) for _ in range(threads)]
        self._compiled = itertools.cycle(compiled)
        # A request has been prepared for the batch sizes it has met: reuse requests.
        self._idle: list[Any] = []
        self._kept = rows, model  # the converted model may share the copy's memory
        self._encoding = rows.network.encode
        self.position_bytes, self.num_actions = rows.position_bytes, self._encoding.NUM_ACTIONS
        self.name = f"{network.architecture}, openvino {precision}, cpu"

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        size = len(boards)
        if not size:
            return
        try:
            request = self._idle.pop()
        except IndexError:
            request = next(self._compiled).create_infer_request()
        # Copy into the request's memory: OpenVINO sometimes corrupts the heap when it is lent ours.
        tensor = request.get_input_tensor(0)
        rows = self._encoding.append_extra(boards)
        # Few sizes, because each is prepared once.
        tensor.shape = [size if size <= 8 else -(-size // 8) * 8, rows.shape[1]]
        tensor.data[:size] = rows
        tensor.data[size:] = 0
        request.infer()
        logits[:] = request.get_output_tensor(0).data[:size]
        values[:] = request.get_output_tensor(1).data[:size]
        self._idle.append(request)

    def close(self) -> None:
        """Release the compiled network."""
        self._idle.clear()
        self._compiled = itertools.cycle(())


def make_evaluator(network: Network, backend: str = AUTO, threads: int = 1) -> Evaluator:
    """Create an evaluator of a network.

    Args:
        network: the network; later changes of its weights have no effect.
        backend: `auto`, or one of `BACKENDS`.
        threads: number of threads that will call it at once.

    Raises:
        BackendError: the backend is not available; says why.
        ValueError: the backend is unknown.
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


def cpu_has_bf16() -> bool:
    """Whether this CPU multiplies in bfloat16, and oneDNN may; elsewhere it is slower than float32.

    OpenVINO, asked for bfloat16 where `ONEDNN_MAX_CPU_ISA=AVX2` forbids it, gives wrong numbers or crashes.
    """
    most = os.environ.get("ONEDNN_MAX_CPU_ISA", "DEFAULT").upper()
    if not any(word in most for word in ("DEFAULT", "BF16", "FP16", "AMX", "AVX10")):
        return False
    checks = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(check is not None and check() for check in checks)


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def lightning_precision(name: str, device: torch.device) -> Any:
    """The precision of `TrainConfig` in Lightning's words: `32-true`, or `bf16-mixed` with autocast."""
    if name == "auto":  # GPUs before Ampere emulate bfloat16
        on_gpu = device.type == "cuda"
        bf16 = torch.cuda.get_device_capability(device) >= (8, 0) if on_gpu else cpu_has_bf16()
        name = "bf16" if bf16 else "32"
    return {"32": "32-true", "bf16": "bf16-mixed"}[name]
