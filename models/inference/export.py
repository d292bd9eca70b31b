"""Networks in the formats of other programs, verified before a file is written.

ONNX files have one input, `boards` int8 `[B, width]`, and two outputs: `logits` float32 `[B, actions]` and
`values` float32 `[B]`, in [-1, 1] for the side to move. safetensors files have the weights alone,
with `config.json` and a model card next to them. Both hold what `contract` says of inputs and outputs: ONNX
in its metadata, safetensors in `config.json`.
"""

import io
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import refuse_to_replace, write_whole
from ckai.game.text import printable
from ckai.models.checkpoint import Checkpoint
from ckai.models.inference.backends import TorchEvaluator, sample_positions
from ckai.models.inference.evaluator import Boards, import_extra, legal_policy
from ckai.models.network import Network, build, float32_copy
from ckai.models.pretrained import CKAI, network_path

SUFFIXES = {"onnx": ".onnx", "safetensors": ".safetensors"}
"""Formats and their file extensions."""
CONFIG, CARD = "config.json", "README.md"
"""Names that the Hugging Face Hub expects next to the weights."""
EXACT = 1e-4
"""Max difference from PyTorch in float32, in probabilities of legal actions and in values."""
POSITIONS = 256
"""Positions that are compared."""

_ACTIONS = (
    "4 * i + direction: the piece on byte i takes one hop, a jump where it can, with direction 0 up right, "
    "1 down right, 2 down left, 3 up left; byte i is in row i // 4 from the top and column i % 4 from the "
    "left, and even rows are half a step further right than odd ones. After a jump that must be continued "
    "the same side is to move"
)
_CARD = """---
license: {licence}
library_name: ckai
pipeline_tag: reinforcement-learning
tags: [{tags}]
---

# {name}

A network for {game}: for each position it gives logits of the moves, and a value from
-1 to 1 for the side to move. It was exported by [ckai](https://github.com/ckai/ckai) {ckai}:
architecture `{architecture}`, {weights:,} weights, inputs `{encoding}`. It knows no rules: leave
illegal moves out of its answers. `{config}` has the meaning of every input and output, the
settings, and all that is known of its training.

```python
import json
from ckai.models import build
from safetensors.torch import load_file

config = json.load(open("{config}"))
network = build(config["architecture"], config["settings"]).eval()
network.load_state_dict(load_file("{file}"))
```

## Metrics on held-out games

{metrics}

## Licence

{terms}
"""
_Run = Callable[[Boards], tuple[Any, Any]]
"""What evaluates positions, `[B, position_bytes]` int8: logits and values."""


