"""Checkpoints: one file of plain dicts and tensors that alone rebuilds a network, and resumes its training.

Keys of format 1:

    format        1
    architecture  name in the registry
    settings      the architecture's settings, a dict
    encoding      version of what the network sees
    weights       name -> tensor
    metrics       what was measured on held-out rows
    info          how it came about: data sets, split, training settings, epochs, time
    training      None, or what continues a training: optimizer, schedule, random states, counters

Files are read with `weights_only=True`: a stranger's file cannot run code.
"""

import io
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ckai.datasets.files import write_whole
from ckai.datasets.schema import DEFAULT_GAME_NAME
from ckai.models.layers.network import Network
from ckai.models.registry import ModelError, build

FORMAT = 1
_KINDS: dict[str, type] = {
    "architecture": str,
    "settings": dict,
    "encoding": str,
    "weights": dict,
    "metrics": dict,
    "info": dict,
}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; names the file, what was expected and what was found."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a checkpoint holds; see the module's page."""

    architecture: str
    settings: dict[str, Any]
    encoding: str
    weights: dict[str, Tensor]
    metrics: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] | None = None
    path: Path | None = None
    """Where it was read from."""

    def network(self) -> Network:
        """The network with these weights, on the CPU and in evaluation mode.

        Raises:
            CheckpointError: unknown architecture, settings, encoding, or weights of another shape.
        """
        where = self.path or "checkpoint"
        try:
            network = build(self.architecture, self.settings)
        except ModelError as error:
            raise CheckpointError(f"{where}: {error}") from error
        expected = network.encode.VERSION
        if self.encoding != expected:
            raise CheckpointError(
                f"{where}: expected encoding {expected} for {self.architecture}, found {self.encoding}"
            )
        _check_weights(where, network, self.weights)
        network.load_state_dict(self.weights)
        return network.eval()


def save_checkpoint(
    path: str | Path,
    network: Network,
    *,
    metrics: Mapping[str, Any] | None = None,
    info: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint; a file of that name is replaced only once the new one is whole on the disk.

    Raises:
        OSError: if it cannot be written; what stood there before is untouched.
    """
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    content = {
        "format": FORMAT,
        "architecture": network.architecture,
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "weights": weights,
        "metrics": dict(metrics or {}),
        "info": dict(info or {}),
        "training": None if training is None else dict(training),
    }
    data = io.BytesIO()
    torch.save(content, data)
    write_whole(Path(path), data.getbuffer())


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; tensors come to the CPU.

    Raises:
        CheckpointError: no such file, not a checkpoint, of another format, or one that holds code.
    """
    path = Path(path)
    content = _read(path)
    if not isinstance(content, dict) or "format" not in content:
        found = (
            f"keys {', '.join(map(str, list(content)[:5]))}"
            if isinstance(content, dict)
            else type(content).__name__
        )
        raise CheckpointError(f"{path}: expected a ckai checkpoint, found a torch file with {found}")
    if content["format"] != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {content['format']!r}")
    for key, kind in _KINDS.items():
        if not isinstance(content.get(key), kind):
            raise CheckpointError(
                f"{path}: expected {key} to be {kind.__name__}, found {type(content.get(key)).__name__}"
            )
    training = content.get("training")
    if training is not None and not isinstance(training, dict):
        raise CheckpointError(f"{path}: expected training to be dict, found {type(training).__name__}")
    return Checkpoint(**{key: content[key] for key in _KINDS}, training=training, path=path)


def load_network(path: str | Path, game: str = DEFAULT_GAME_NAME) -> Network:
    """The network of a checkpoint, on the CPU and in evaluation mode.

    Raises:
        CheckpointError: see `load_checkpoint` and `Checkpoint.network`; or it plays another game.
    """
    network = load_checkpoint(path).network()
    if game != network.encode.GAME:
        raise CheckpointError(f"{path}: expected a network for {game}, found one for {network.encode.GAME}")
    return network


def _read(path: Path) -> Any:
    if not path.exists():
        raise CheckpointError(f"{path}: no such file")
    if path.is_dir():
        raise CheckpointError(f"{path}: expected a checkpoint, found a folder")
    if not zipfile.is_zipfile(path):
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found another kind of file, or one cut short"
        )
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        reason = (
            "objects other than plain data and tensors"
            if "weights_only" in str(error).lower()
            else "damaged data"
        )
        raise CheckpointError(f"{path}: expected plain data and tensors, found {reason}; not read") from error
    except (
        RuntimeError,
        EOFError,
        OSError,
        KeyError,
        ValueError,
        IndexError,
        AttributeError,
        TypeError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found a file that cannot be read ({reason})"
        ) from error


def _check_weights(where: Any, network: Network, weights: Mapping[str, Any]) -> None:
    expected = network.state_dict()
    missing, extra = sorted(expected.keys() - weights.keys()), sorted(weights.keys() - expected.keys())
    if missing or extra:
        problems = [
            f"{kind} {', '.join(keys[:3])}" for kind, keys in (("without", missing), ("with", extra)) if keys
        ]
        raise CheckpointError(
            f"{where}: expected the weights of {network.architecture}, found them {' and '.join(problems)}"
        )
    for name, tensor in weights.items():
        if not isinstance(tensor, Tensor):
            raise CheckpointError(f"{where}: expected {name} to be a tensor, found {type(tensor).__name__}")
        if tensor.shape != expected[name].shape:
            want, have = list(expected[name].shape), list(tensor.shape)
            raise CheckpointError(
                f"{where}: expected {name} of shape {want} for {network.architecture}, found {have}"
            )
