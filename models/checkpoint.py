"""Checkpoints: one file of plain dicts and tensors that rebuilds a network.

Its keys are `format`, which is 1, and the fields of `Checkpoint` except the path. A file may come from
anywhere. It is read with `weights_only=True`, so that it cannot run code; the checksums of its parts, which
PyTorch passes over, are compared; and what is odd in it is found when it is read.
"""

import io
import pickle
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import file_digest, first_line, write_whole
from ckai.datasets.split import check_share
from ckai.game.text import printable
from ckai.models.network import Network, build
from ckai.models.pretrained import network_path

FORMAT = 1
SPARE = 8
"""Numbers that may be allocated for each weight in a file: some layers are built from others."""
PER_PARAMETER = 100
"""Extra numbers counted for each parameter, because many layers of one weight take seconds to build."""


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
    """On held-out rows, see `ckai.models.evaluation`."""
    info: dict[str, Any] = field(default_factory=dict)
    """Origin: data sets, split, training settings, epochs, time."""
    path: Path
    """The file it was read from."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file, 64 hexadecimal digits."""
        return file_digest(self.path)

    def network(self) -> Network:
        """Build the network with these weights, on the CPU and in evaluation mode.

        Raises:
            CheckpointError: unknown architecture or settings, another version of the encoding, or weights of
                another type or shape or that are not finite.
        """
        try:
            network = _build_for(self.architecture, self.settings, self.weights)
            if self.encoding != (version := network.encode.VERSION):
                found = _shown(self.encoding)
                raise ValueError(f"expected encoding {version} for {self.architecture}, found {found}")
            _check_weights(network, self.weights)
        except (ValueError, RuntimeError) as error:
            raise CheckpointError(f"{self.path}: {_shown(first_line(error), 300)}") from error
        network.load_state_dict(self.weights)
        return network.eval()


def save_checkpoint(
    path: str | Path,
    network: Network,
    *,
    metrics: Mapping[str, Any] | None = None,
    info: Mapping[str, Any] | None = None,
    dtype: torch.dtype | None = None,
) -> None:
    """Write a checkpoint atomically.

    Args:
        path: the file to write or replace.
        network: its weights are saved from any device.
        metrics, info: plain data and tensors, see `Checkpoint`.
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
    content = {
        "format": FORMAT,
        "architecture": network.architecture,
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "weights": _on_cpu(network, dtype),
        "metrics": dict(metrics or {}),
        "info": dict(info or {}),
    }
    data = io.BytesIO()
    torch.save(content, data)
    write_whole(Path(path), data.getbuffer())


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint; its tensors are on the CPU.

    Args:
        path: a file, or the name of an installed network, see `ckai.models.pretrained`.

    Raises:
        CheckpointError: the file is missing, damaged, not a checkpoint, of another format, or contains code
            or invalid plain data.
    """
    path = network_path(path)
    content = read_plain(path)
    try:
        if not isinstance(content, dict) or "format" not in content:
            has = f"keys {[*content][:5]}" if isinstance(content, dict) else f"a {type(content).__name__}"
            raise ValueError(f"expected a ckai checkpoint, found a torch file with {_shown(has)}")
        if not isinstance(content["format"], int) or content["format"] != FORMAT:
            raise ValueError(
                f"expected checkpoint format {FORMAT}, found {_shown(content['format'])}, of another version "
                "of ckai; train the network again"
            )
        types = {key: get_origin(type_) or type_ for key, type_ in get_type_hints(Checkpoint).items()}
        fields: dict[str, Any] = {key: content.get(key) for key in types if key != "path"}
        for key, value in fields.items():
            _check_type(key, value, types[key])
        _check_info(fields["info"])
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return Checkpoint(**fields, path=path)


def load_network(path: str | Path, game: str | None = DEFAULT_GAME_NAME) -> Network:
    """Load the network of a checkpoint, on the CPU and in evaluation mode.

    Args:
        path: the checkpoint.
        game: the game it must be for; None: any.

    Raises:
        CheckpointError: see `load_checkpoint` and `Checkpoint.network`; or a network for another game.
    """
    network = load_checkpoint(path).network()
    if game not in (None, network.encode.GAME):
        raise CheckpointError(f"{path}: expected a network for {game}, found one for {network.encode.GAME}")
    return network


