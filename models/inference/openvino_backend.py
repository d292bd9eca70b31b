"""Evaluate networks with OpenVINO, Intel's inference library for CPUs; needs the extra `openvino`."""

import functools
import itertools
import os
import threading
import warnings
from typing import Any, cast

import torch

from ckai.models.inference.devices import cpu_has_bf16
from ckai.models.inference.evaluator import (
    BackendError,
    Boards,
    Floats,
    import_extra,
    output_arrays,
    sizes_of,
)
from ckai.models.inference.torch_backend import PackedNetwork, float32_copy
from ckai.models.layers.network import Network

_loading = threading.Lock()


@functools.cache
def _load_core() -> tuple[Any, int]:
    return import_extra("openvino", "openvino").Core(), os.getpid()


def load_core() -> Any:
    """Return OpenVINO's core: one for the whole process, which is never released.

    A core gives the thread that makes it a stack for signal handlers, and takes it away when it is released.
    If another core was made since, the thread is left with the address of a stack that is gone, and the next
    signal, such as that of Ctrl-C, ends the process.

    Raises:
        BackendError: OpenVINO is not installed, or this process was forked from one that has its core: the
            threads that it waits for are not here.
    """
    with _loading:
        core, process = _load_core()
    _check_process(process)
    return core


def _check_process(process: int) -> None:
    if process != os.getpid():
        raise BackendError(
            "expected OpenVINO in the process that loaded it, found one forked from it; start processes with "
            'multiprocessing.get_context("spawn"), or load with evaluator="torch"'
        )


class OpenVINOEvaluator:
    """A network compiled by OpenVINO for this CPU, once for each of `threads`.

    What is compiled for a single stream of one core runs in the thread of the caller; what is compiled for
    several runs in threads of OpenVINO, and each call waits until one of them is awake, and for the answer.
    """

    def __init__(self, network: Network, *, bf16: bool | None = None, threads: int = 1) -> None:
        """Convert and compile.

        Args:
            network: copied; later training does not change the evaluator.
            bf16: compute in bfloat16, which moves probabilities and values by at most 0.05 and by 0.001 to
                0.008 on average; None: if this CPU has it.
            threads: number of concurrent callers, each with a copy of the weights; further ones wait.

        Raises:
            BackendError: OpenVINO is not installed.
            ValueError: `threads` is below 1.
        """
        if threads < 1:
            raise ValueError(f"expected threads >= 1, found {threads}")
        openvino = import_extra("openvino", "openvino")
        core, self._process = load_core(), os.getpid()
        if bf16 is None:
            bf16 = cpu_has_bf16()  # OpenVINO has it on every CPU with AVX-512, slower than float32
        # The converted model may share the copy's memory: keep both.
        self._rows, self._model = convert(openvino, network)
        self._encoding = self._rows.network.encode
        precision = "bf16" if bf16 else "f32"
        settings = {
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": 1,
            "ENABLE_CPU_PINNING": False,  # other programs use these cores too
        }
        compiled: list[Any] = [core.compile_model(self._model, "CPU", settings) for _ in range(threads)]
        self._compiled = itertools.cycle(compiled)
        # A request has been prepared for the batch sizes it has met: reuse requests.
        self._idle: list[Any] = []
        self.name = f"{network.architecture}, openvino {precision}, cpu"

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`; raises `BackendError` in a process that was forked."""
        _check_process(self._process)
        logits, values = output_arrays(boards, sizes_of(self._encoding), out_logits, out_values)
        size = len(boards)
        if not size:
            return logits, values
        try:
            request = self._idle.pop()
        except IndexError:
            request = next(self._compiled).create_infer_request()
        # Copy into the request's memory: OpenVINO sometimes corrupts the heap when it is lent ours.
        tensor = request.get_input_tensor(0)
        rows = self._encoding.append_extra(boards)
        tensor.shape = [padded(size), rows.shape[1]]
        tensor.data[:size] = rows
        tensor.data[size:] = 0
        request.infer()
        logits[:] = request.get_output_tensor(0).data[:size]
        values[:] = request.get_output_tensor(1).data[:size]
        self._idle.append(request)
        return logits, values

    def close(self) -> None:
        """Release the compiled network."""
        self._idle.clear()
        self._compiled = itertools.cycle(())


def convert(openvino: Any, network: Network) -> tuple[PackedNetwork, Any]:
    """A float32 copy of a network and OpenVINO's model of it, which may share the copy's memory."""
    mine, trace = float32_copy(network), cast(Any, torch.jit.trace)
    rows = torch.zeros(4, mine.width, dtype=torch.int8)
    shape = openvino.PartialShape([-1, mine.width])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = trace(mine, (rows,), check_trace=False)  # OpenVINO itself would trace twice, to compare
        return mine, openvino.convert_model(traced, example_input=rows, input=[shape])


def padded(size: int) -> int:
    """The batch size computed for `size` positions: few sizes, because each is prepared once."""
    return size if size <= 8 else -(-size // 8) * 8
