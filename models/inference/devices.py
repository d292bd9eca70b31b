"""PyTorch's devices and precision."""

import os
from typing import Any

import torch


def cpu_has_bf16() -> bool:
    """Whether this CPU multiplies in bfloat16, and oneDNN may; elsewhere it is slower than float32.

    OpenVINO, asked for bfloat16 where `ONEDNN_MAX_CPU_ISA=AVX2` forbids it, gives wrong numbers or crashes.
    """
    most = os.environ.get("ONEDNN_MAX_CPU_ISA", "DEFAULT").upper()
    if not any(word in most for word in ("DEFAULT", "BF16", "FP16", "AMX", "AVX10")):
        return False
    checks = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(check is not None and check() for check in checks)


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def lightning_precision(name: str, device: torch.device) -> Any:
    """The precision of `TrainConfig` in Lightning's words: `32-true`, or `bf16-mixed` with autocast."""
    if name == "auto":  # GPUs before Ampere emulate bfloat16
        on_gpu = device.type == "cuda"
        bf16 = torch.cuda.get_device_capability(device) >= (8, 0) if on_gpu else cpu_has_bf16()
        name = "bf16" if bf16 else "32"
    return {"32": "32-true", "bf16": "bf16-mixed"}[name]