def _on_cpu(network: Network, dtype: torch.dtype | None) -> dict[str, Tensor]:
    """Weights on the CPU; if a type is given, layers have it, not biases or statistics."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    for name, tensor in weights.items():
        if dtype and tensor.is_floating_point() and tensor.ndim > 1 and not name.endswith("bias"):
            weights[name] = tensor.to(dtype)
    return weights


def read_plain(path: Path) -> Any:
    """Read a file of PyTorch that holds plain data and tensors, which cannot run code.

    Raises:
        CheckpointError: the file is missing, damaged or contains anything else.
    """
    found = "a file that is not one or is cut short"
    if not path.exists():
        found = "no such file; check the path or the name of an installed network"
    elif path.is_dir():
        found = "a folder; name a file in it, such as best.ckpt"
    elif zipfile.is_zipfile(path):
        found = ""
    if found:
        raise CheckpointError(f"{path}: expected a checkpoint, found {found}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(set(names)) < len(names):
                raise zipfile.BadZipFile("damaged data: two parts have one name")
            # PyTorch packs nothing; what unpacks to more would fill the memory.
            if sum(part.file_size for part in archive.infolist()) > path.stat().st_size:
                raise zipfile.BadZipFile("its parts are larger than the file")
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(f"damaged data in {damaged}")
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        code = "weights_only" in str(error).lower()
        reason = "objects other than plain data and tensors" if code else "damaged data"
        raise CheckpointError(f"{path}: expected plain data and tensors, found {reason}; not read") from error
    except Exception as error:  # a strange file can make PyTorch raise anything
        reason = f"found a file that cannot be read ({_shown(first_line(error), 300)})"
        raise CheckpointError(f"{path}: expected a ckai checkpoint, {reason}") from error


def _check_type(name: str, value: Any, type_: type) -> None:
    """Check that an entry is of a type; float takes integers too; True and False are no numbers."""
    types = (int, float) if type_ is float else type_
    if not isinstance(value, types) or isinstance(value, bool):
        raise ValueError(f"expected {name} to be {type_.__name__}, found {type(value).__name__}")


def _check_info(info: Mapping[Any, Any]) -> None:
    """Check the entries of the origin that are read later: the data, their split, the games learned."""
    data, split = info.get("data", []), info.get("split", {})
    _check_type("info.data", data, list)
    for entry in data:
        _check_type("each entry of info.data", entry, dict)
    _check_type("info.split", split, dict)
    _check_type("info.split.seed", split.get("seed", 0), int)
    _check_type("info.split.heldout", split.get("heldout", 0.0), float)
    check_share("info.split.heldout", split.get("heldout", 0.0))
    games = info.get("games", torch.empty(0, dtype=torch.int64))
    if not isinstance(games, Tensor) or games.dtype != torch.int64 or games.ndim != 1:
        raise ValueError(f"expected a vector of int64 as info.games, found {_shown(games)}")


def _build_for(architecture: str, settings: Mapping[str, Any], weights: Mapping[Any, Any]) -> Network:
    """Build a network for the weights of a file; refuse a far larger one before it is built."""
    for name, tensor in weights.items():
        _check_type(f"{name}", tensor, Tensor)
        dense = tensor.layout == torch.strided and tensor.device.type == "cpu" and not tensor.is_nested
        if not dense or tensor.is_quantized or not tensor.is_contiguous():
            raise ValueError(f"expected {name} to be a dense tensor on the CPU, found one of another form")
    found, thread = sum(tensor.numel() for tensor in weights.values()), threading.get_ident()
    size, most = 0, SPARE * max(found + PER_PARAMETER * len(weights), 10_000)

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        """Called before a parameter gets its first values."""
        nonlocal size
        if parameter is not None and threading.get_ident() == thread:
            size += parameter.numel() + PER_PARAMETER
        if size > most:
            raise ValueError(f"expected a network for the file's {found:,} weights, found a far larger one")

    hook = register_module_parameter_registration_hook(count)
    try:
        return build(architecture, settings)
    finally:
        hook.remove()


def _check_weights(network: Network, weights: Mapping[Any, Tensor]) -> None:
    """Check that weights have the names, shapes and kinds of numbers of a network, and are finite."""
    expected = network.state_dict()
    for name in sorted(map(str, expected.keys() ^ weights.keys())):
        how = "without" if name in expected else "with"
        raise ValueError(f"expected the weights of {network.architecture}, found weights {how} {name}")
    for name, like in expected.items():
        tensor = weights[name]
        if tensor.shape != like.shape:
            raise ValueError(f"expected {name} of shape {list(like.shape)}, found {list(tensor.shape)}")
        if tensor.dtype != like.dtype and not (tensor.is_floating_point() and like.is_floating_point()):
            raise ValueError(f"expected {name} of type {like.dtype}, found {tensor.dtype}")
        if not torch.isfinite(tensor.to(like.dtype)).all():
            raise ValueError(
                f"expected finite weights, found NaN or infinity in {name}: they are of no use; take an "
                "earlier checkpoint or train again"
            )


def _shown(value: Any, most: int = 60) -> str:
    """What a file has in place of what was expected; a file may have a lot of it."""
    return printable(value if isinstance(value, str) else repr(value), most)
