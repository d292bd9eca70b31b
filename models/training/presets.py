"""Recommended networks and training settings by budget: `ckai pretrain --preset NAME`.

Each preset lists the options of `ckai pretrain` that differ from the defaults; docs/networks.md has the
results.
"""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "small": {"set": {"encoding": "tactics"}},
    "medium": {
        "model": "senet",
        "set": {"encoding": "tactics"},
        "lr": 4e-3,
        "weight_decay": 0.05,
        "mask_illegal": True,
        "ema": 0.999,
    },
    "large": {
        "model": "senet",
        "set": {"encoding": "tactics4", "channels": 64, "blocks": 6},
        "epochs": 7,
        "lr": 4e-3,
        "weight_decay": 0.1,
        "mask_illegal": True,
        "ema": 0.999,
    },
}
