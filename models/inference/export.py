"""Networks in the formats of other programs, verified before a file is kept.

ONNX files have one input, `boards` int8 `[B, width]`, and two outputs: `logits` float32 `[B, actions]` and
`values` float32 `[B]`, in [-1, 1] for the side to move. safetensors files have the weights alone,
with `config.json` and a model card next to them. Both hold what `contract` says of inputs and outputs: ONNX
in its metadata, safetensors in `config.json`.
"""

import io
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import WriteError, refuse_to_replace, rename
from ckai.game.text import printable
from ckai.models.checkpoint import Checkpoint
from ckai.models.inference.backends import evaluate_positions, sample_positions
from ckai.models.inference.evaluator import BackendError, Boards, import_extra
from ckai.models.inference.torch_backend import TorchEvaluator, float32_copy
from ckai.models.layers.network import Network
from ckai.models.pretrained import CKAI, network_path
from ckai.models.registry import build

SUFFIXES = {"onnx": ".onnx", "safetensors": ".safetensors"}
"""Formats and their file extensions."""
CONFIG, CARD = "config.json", "README.md"
"""Names that the Hugging Face Hub expects next to the weights."""
EXACT = 1e-4
"""Max difference from PyTorch in float32, in probabilities of legal actions and in values."""

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
_Format = tuple[Callable[[Network, Path], None], Callable[[Path], _Run]]


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


def export_network(
    network: Network, path: Path, to: str, *, source: Checkpoint | None = None, force: bool = False
) -> Exported:
    """Write a network in another format; the file is kept only if its outputs match the network's.

    Args:
        network: the network to export.
        path: the file to write; of safetensors, `config.json` and a model card are written next to it.
        to: "onnx" or "safetensors".
        source: the checkpoint that it is from: they say what that records.
        force: replace existing files.

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
    for file in (path, *(map(path.with_name, (CONFIG, CARD)) if to == "safetensors" else [])):
        refuse_to_replace(file, force)
    hub: _Format = (partial(_write_safetensors, source=source), _read_safetensors)
    write, read = hub if to == "safetensors" else _onnx
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
        for file in Path(folder).iterdir():
            rename(file, path.parent / file.name)
    return Exported(
        path, encode.position_bytes + encode.EXTRA, encode.NUM_ACTIONS, len(boards), policy, value
    )


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


def _texts(network: Network) -> dict[str, str]:
    """Return `contract` with JSON in place of what is not text."""
    said = contract(network)
    return {key: each if isinstance(each, str) else json.dumps(each) for key, each in said.items()}


def _write_safetensors(network: Network, path: Path, *, source: Checkpoint | None) -> None:
    save = import_extra("safetensors.torch", "safetensors").save
    weights = source.weights if source else network.state_dict()
    # It refuses tensors that share memory.
    weights = {name: each.detach().cpu().clone() for name, each in weights.items()}
    path.write_bytes(save(weights, {"format": "pt"}))
    record = {"metrics": _plain(source.metrics), "info": _plain(source.info)} if source else {}
    said = contract(network) | record
    path.with_name(CONFIG).write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    path.with_name(CARD).write_text(_card(said, path, source, network), encoding="utf-8")


def _card(said: dict[str, Any], path: Path, source: Checkpoint | None, network: Network) -> str:
    """The model card of a network, from what `config.json` says."""
    ours = source is not None and source.path.parent == network_path(CKAI).parent
    numbers = {k: v for k, v in said.get("metrics", {}).items() if isinstance(v, int | float)}
    rows = [f"| {name.replace('|', ' ')} | {value:,.4g} |" for name, value in numbers.items()]
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


def _plain(value: Any) -> Any:
    """What a checkpoint records, as plain data without tensors; it may be a stranger's."""
    if isinstance(value, Mapping):
        each = ((k, v) for k, v in value.items() if not isinstance(v, Tensor))
        return {printable(str(k), 200): _plain(v) for k, v in each}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int) else printable(str(value), 200)


def _read_safetensors(path: Path) -> _Run:
    config = json.loads(path.with_name(CONFIG).read_text(encoding="utf-8"))
    network = build(config["architecture"], config["settings"])
    network.load_state_dict(import_extra("safetensors.torch", "safetensors").load_file(path))
    rows = float32_copy(network)
    return lambda boards: tuple(output.numpy() for output in rows(torch.from_numpy(boards)))


def _write_onnx(network: Network, path: Path) -> None:
    onnx = import_extra("onnx", "onnx")
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
    onnx.helper.set_model_props(model, _texts(network))
    path.write_bytes(model.SerializeToString())


def _read_onnx(path: Path) -> _Run:
    runtime = import_extra("onnxruntime", "onnx")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return lambda boards: session.run(["logits", "values"], {"boards": np.ascontiguousarray(boards)})


_onnx = (_write_onnx, _read_onnx)
