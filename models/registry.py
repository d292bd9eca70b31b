"""Architectures by name: files in `models/networks/`, entry points of `ckai.networks`, and registered ones.

See docs/tutorials/network.md.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ckai.datasets.choices import NETWORKS, entry_points_of, load_entry
from ckai.datasets.settings import parse_settings as parse
from ckai.datasets.settings import read_settings
from ckai.models import networks
from ckai.models.network import _NETWORKS, OUTPUTS, Network


def names() -> list[str]:
    """Names of all architectures, sorted."""
    return sorted({*_NETWORKS, *networks.shipped(), *entry_points_of(NETWORKS)})


def network_type(name: str) -> type[Network]:
    """The class of an architecture.

    Raises:
        ValueError: no architecture has this name; its file registers another; or the package of its entry
            point cannot be imported.
    """
    if name not in _NETWORKS:
        if name in networks.shipped():
            where = importlib.import_module(f"{networks.__name__}.{name}").__file__
        elif name in (entries := entry_points_of(NETWORKS)):
            load_entry(NETWORKS, name)
            where = f"entry point {entries[name].value}"
        else:
            raise ValueError(f"expected one of the networks {', '.join(names())}, found {name!r}")
        if name not in _NETWORKS:
            raise ValueError(f"{where}: expected a network marked @register({name!r}), found none")
    return _NETWORKS[name]


def build(name: str, settings: Mapping[str, Any] | None = None) -> Network:
    """Build a network with newly initialised weights, on the CPU.

    Args:
        name: the architecture, one of `names()` or registered with `register`.
        settings: its settings by name; others have their defaults.

    Raises:
        ValueError: an unknown architecture or setting, an invalid value, or planes or outputs of other
            shapes than declared.

    Examples:
        >>> network = build("resnet", {"channels": 8, "blocks": 1})
        >>> sum(p.numel() for p in network.parameters())
        18593
    """
    cls = network_type(name)
    try:
        network = cls(read_settings(cls.settings_type, dict(settings or {})))
    except (TypeError, ValueError, RuntimeError, AssertionError) as error:
        if "verflow" in str(error) or "memory" in str(error):  # PyTorch's, with its C++ stack
            given = ", ".join(f"{key}={value}" for key, value in (settings or {}).items())
            raise ValueError(
                f"settings of {name}: expected a network that fits in memory, found {given}"
            ) from error
        if isinstance(error, RuntimeError):
            raise
        raise ValueError(f"settings of {name}: {error}") from error
    _check_shapes(network)
    return network


def _check_shapes(network: Network) -> None:
    """Refuse planes and outputs of other shapes than the encoding and `Network.forward_planes` promise."""
    encode = network.encode
    board, extra = (torch.zeros(1, n, dtype=torch.int8) for n in (encode.board_bytes, encode.EXTRA))
    jumper, clock = torch.tensor([-1], dtype=torch.int8), torch.zeros(1, dtype=torch.int16)
    planes = encode(board, jumper, clock, network.dtype, extra if encode.EXTRA else None)
    if planes.shape != (expected := (1, encode.PLANES, *encode.SHAPE)):
        raise ValueError(
            f"encoding {network.settings.encoding}: expected planes of the shape {expected} for one "
            f"position, found {tuple(planes.shape)}; see PLANES and SHAPE"
        )
    with torch.inference_mode():
        found = [tuple(output.shape) for output in network.eval().forward_planes(planes)]
    network.train()
    if found != (outputs := [(1, encode.NUM_ACTIONS), (1, OUTPUTS[network.settings.value])]):
        raise ValueError(
            f"{network.architecture}: expected logits and raw values of the shapes {outputs} for one "
            f"position, found {found}; see forward_planes"
        )


def parse_settings(name: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` texts as settings of an architecture; ValueError as in `datasets.settings`."""
    return parse(network_type(name).settings_type, pairs)
