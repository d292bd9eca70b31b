"""The precision that a device trains in."""

from typing import Any

import torch

from ckai.models.inference.devices import cpu_has_bf16


def lightning_precision(name: str, device: torch.device) -> Any:
    """The precision of `TrainConfig` in Lightning's words: `32-true`, or `bf16-mixed` with autocast."""
    if name == "auto":
        bf16 = _gpu_has_bf16(device) if device.type == "cuda" else cpu_has_bf16()
        name = "bf16" if bf16 else "32"
    return {"32": "32-true", "bf16": "bf16-mixed"}[name]


def _gpu_has_bf16(device: torch.device) -> bool:
    """Whether this GPU multiplies in bfloat16; those before Ampere emulate it."""
    return torch.cuda.get_device_capability(device) >= (8, 0)
