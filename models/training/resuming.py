"""Checks of the saved state that a training resumes from, against the state of a training that begins.

A state that does not fit would fail far from its cause, or silently spoil the training. All
functions raise ValueError with one line that says what was expected and what was found.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from ckai.models.validation import check_type

_TYPES: dict[str, type] = {
    "epoch": int,
    "batch": int,
    "step": int,
    "finished": bool,
    "seconds": float,
    "history": list,
    "best_epoch": int,
    "best_loss": float,
    "sums": Tensor,
    "optimizer": dict,
    "schedule": dict,
    "random": dict,
}
"""Types of the entries of a state that are never None."""


def check_state(state: Mapping[str, Any]) -> None:
    """Check the entries of a state that need no network to compare them with.

    Args:
        state: as `ckai.models.train` returns it.
    """
    for name, type_ in _TYPES.items():
        check_type(f"training.{name}", state.get(name), type_)
    for name in ("best_weights", "averaged"):
        if name not in state or not isinstance(state[name], dict | None):
            raise ValueError(f"expected training.{name} to be dict or None, found {state.get(name)!r:.60}")
    for name in ("epoch", "batch", "step"):
        if state[name] < 0:
            raise ValueError(f"expected training.{name} >= 0, found {state[name]}")
    for epoch in state["history"]:
        for name in ("seconds", *epoch):
            check_type(f"{name} in training.history", epoch.get(name), float)
    random = state["random"]
    check_like("training.random", random, {"torch": torch.get_rng_state(), "cuda": random.get("cuda", [])})
    check_type("training.random.cuda", random["cuda"], list)


class StateError(ValueError):
    """The saved state of a training does not fit the training that is to continue it."""


def restore(name: str, part: Any, saved: Mapping[str, Any]) -> None:
    """Load a saved state into a part of a training that has not begun.

    Args:
        name: of the state, for the error.
        part: an optimizer or a schedule.
        saved: its `state_dict` when it was saved.
    """
    like = part.state_dict()
    for key in like:
        if key not in saved and not key.startswith("_"):  # a schedule would silently start over
            raise ValueError(f"expected {key} in {name}, found none")
    try:
        part.load_state_dict(saved)
    except Exception as error:  # a strange state can make PyTorch raise anything
        raise ValueError(f"expected {name} to fit this training, found another ({error!r:.100})") from error
    # Afterwards, because states of earlier versions of PyTorch get the entries that they lack.
    check_like(name, {**part.state_dict(), "state": {}} if "state" in like else part.state_dict(), like)
    if isinstance(part, torch.optim.Optimizer):
        _check_moments(name, part)


def check_like(name: str, found: Any, like: Any) -> None:
    """Check that a value has the form of another: types, keys, lengths, shapes; that numbers are finite.

    Args:
        name: of the value, for the error.
        found: the value; a dict may have further entries.
        like: a value of the form expected.
    """
    if isinstance(like, Mapping):
        check_type(name, found, dict)
        for key, entry in like.items():
            if key not in found:
                raise ValueError(f"expected {key} in {name}, found none")
            check_like(f"{name}.{key}", found[key], entry)
    elif isinstance(like, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(like):
            raise ValueError(f"expected {name} to have {len(like)} entries, found {found!r:.60}")
        for number, entry in enumerate(like):
            check_like(f"{name}.{number}", found[number], entry)
    elif isinstance(like, Tensor):
        check_type(name, found, Tensor)
        if (found.shape, found.dtype) != (like.shape, like.dtype):
            want, have = (f"{list(t.shape)} {t.dtype}".replace("torch.", "") for t in (like, found))
            raise ValueError(f"expected {name} to be {want}, found {have}")
    else:
        check_type(
            name, found, float if isinstance(like, int | float) and not isinstance(like, bool) else type(like)
        )
        if isinstance(found, float) and not math.isfinite(found):
            raise ValueError(f"expected {name} to be a finite number, found {found}")


def _check_moments(name: str, optimizer: torch.optim.Optimizer) -> None:
    """Check what an optimizer holds for each parameter: a number of steps, and tensors of its shape."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not optimizer.state:  # saved before the first step
        return
    names = set(optimizer.state[parameters[0]])
    for parameter in parameters:
        moments = optimizer.state.get(parameter, {})
        if set(moments) != names:
            raise ValueError(
                f"expected {_listed(names)} of every parameter in {name}, found {_listed(moments)}"
            )
        for key, value in moments.items():
            check_like(f"{name}.{key}", value, torch.zeros(()) if key == "step" else parameter.detach())


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"
