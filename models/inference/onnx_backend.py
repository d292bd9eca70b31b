"""Evaluate networks with ONNX Runtime; needs the extra `onnx`."""

import io
import warnings
from typing import Any

import numpy as np
import torch

from ckai.datasets.machine import available_cores
from ckai.models.inference.evaluator import (
    Boards,
    Floats,
    check_boards,
    float32_copy,
    import_extra,
    output_arrays,
    sizes_of,
)
from ckai.models.layers.network import Network


class OnnxRuntimeEvaluator:
    """A network exported to ONNX in memory and run by ONNX Runtime on the CPU in float32."""

    def __init__(self, network: Network, *, threads: int = 1) -> None:
        """Export and load.

        Args:
            network: copied; later training does not change the evaluator.
            threads: number of concurrent callers. Each of several uses one core; a single one uses all.

        Raises:
            BackendError: ONNX or ONNX Runtime is not installed.
            ValueError: `threads` is below 1.
        """
        if threads < 1:
            raise ValueError(f"expected threads >= 1, found {threads}")
        import_extra("onnx", "onnx")
        runtime = import_extra("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1 if threads > 1 else available_cores()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = runtime.InferenceSession(
            export_onnx(network), options, providers=["CPUExecutionProvider"]
        )
        self._encoding = network.encode
        self.name = f"{network.architecture}, onnxruntime float32, cpu"

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`."""
        check_boards(boards, *sizes_of(self._encoding), out_logits, out_values)
        logits, values = output_arrays(len(boards), self._encoding.NUM_ACTIONS, out_logits, out_values)
        if len(boards):
            rows = np.ascontiguousarray(self._encoding.append_extra(boards))
            outputs = self._session.run(["logits", "values"], {"boards": rows})
            logits[:], values[:] = outputs
        return logits, values

    def close(self) -> None:
        """Release the session."""
        self._session = None


def export_onnx(network: Network) -> bytes:
    """A network as an ONNX file: `boards` int8 `[B, width]` in, `logits` and `values` out; needs `onnx`.

    The width is `ckai.models.inference.evaluator.PackedNetwork.width`.
    """
    rows = float32_copy(network)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            rows,
            (torch.zeros(4, rows.width, dtype=torch.int8),),
            file,  # type: ignore[arg-type]
            input_names=["boards"],
            output_names=["logits", "values"],
            dynamic_axes={"boards": {0: "batch"}, "logits": {0: "batch"}, "values": {0: "batch"}},
            dynamo=False,  # the newer exporter needs another package and takes ten times as long
        )
    return file.getvalue()
