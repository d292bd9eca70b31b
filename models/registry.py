"""The networks by name. One file in `models/networks/` adds one: its file name is the architecture's name.

Such a file holds a frozen dataclass of settings, a `NetworkSettings`, and a `Network` subclass marked with
`@register`; nothing else has to be edited. Programs that bring their own network may call `register`
themselves.
"""

import dataclasses
import difflib
import importlib
from collections.abc import Mapping
from typing import Any

from ckai.models import networks
from ckai.models.layers.network import _NETWORKS, Network


class ModelError(ValueError):
    """An architecture or setting that does not exist or cannot be; says what was expected and found."""


def names() -> list[str]:
    """Names of all architectures, sorted."""
    return sorted({*_NETWORKS, *networks.shipped()})


def network_type(name: str) -> type[Network]:
    """The class of an architecture.

    Raises:
        ModelError: if there is none of that name; lists those there are.
    """
    if name not in _NETWORKS:
        if name not in names():
            raise ModelError(f"expected one of the networks {', '.join(names())}, found {name!r}")
        importlib.import_module(f"{networks.__name__}.{name}")
    return _NETWORKS[name]


def build(name: str, settings: Mapping[str, Any] | None = None) -> Network:
    """A network with fresh weights.

    Args:
        name: architecture.
        settings: by field name; what is left out has its default.

    Raises:
        ModelError: unknown architecture or setting, or a value it refuses.
    """
    cls = network_type(name)
    known = {field.name: field for field in dataclasses.fields(cls.settings_type)}
    for key in settings or {}:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ModelError(f"{name} has the settings {', '.join(known) or 'none'}, found {key!r}{hint}")
    try:
        return cls(cls.settings_type(**(settings or {})))
    except (TypeError, ValueError) as error:
        raise ModelError(f"settings of {name}: {error}") from error


def parse_settings(name: str, pairs: list[str]) -> dict[str, Any]:
    """Read `key=value` texts as settings of an architecture.

    Raises:
        ModelError: no `=`, or a value that is not of the setting's type. Unknown keys are left to `build`.
    """
    defaults = {f.name: f.default for f in dataclasses.fields(network_type(name).settings_type)}
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ModelError(f"expected key=value, found {pair!r}")
        default = defaults.get(key)
        try:
            found[key] = _parse(text, default)
        except ValueError:
            raise ModelError(f"expected {type(default).__name__} for {key}, found {text!r}") from None
    return found


def _parse(text: str, like: Any) -> Any:
    if isinstance(like, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    return type(like)(text) if isinstance(like, int | float) else text
