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

Files are read with `weights_only=True`, so that an untrusted file cannot run code. Each has a digest of its
contents (`ckai.models.digest`), so that damage is noticed.
"""

import copy
import io
import logging
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import file_digest, first_line, write_whole
from ckai.models.digest import add_digest, verified_digest
from ckai.models.layers.network import Network
from ckai.models.pretrained import network_path
from ckai.models.validation import (
    build_for,
    check_info,
    check_metrics,
    check_training,
    check_type,
    fitting_weights,
)

FORMAT = 1
_LOG = logging.getLogger("ckai")
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
    """The contents of a checkpoint."""

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
    digest: str | None = None
    """SHA-256 of the file's parts, 64 hexadecimal digits; None in a file of an earlier version, which has no
    digest."""

    @property
    def identity(self) -> str | None:
        """The digest, or that of the whole file if it has none; None if it was not read from a file."""
        return self.digest or (file_digest(self.path) if self.path is not None else None)

    def network(self) -> Network:
        """Build the network with these weights, on the CPU and in evaluation mode.

        Raises:
            CheckpointError: unknown architecture or settings, another version of the encoding, or weights of
                another type or shape or that are not finite.
        """
        where = self.path or "checkpoint"
        try:
            network = build_for(self.architecture, self.settings, self.weights)
            expected = network.encode.VERSION
            if self.encoding != expected:
                raise ValueError(
                    f"expected encoding {expected} for {self.architecture}, found {_shown(self.encoding)}"
                )
            weights = fitting_weights(network, self.weights, self.architecture)
        except (ValueError, RuntimeError) as error:
            raise CheckpointError(f"{where}: {_reason(error)}") from error
        if any(tensor.dtype == torch.float64 for tensor in self.weights.values()):
            _LOG.warning("%s: weights in float64, rounded to float32", where)
        network.load_state_dict(weights)
        return network.eval()


def save_checkpoint(
    path: str | Path,
    network: Network,
    *,
    metrics: Mapping[str, Any] | None = None,
    info: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Write a checkpoint atomically.

    Args:
        path: the file to write or replace.
        network: its weights are saved from any device.
        metrics, info, training: plain data and tensors, see `Checkpoint`.
        dtype: dtype of the layers' weights in the file; biases and statistics, which are few, keep theirs.
            float16 halves the file and rounds the weights to 11 bits. None: unchanged.

    Raises:
        OSError: if it cannot be written; an existing file is unchanged.

    Examples:
        >>> from ckai.models import build, load_checkpoint
        >>> save_checkpoint("small.ckpt", build("mlp", {"hidden": 8}), metrics={"top1": 0.5})
        >>> load_checkpoint("small.ckpt").metrics
        {'top1': 0.5}
    """
    weights = _on_cpu(network.state_dict(), dtype)
    if dtype is not None:
        # Buffers derived from the weights must match the converted weights in the file.
        as_loaded = copy.deepcopy(network)
        as_loaded.load_state_dict(weights)
        weights = _on_cpu(as_loaded.state_dict(), dtype)
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
    add_digest(data)
    write_whole(Path(path), data.getbuffer())


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; its tensors are on the CPU.

    Args:
        path: a file, or the name of an installed network, see `ckai.models.pretrained`.

    Raises:
        CheckpointError: the file is missing, damaged, not a checkpoint, of another format, or contains code
            or invalid plain data.

    Examples:
        >>> checkpoint = load_checkpoint("network.ckpt")
        >>> checkpoint.architecture, checkpoint.encoding, checkpoint.training
        ('resnet', 'planes-1', None)
    """
    path = network_path(path)
    content, digest = _read(path)
    if not isinstance(content, dict) or "format" not in content:
        contents = (
            f"keys {_shown(', '.join(map(str, list(content)[:5])))}"
            if isinstance(content, dict)
            else type(content).__name__
        )
        raise CheckpointError(f"{path}: expected a ckai checkpoint, found a torch file with {contents}")
    if not isinstance(content["format"], int) or content["format"] != FORMAT:
        raise CheckpointError(
            f"{path}: expected checkpoint format {FORMAT}, found {_shown(content['format'])}"
        )
    fields: dict[str, Any] = {key: content.get(key) for key in _TYPES}
    training = content.get("training")
    try:
        for key, type_ in _TYPES.items():
            check_type(key, fields[key], type_)
        check_metrics("metrics", fields["metrics"])
        check_info(fields["info"])
        if training is not None:
            check_type("training", training, dict)
            check_training(training)
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return Checkpoint(**fields, training=training, path=path, digest=digest)


def _on_cpu(weights: Mapping[str, Tensor], dtype: torch.dtype | None = None) -> dict[str, Tensor]:
    """Weights on the CPU, those of layers in another type if one is given."""
    copies = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    if dtype is None:
        return copies
    return {name: tensor.to(dtype) if _of_layer(name, tensor) else tensor for name, tensor in copies.items()}


def _of_layer(name: str, tensor: Tensor) -> bool:
    """Whether these are the weights of a layer, not a bias, a statistic or integers."""
    return tensor.is_floating_point() and tensor.ndim > 1 and not name.endswith("bias")


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


def _read(path: Path) -> tuple[Any, str | None]:
    """The contents of a file and its digest, None if it has none."""
    if not path.exists():
        raise CheckpointError(
            f"{path}: expected a checkpoint or an installed network, found no such file; check the path"
        )
    if path.is_dir():
        raise CheckpointError(
            f"{path}: expected a checkpoint, found a folder; name a file in it, such as best.ckpt"
        )
    if not zipfile.is_zipfile(path):
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found a file that is not one or is cut short"
        )
    try:
        digest = verified_digest(path)
        return torch.load(path, map_location="cpu", weights_only=True), digest
    except pickle.UnpicklingError as error:
        reason = (
            "objects other than plain data and tensors"
            if "weights_only" in str(error).lower()
            else "damaged data"
        )
        raise CheckpointError(f"{path}: expected plain data and tensors, found {reason}; not read") from error
    except Exception as error:  # a strange file can make PyTorch raise anything
        raise CheckpointError(
            f"{path}: expected a ckai checkpoint, found a file that cannot be read ({_reason(error)})"
        ) from error


def _reason(error: Exception) -> str:
    return _shortened(first_line(error), 300)


def _shown(value: Any) -> str:
    """What a file has in place of what was expected; a file may have a lot of it."""
    return _shortened(value if isinstance(value, str) else repr(value), 60)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
