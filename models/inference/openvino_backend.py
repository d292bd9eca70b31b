"""Evaluate networks with OpenVINO, Intel's inference library for CPUs; needs the extra `openvino`."""

import functools
import itertools
import threading
import warnings
from typing import Any, cast

import torch

from ckai.models.inference.devices import cpu_has_bf16
from ckai.models.inference.evaluator import Boards, Evaluator, Floats, import_extra
from ckai.models.inference.torch_backend import float32_copy
from ckai.models.layers.network import Network

_loading = threading.Lock()


@functools.cache
def _core() -> Any:
    """Return OpenVINO's core: one for the whole process, which is never released.

    A core gives the thread that makes it a stack for signal handlers, and takes it away when it is released.
    If another core was made since, the thread is left with the address of a stack that is gone, and the next
    signal, such as that of Ctrl-C, ends the process.
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
