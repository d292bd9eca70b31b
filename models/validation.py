"""What a checkpoint may contain: plain data, weights and training state are checked when it is read.

A file may come from anywhere. What is odd in it is found here, not where a command stumbles over it later.
Every function raises ValueError with one line, without the name of the file, that says what was expected and
what was found.
"""

import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from ckai.datasets.split import check_share
from ckai.models.layers.network import Network
from ckai.models.registry import build

SPARE = 8
"""Numbers that may be allocated per weight in the file: some layers are built from others."""
PER_PARAMETER = 100
"""Extra numbers counted for each parameter, because many layers of one weight take seconds to build."""


def check_type(name: str, value: Any, type_: type) -> None:
    """Check that an entry is of a type; True and False are not integers.

    Args:
        name: of the entry, for the error.
        value: the entry.
        type_: the type; float takes integers too.
    """
    types = (int, float) if type_ is float else type_
    if not isinstance(value, types) or (isinstance(value, bool) and type_ is not bool):
        raise ValueError(f"expected {name} to be {type_.__name__}, found {type(value).__name__}")


def check_metrics(name: str, metrics: Any) -> None:
    """Check that metrics are a dict with strings as keys; `name` is for the error."""
    check_type(name, metrics, dict)
    for key in metrics:
        check_type(f"the names of {name}", key, str)


def check_info(info: Mapping[Any, Any]) -> None:
    """Check the origin of a network: the types and ranges of the entries that are read later."""
    data = info.get("data", [])
    _check_split("info.split", info.get("split", {}))
    check_type("info.data", data, list)
    for entry in data:
        check_type("each entry of info.data", entry, dict)
        _check_split("the split of each entry of info.data", entry.get("split", {}))


def _check_split(name: str, split: object) -> None:
    check_type(name, split, dict)
    assert isinstance(split, dict)
    check_type(f"{name}.seed", split.get("seed", 0), int)
    share = split.get("heldout", 0.0)
    check_type(f"{name}.heldout", share, float)
    check_share(f"{name}.heldout", share)


def check_training(state: Mapping[str, Any]) -> None:
    """Check a training state: its history, and that no tensor has a NaN, which would be learned from."""
    history = state.get("history", [])
    check_type("training.history", history, list)
    for epoch in history:
        check_metrics("an epoch of training.history", epoch)
    waiting: list[tuple[str, Any]] = [("training", state)]
    seen: set[int] = set()
    while waiting:
        name, value = waiting.pop()
        if id(value) in seen:  # one object may stand in a file any number of times
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            waiting += [(f"training's {key}", entry) for key, entry in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(name, entry) for entry in value]
        elif isinstance(value, Tensor):
            _check_dense(name, value)
            if value.is_floating_point() and torch.isnan(value).any():
                raise ValueError(f"expected numbers in {name}, found NaN: nothing can be learned from there")


def check_weights(weights: Mapping[Any, Any]) -> None:
    """Check that weights are dense tensors."""
    for name, tensor in weights.items():
        check_type(f"{name}", tensor, Tensor)
        _check_dense(f"{name}", tensor)


def build_for(architecture: str, settings: Mapping[str, Any], weights: Mapping[Any, Any]) -> Network:
    """Build a network for the weights of a file; refuse a far larger one before it is built.

    Args:
        architecture, settings: see `ckai.models.build`.
        weights: tensor by name.

    Raises:
        ModelError: see `ckai.models.build`.
        RuntimeError: sizes that PyTorch cannot have.
    """
    check_weights(weights)
    found, thread = sum(tensor.numel() for tensor in weights.values()), threading.get_ident()
    size, most = 0, SPARE * max(found + PER_PARAMETER * len(weights), 10_000)

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        """Called before a parameter gets its first values."""
        nonlocal size
        if parameter is None or threading.get_ident() != thread:
            return
        size += parameter.numel() + PER_PARAMETER
        if size > most:
            raise ValueError(
                f"expected a network for the {found:,} weights of the file, found a far larger one"
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        return build(architecture, settings)
    finally:
        hook.remove()


def fitting_weights(module: nn.Module, weights: Mapping[Any, Any], of: str) -> dict[str, Tensor]:
    """Return weights in the types of a module; floating-point numbers of another type are converted.

    Args:
        module: a network of the architecture and settings of the weights, or a part of one.
        weights: tensor by name, see `build_for`.
        of: name of the module, for the error.
    """
    expected = module.state_dict()
    missing, extra = (
        sorted(map(str, a - b))
        for a, b in ((expected.keys(), weights.keys()), (weights.keys(), expected.keys()))
    )
    if missing or extra:
        problems = [
            f"{word} {', '.join(keys[:3])}" for word, keys in (("without", missing), ("with", extra)) if keys
        ]
        raise ValueError(f"expected the weights of {of}, found weights {' and '.join(problems)}")
    return {name: _fitting(name, weights[name], like, of) for name, like in expected.items()}


def _fitting(name: str, tensor: Tensor, like: Tensor, of: str) -> Tensor:
    """The tensor in the type of `like`, which has its name in the module called `of`."""
    if tensor.shape != like.shape:
        raise ValueError(f"expected {name} of shape {list(like.shape)} for {of}, found {list(tensor.shape)}")
    floats = like.is_floating_point() and tensor.is_floating_point()
    if not floats and tensor.dtype != like.dtype:
        want, have = (str(dtype).removeprefix("torch.") for dtype in (like.dtype, tensor.dtype))
        raise ValueError(f"expected {name} of type {want} for {of}, found {have}")
    converted = tensor.to(like.dtype)
    if not torch.isfinite(converted).all():
        raise ValueError(
            f"expected finite weights, found NaN or infinity in {name}: they are of no use; take an earlier "
            "checkpoint or train again"
        )
    return converted


def _check_dense(name: str, tensor: Tensor) -> None:
    """Refuse a tensor that is not dense and on the CPU, or whose elements share memory."""
    if tensor.is_nested or tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = (
            "a nested one" if tensor.is_nested else f"one of {tensor.dtype}, {tensor.layout}, {tensor.device}"
        )
        raise ValueError(f"expected {name} to be a dense tensor on the CPU, found {kind}")
    repeats = any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))
    if repeats or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise ValueError(
            f"expected {name} to have {tensor.numel()} numbers of its own, found a view that repeats some"
        )
