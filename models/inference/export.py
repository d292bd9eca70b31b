"""Export networks to ONNX or OpenVINO, verified before the file is kept.

All formats have one input, `boards` int8 `[B, width]`, and two outputs: `logits` float32 `[B, actions]` and
`values` float32 `[B]`, in [-1, 1] for the side to move. In checkers there are 128 actions, and the first 34
bytes of a row are the position in mover's view: 32 board values (1 own man, 3 own king, -1 / -3 the other's,
0 empty), the jumper's index (-1: none) and the halfmove clock (capped at 127). Other games have a value for
each of their squares (1 own stone, -1 the other's, 0 empty), -1 and 0. Networks with an encoding that has
extra bytes, such as `tactics`, expect them next: `Encoding.append_extra` appends them.
"""

import io
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ckai.datasets.files import WriteError, refuse_to_replace
from ckai.models.inference.backends import evaluate_positions, sample_positions
from ckai.models.inference.evaluator import BackendError, Boards, import_extra
from ckai.models.inference.openvino_backend import convert, load_core
from ckai.models.inference.torch_backend import TorchEvaluator, float32_copy
from ckai.models.layers.network import Network

SUFFIXES = {"onnx": ".onnx", "openvino": ".xml"}
"""Formats and their file extensions; OpenVINO's weights are in a `.bin` next to the `.xml`."""
EXACT = 1e-4
"""Max difference from PyTorch in float32, in probabilities of legal actions and in values."""

_Run = Callable[[Boards], tuple[Any, Any]]


@dataclass(frozen=True)
class Exported:
    """An exported file, and its largest differences from the original network."""

    path: Path
    width: int
    """Bytes of an input row."""
    actions: int
    """Logits of a position."""
    positions: int
    """Number of positions compared."""
    policy_error: float
    """Largest difference of a legal move's probability from PyTorch in float32."""
    value_error: float


def export_network(network: Network, path: Path, to: str, *, force: bool = False) -> Exported:
    """Write a network in another format; the file is kept only if its outputs match the network's.

    Args:
        network: the network to export.
        path: the file to write.
        to: "onnx" or "openvino".
        force: replace an existing file.

    Raises:
        BackendError: an optional package is missing, or the network's own outputs are not finite.
        FileExistsError: there is such a file, and `force` is not set.
        WriteError: the file cannot be written.
        RuntimeError: the exported network differs by more than `EXACT`.
        ValueError: any other `to`, or `path` has the wrong suffix, see `SUFFIXES`.
    """
    if to not in SUFFIXES:
        raise ValueError(f"expected {', '.join(SUFFIXES)}, found {to!r}")
    if path.suffix != SUFFIXES[to]:
        found = path.suffix or "no suffix"
        raise ValueError(f"{path}: expected a name that ends in {SUFFIXES[to]} for {to}, found {found}")
    for file in (path, path.with_suffix(".bin")) if to == "openvino" else (path,):
        refuse_to_replace(file, force)
    write, read = {"onnx": _onnx, "openvino": _openvino}[to]
    encode = network.encode
    boards = sample_positions(256, encode)
    original = evaluate_positions(TorchEvaluator(network), boards, encode)
    try:
        folder_of = tempfile.TemporaryDirectory(prefix=".export-", dir=path.parent)
    except OSError as error:
        raise WriteError.of(error, path) from error
    with folder_of as folder:
        written = Path(folder) / path.name
        write(network, written)
        try:
            run = read(written)
            answers: Any = SimpleNamespace(
                name="exported", evaluate=lambda boards: run(encode.append_extra(boards))
            )
            exported = evaluate_positions(answers, boards, encode)
        except BackendError:
            exported = np.array(np.nan), np.array(np.nan)
        policy, value = (float(np.abs(a - b).max()) for a, b in zip(exported, original, strict=True))
        # Each by itself: max(0.0, nan) is 0.0.
        if not (policy <= EXACT and value <= EXACT):
            raise RuntimeError(
                f"{path}: expected the answers of the network within {EXACT:g}, found a difference of "
                f"{np.max([policy, value]):.2g}; the file was not kept"
            )
        for file in sorted(Path(folder).iterdir()):  # OpenVINO's weights before their description
            os.replace(file, path.parent / file.name)
    return Exported(
        path, encode.position_bytes + encode.EXTRA, encode.NUM_ACTIONS, len(boards), policy, value
    )


def _write_onnx(network: Network, path: Path) -> None:
    import_extra("onnx", "onnx")
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
    path.write_bytes(file.getvalue())


def _read_onnx(path: Path) -> _Run:
    runtime = import_extra("onnxruntime", "onnx")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return lambda boards: session.run(["logits", "values"], {"boards": np.ascontiguousarray(boards)})


def _write_openvino(network: Network, path: Path) -> None:
    openvino = import_extra("openvino", "openvino")
    copy, model = convert(openvino, network)
    model.inputs[0].get_tensor().set_names({"boards"})
    for output, name in zip(model.outputs, ("logits", "values"), strict=True):
        output.get_tensor().set_names({name})
    openvino.save_model(model, path, compress_to_fp16=False)
    del copy  # the model may share its memory until here


def _read_openvino(path: Path) -> _Run:
    compiled = load_core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(boards: Boards) -> tuple[Any, Any]:
        outputs = compiled({"boards": boards})
        return outputs["logits"], outputs["values"]

    return run


_onnx = (_write_onnx, _read_onnx)
_openvino = (_write_openvino, _read_openvino)