def export_network(
    network: Network, path: Path, *, source: Checkpoint | None = None, force: bool = False
) -> tuple[float, float]:
    """Write a network in another format, if what was made of it answers as it does.

    Args:
        network: the network to export.
        path: the file to write; its suffix says the format, see `SUFFIXES`. Of safetensors, `config.json` and
            a model card are written next to it.
        source: the checkpoint that it is from: they say what that records.
        force: replace existing files.

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
    if path.suffix not in SUFFIXES.values():
        expected, given = " or ".join(SUFFIXES.values()), path.suffix or "no suffix"
        raise ValueError(f"{path}: expected a name that ends in {expected}, found {given}")
    hub = path.suffix == SUFFIXES["safetensors"]
    if hub:
        import_extra("safetensors", "safetensors")  # before a folder is made
    for file in (path, *(map(path.with_name, (CONFIG, CARD)) if hub else ())):
        refuse_to_replace(file, force)
    encode = network.encode
    boards = sample_positions(POSITIONS, encode)
    policy, value = TorchEvaluator(network).policy(boards, encode.legal_mask(boards))
    data, run = _safetensors(network, source) if hub else _onnx(network)
    logits, values = run(boards)
    exported = legal_policy(logits, encode.legal_mask(boards))
    found = float(np.abs(exported - policy).max()), float(np.abs(values - value).max())
    if not all(each <= EXACT for each in found):  # NaN is not
        raise RuntimeError(
            f"{path}: expected the answers of the network within {EXACT:g}, found a difference of "
            f"{np.max(found):.2g}; the file was not kept"
        )
    if hub:
        said = contract(network)
        if source is not None:
            metrics = {
                name: value
                for name, value in source.metrics.items()
                if not isinstance(value, float) or math.isfinite(value)
            }
            said |= {"metrics": metrics, "info": source.info}
        # Tensors, such as the keys of the games, become null.
        text = json.dumps(said, indent=2, skipkeys=True, default=lambda tensor: None)
        write_whole(path.with_name(CONFIG), text + "\n")
        write_whole(path.with_name(CARD), _card(said, path, source, network))
    write_whole(path, data)
    return found


def contract(network: Network) -> dict[str, Any]:
    """Return what an exported network takes and answers, and what made it, as plain data.

    Texts say which bytes are what, how actions are numbered, and whose view they and the values are in.
    """
    encode = network.encode
    checkers, end = encode.GAME == DEFAULT_GAME_NAME, encode.position_bytes
    inputs = {f"0 to {end - 1}": cleandoc(type(encode).__doc__ or "")}
    if checkers:
        inputs = {
            "0 to 31": "the squares: 1 own man, 3 own king, -1 and -3 the other's, 0 empty; byte i is square "
            "i + 1 of PDN if Black is to move, and 32 - i if White is",
            "32": "the byte i of the piece that must continue a capture, -1 if there is none",
            "33": "plies since the last capture or move of a man, at most 127",
        }
    if encode.EXTRA:
        inputs[f"{end} to {end + encode.EXTRA - 1}"] = (
            f"{encode.EXTRA_TEXT}. They need a search and are appended to the first {end} by "
            f"ckai.models.encoding_type({network.settings.encoding!r})().append_extra(boards)"
        )
    return {
        "ckai": version("ckai"),
        "game": encode.GAME,
        "architecture": network.architecture,
        "settings": asdict(network.settings),
        "encoding": encode.VERSION,
        "view": "of the side to move"
        + (", which plays from byte 0 to byte 31: the board is turned by 180 degrees for White" * checkers),
        "boards": f"int8 [B, {end + encode.EXTRA}]",
        "inputs": inputs,
        "actions": _ACTIONS if checkers else f"numbered by the rules of {encode.GAME} in ckai, in this view",
        "logits": f"float32 [B, {encode.NUM_ACTIONS}], of all actions: leave the illegal ones out",
        "values": "float32 [B], -1 to 1 for the side to move: 1 it wins, 0 a draw",
    }


def _onnx(network: Network) -> tuple[bytes, _Run]:
    onnx, runtime = import_extra("onnx", "onnx"), import_extra("onnxruntime", "onnx")
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
    model = onnx.load_from_string(file.getvalue())
    said = contract(network)
    texts = {key: each if isinstance(each, str) else json.dumps(each) for key, each in said.items()}
    onnx.helper.set_model_props(model, texts)
    data = model.SerializeToString()
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return data, lambda boards: session.run(None, {"boards": network.encode.append_extra(boards)})


def _safetensors(network: Network, source: Checkpoint | None) -> tuple[bytes, _Run]:
    safetensors = import_extra("safetensors.torch", "safetensors")
    weights = source.weights if source else network.state_dict()  # as stored, which may be in float16
    # It refuses tensors that share memory.
    weights = {name: each.detach().cpu().clone() for name, each in weights.items()}
    data = safetensors.save(weights, {"format": "pt"})
    again = build(network.architecture, asdict(network.settings))
    again.load_state_dict(safetensors.load(data))
    return data, TorchEvaluator(again).evaluate


def _card(said: dict[str, Any], path: Path, source: Checkpoint | None, network: Network) -> str:
    """The model card of a network, from what `config.json` says."""
    ours = source is not None and source.path.parent == network_path(CKAI).parent
    numbers = {k: v for k, v in said.get("metrics", {}).items() if isinstance(v, int | float)}
    rows = [f"| {printable(str(name)).replace('|', ' ')} | {value:,.4g} |" for name, value in numbers.items()]
    game = ["checkers", "draughts"] if said["game"] == DEFAULT_GAME_NAME else [said["game"]]
    return _CARD.format_map(
        said
        | {
            "name": printable(source.path.stem if source else said["architecture"], 200),
            "tags": ", ".join([*game, said["architecture"]]),
            "weights": sum(each.numel() for each in network.parameters()),
            "config": CONFIG,
            "file": path.name,
            "metrics": "\n".join(["| | |", "|---|---|", *rows]) if rows else "The checkpoint has none.",
            "licence": "mit" if ours else "unknown",
            "terms": "MIT, as ckai's."
            if ours
            else "None was chosen yet: put it here and after `license:` above, with regard to the data.",
        }
    )
