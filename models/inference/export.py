"""Export networks to ONNX, OpenVINO or TorchScript, verified before the file is kept.

All formats have one input, `boards` int8 `[B, width]`, and two outputs: `logits` float32 `[B, actions]` and
`values` float32 `[B]`, in [-1, 1] for the side to move. In checkers there are 128 actions, and the first 34
bytes of a row are the position in mover's view: 32 board values (1 own man, 3 own king, -1 / -3 the other's,
0 empty), the jumper's index (-1: none) and the halfmove clock (capped at 127). Other games have a value for
each of their squares (1 own stone, -1 the other's, 0 empty), -1 and 0. Networks with an encoding that has
extra bytes, such as `tactics`, expect them next: `Encoding.append_extra` appends them.
"""

import errno
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ckai.datasets.files import ForeignFileError, WriteError, make_parent
from ckai.models.inference.backends import (
    EXACT,
    evaluate_positions,
    exact_outputs,
    largest_differences,
    sample_positions,
)
from ckai.models.inference.evaluator import (
    Boards,
    Evaluator,
    Floats,
    TorchEvaluator,
    import_extra,
    output_arrays,
)
from ckai.models.layers.network import Network

SUFFIXES = {"onnx": ".onnx", "openvino": ".xml", "torchscript": ".pt"}
"""Formats and their file extensions; OpenVINO's weights are in a `.bin` beside the `.xml`."""

_MARKS = {"onnx": b"boards", "openvino": b"boards", "torchscript": b"__torch__/ckai/"}
"""Bytes that every export contains: the input's name, or a part of the names in the archive."""

_Run = Callable[[Boards], tuple[Any, Any]]


class ExportError(RuntimeError):
    """An exported network whose outputs differ from the original's."""


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


def export_network(network: Network, path: Path, to: str) -> Exported:
    """Write a network in another format; the file is kept only if its outputs match the network's.

    Args:
        network: the network to export.
        path: the file to write or replace.
        to: "onnx", "openvino" or "torchscript".

    Raises:
        BackendError: an optional package is missing, or the network's own outputs are not finite.
        ForeignFileError: `path` has the wrong suffix, see `SUFFIXES`, or holds anything but an export.
        WriteError: the file cannot be written.
        ExportError: the exported network differs by more than `ckai.models.inference.backends.EXACT`.
        ValueError: any other `to`.
    """
    if to not in SUFFIXES:
        raise ValueError(f"expected {', '.join(SUFFIXES)}, found {to!r}")
    _check_replaced(path, to)
    write, read = {"onnx": _onnx, "openvino": _openvino, "torchscript": _torchscript}[to]
    boards = sample_positions(256, network.encode)
    original = exact_outputs(TorchEvaluator(network), boards, network.encode)
    try:
        folder_of = tempfile.TemporaryDirectory(prefix=".export-", dir=path.parent)
    except OSError as error:
        raise WriteError(error.errno, error.strerror or str(error), str(path)) from error
    with folder_of as folder:
        written = Path(folder) / path.name
        write(network, written)
        exported = evaluate_positions(_File(read(written), network), boards, network.encode)
        policy, value = largest_differences(exported, original)
        # Each by itself: max(0.0, nan) is 0.0.
        if not (policy <= EXACT and value <= EXACT):
            raise ExportError(
                f"{path}: expected the answers of the network within {EXACT:g}, found a difference of "
                f"{np.max([policy, value]):.2g}; the file was not kept"
            )
        for file in sorted(Path(folder).iterdir()):  # OpenVINO's weights before their description
            os.replace(file, path.parent / file.name)
    encode = network.encode
    return Exported(
        path, encode.position_bytes + encode.EXTRA, encode.NUM_ACTIONS, len(boards), policy, value
    )


def _check_replaced(path: Path, to: str) -> None:
    """Check the name of an output, and that it replaces nothing but an earlier export."""
    if path.suffix != SUFFIXES[to]:
        found = path.suffix or "no suffix"
        raise ForeignFileError(f"{path}: expected a name that ends in {SUFFIXES[to]} for {to}, found {found}")
    make_parent(path)
    if len(path.name) > 255:
        raise WriteError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path))
    weights = path.with_suffix(".bin")
    if path.exists() and path.stat().st_size:
        if _MARKS[to] not in path.read_bytes():
            raise ForeignFileError(
                f"{path}: would be replaced, but is no exported network: choose another output, or remove it"
            )
    elif to == "openvino" and weights.exists():
        raise ForeignFileError(
            f"{weights}: would be replaced by the weights of {path.name}: choose another output, or remove it"
        )


class _File(Evaluator):
    """An exported file as an evaluator."""

    name = "exported"

    def __init__(self, run: _Run, network: Network) -> None:
        self._run, self._encoding = run, network.encode

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        logits, values = output_arrays(len(boards), self._encoding.NUM_ACTIONS, out_logits, out_values)
        logits[:], values[:] = self._run(self._encoding.append_extra(boards))
        return logits, values

    def close(self) -> None:
        pass


def _write_onnx(network: Network, path: Path) -> None:
    from ckai.models.inference.onnx_backend import export_onnx

    import_extra("onnx", "onnx")
    path.write_bytes(export_onnx(network))


def _read_onnx(path: Path) -> _Run:
    runtime = import_extra("onnxruntime", "onnx")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return lambda boards: session.run(["logits", "values"], {"boards": np.ascontiguousarray(boards)})


def _write_openvino(network: Network, path: Path) -> None:
    from ckai.models.inference.openvino_backend import convert

    openvino = import_extra("openvino", "openvino")
    copy, model = convert(openvino, network)
    model.inputs[0].get_tensor().set_names({"boards"})
    for output, name in zip(model.outputs, ("logits", "values"), strict=True):
        output.get_tensor().set_names({name})
    openvino.save_model(model, path, compress_to_fp16=False)
    del copy  # the model may share its memory until here


def _read_openvino(path: Path) -> _Run:
    from ckai.models.inference.openvino_backend import load_core

    compiled = load_core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(boards: Boards) -> tuple[Any, Any]:
        outputs = compiled({"boards": boards})
        return outputs["logits"], outputs["values"]

    return run


def _write_torchscript(network: Network, path: Path) -> None:
    from ckai.models.inference.openvino_backend import trace

    trace(network)[1].save(str(path))


def _read_torchscript(path: Path) -> _Run:
    module: Any = torch.jit.load(str(path))  # type: ignore[no-untyped-call]

    def run(boards: Boards) -> tuple[Any, Any]:
        with torch.inference_mode():
            logits, values = module(torch.from_numpy(boards))
            return logits.numpy(), values.numpy()

    return run


_onnx = (_write_onnx, _read_onnx)
_openvino = (_write_openvino, _read_openvino)
_torchscript = (_write_torchscript, _read_torchscript)
