"""Networks as ONNX files for other programs, verified before a file is written; see docs/formats.md.

A file has one input, `boards` int8 `[B, width]`, and two outputs: `logits` float32 `[B, actions]` and
`values` float32 `[B]`, in [-1, 1] for the side to move. Its metadata name game, network and encoding.
"""

import io
import json
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from ckai.datasets.files import refuse_to_replace, write_whole
from ckai.models.inference.backends import sample_positions
from ckai.models.inference.evaluator import import_extra, legal_policy
from ckai.models.inference.torch_backend import TorchEvaluator, float32_copy
from ckai.models.layers.network import Network

EXACT = 1e-4
"""Max difference from PyTorch in float32, in probabilities of legal actions and in values."""
POSITIONS = 256
"""Positions that are compared."""


def export_network(network: Network, path: Path, *, force: bool = False) -> tuple[float, float]:
    """Write a network as ONNX, if the file answers as the network does.

    Args:
        network: the network to export.
        path: the file to write, which ends in `.onnx`.
        force: replace an existing file.

    Returns:
        The largest differences from PyTorch in float32, on `POSITIONS` positions, of the probability of a
        legal action and of the value.

    Raises:
        BackendError: an optional package is missing, or the network's own outputs are not finite.
        FileExistsError: there is such a file, and `force` is not set.
        WriteError: the file cannot be written.
        RuntimeError: the exported network differs by more than `EXACT`.
        ValueError: another suffix.
    """
    if path.suffix != ".onnx":
        raise ValueError(f"{path}: expected a name that ends in .onnx, found {path.suffix or 'no suffix'}")
    refuse_to_replace(path, force)
    encode = network.encode
    boards = sample_positions(POSITIONS, encode)
    policy, value = TorchEvaluator(network).policy(boards, encode.legal_mask(boards))
    data = _onnx(network)
    session = import_extra("onnxruntime", "onnx").InferenceSession(data, providers=["CPUExecutionProvider"])
    logits, values = session.run(None, {"boards": encode.append_extra(boards)})
    exported = legal_policy(logits, encode.legal_mask(boards))
    found = float(np.abs(exported - policy).max()), float(np.abs(values - value).max())
    if not all(each <= EXACT for each in found):  # NaN is not
        raise RuntimeError(
            f"{path}: expected the answers of the network within {EXACT:g}, found a difference of "
            f"{np.max(found):.2g}; the file was not kept"
        )
    write_whole(path, data)
    return found


def _onnx(network: Network) -> bytes:
    onnx, rows, file = import_extra("onnx", "onnx"), float32_copy(network), io.BytesIO()
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
    model = onnx.load_from_string(file.getvalue())
    facts = {
        "ckai": version("ckai"),
        "game": network.encode.GAME,
        "architecture": network.architecture,
        "settings": json.dumps(asdict(network.settings)),
        "encoding": network.encode.VERSION,
        "meaning": "https://github.com/ckai/ckai/blob/main/docs/formats.md#exported-networks",
    }
    onnx.helper.set_model_props(model, facts)
    data: bytes = model.SerializeToString()
    return data
