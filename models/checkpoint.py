"""Checkpoints: one file of plain dicts and tensors that rebuilds a network and resumes its training.

Keys of format 1:

    format        1
    architecture  name in the registry
    settings      the architecture's settings, a dict
    encoding      version of the input planes
    weights       name -> tensor
    metrics       metrics on held-out rows, see `ckai.models.evaluation.metrics`
    info          origin: data sets, split, training settings, epochs, time
    training      None, or the state to resume from: optimizer, schedule, random states, counters

Files are read with `weights_only=True`, so that an untrusted file cannot run code.
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

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import write_whole
from ckai.models.layers.network import Network
from ckai.models.pretrained import network_path
from ckai.models.registry import ModelError, build

FORMAT = 1
_TYPES: dict[str, type] = {
    "architecture": str,
    "settings": dict,
    "encoding": str,
    "weights": dict,
    "metrics": dict,
    "info": dict,
}


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; names the file, what was expected and what it has instead."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The contents of a checkpoint.

    Metrics have today's names, whatever version wrote the file.
    """

    architecture: str
    """Its name in the registry."""
    settings: dict[str, Any]
    """The architecture's settings."""
    encoding: str
    """Version of the input planes."""
    weights: dict[str, Tensor]
    """By name, on the CPU."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """On held-out rows, see `ckai.models.evaluation.metrics`."""
    info: dict[str, Any] = field(default_factory=dict)
    """Origin: data sets, split, training settings, epochs, time."""
    training: dict[str, Any] | None = None
    """The state to resume from, see `ckai.models.train`; None if the file has none."""
    path: Path | None = None
    """The file it was read from."""

    def network(self) -> Network:
        """Build the network with these weights, on the CPU and in evaluation mode.

        Raises:
            CheckpointError: unknown architecture or settings, another version of the encoding, or weights of
                another shape or that are not finite.
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
    """Write a checkpoint atomically.

    Args:
        path: the file to write or replace.
        network: its weights are saved from any device.
        metrics, info, training: plain data and tensors, see `Checkpoint`.

    Raises:
        OSError: if it cannot be written; an existing file is unchanged.

    Examples:
        >>> from ckai.models import build, load_checkpoint
        >>> save_checkpoint("small.ckpt", build("mlp", {"hidden": 8}), metrics={"top1": 0.5})
        >>> load_checkpoint("small.ckpt").metrics
        {'top1': 0.5}
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
    """Read a checkpoint; its tensors are on the CPU.

    Args:
        path: a file, or the name of an installed network, see `ckai.models.pretrained`.

    Raises:
        CheckpointError: the file is missing, not a checkpoint, of another format, or contains code.

    Examples:
        >>> checkpoint = load_checkpoint("network.ckpt")
        >>> checkpoint.architecture, checkpoint.encoding, checkpoint.training
        ('resnet', 'planes-1', None)
    """
    path = network_path(path)
    content = _read(path)
    if not isinstance(content, dict) or "format" not in content:
        contents = (
            f"keys {', '.join(map(str, list(content)[:5]))}"
            if isinstance(content, dict)
            else type(content).__name__
        )
        raise CheckpointError(f"{path}: expected a ckai checkpoint, found a torch file with {contents}")
    if content["format"] != FORMAT:
        raise CheckpointError(f"{path}: expected checkpoint format {FORMAT}, found {content['format']!r}")
    for key, type_ in _TYPES.items():
        if not isinstance(content.get(key), type_):
            raise CheckpointError(
                f"{path}: expected {key} to be {type_.__name__}, found {type(content.get(key)).__name__}"
            )
    training = content.get("training")
    if training is not None and not isinstance(training, dict):
        raise CheckpointError(f"{path}: expected training to be dict, found {type(training).__name__}")
    fields = {key: content[key] for key in _TYPES}
    fields["metrics"] = current_names(fields["metrics"])
    if training is not None:
        training = _with_current_names(training)
    return Checkpoint(**fields, training=training, path=path)


def current_names(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics under today's names: `value_auc` was once `value_sorted`; a prefix such as `heldout_` stays."""
    return {name.replace("value_sorted", "value_auc"): value for name, value in metrics.items()}


def _with_current_names(training: dict[str, Any]) -> dict[str, Any]:
    """A training state whose history has today's names of the metrics."""
    renamed = dict(training)
    if "history" in training:
        renamed["history"] = [current_names(row) for row in training["history"]]
    if "stages" in training:
        renamed["stages"] = [[current_names(row) for row in stage] for stage in training["stages"]]
    return renamed


def load_network(path: str | Path, game: str | None = DEFAULT_GAME_NAME) -> Network:
    """Load the network of a checkpoint, on the CPU and in evaluation mode.

    Args:
        path: the checkpoint.
        game: the game it must be for; None: any.

    Raises:
        CheckpointError: see `load_checkpoint` and `Checkpoint.network`; or a network for another game.

    Examples:
        >>> network = load_network("network.ckpt")
        >>> network.architecture, network.settings.channels
        ('resnet', 4)
    """
    network = load_checkpoint(path).network()
    if game not in (None, network.encode.GAME):
        raise CheckpointError(f"{path}: expected a network for {game}, found one for {network.encode.GAME}")
    return network


def _read(path: Path) -> Any:
    if not path.exists():
        raise CheckpointError(f"{path}: no such file")
    if path.is_dir():
        raise CheckpointError(f"{path}: expected a checkpoint, found a folder")
    if not zipfile.is_zipfile(path):
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found a file that is not one or is cut short"
        )
    try:
        _check_sums(path)
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
        zipfile.BadZipFile,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found a file that cannot be read ({reason})"
        ) from error


def _check_sums(path: Path) -> None:
    """Compare the checksums of a file's parts, which PyTorch writes but does not read."""
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"damaged data in {damaged}")


def _check_weights(where: Any, network: Network, weights: Mapping[str, Any]) -> None:
    expected = network.state_dict()
    missing, extra = sorted(expected.keys() - weights.keys()), sorted(weights.keys() - expected.keys())
    if missing or extra:
        problems = [
            f"{word} {', '.join(keys[:3])}" for word, keys in (("without", missing), ("with", extra)) if keys
        ]
        raise CheckpointError(
            f"{where}: expected the weights of {network.architecture}, found weights {' and '.join(problems)}"
        )
    for name, tensor in weights.items():
        if not isinstance(tensor, Tensor):
            raise CheckpointError(f"{where}: expected {name} to be a tensor, found {type(tensor).__name__}")
        if tensor.shape != expected[name].shape:
            want, have = list(expected[name].shape), list(tensor.shape)
            raise CheckpointError(
                f"{where}: expected {name} of shape {want} for {network.architecture}, found {have}"
            )
        if not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{where}: expected finite weights, found NaN or infinity in {name}: they are of no use; "
                "take an earlier checkpoint or train again"
            )
