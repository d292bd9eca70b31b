"""Recommended networks and training settings by budget: `ckai pretrain --preset NAME`.

Each preset lists the settings of `ckai pretrain` that differ from the defaults, by their paths;
docs/train.md has the results.
"""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "small": {"settings": {"encoding": "tactics"}},
    "medium": {
        "model": "senet",
        "settings": {"encoding": "tactics"},
        "train.optimizer.lr": 4e-3,
        "train.optimizer.weight_decay": 0.05,
        "train.loss.mask_illegal": True,
        "train.ema": 0.999,
    },
    "large": {
        "model": "senet",
        "settings": {"encoding": "tactics4", "channels": 64, "blocks": 6},
        "train.epochs": 7,
        "train.optimizer.lr": 4e-3,
        "train.optimizer.weight_decay": 0.1,
        "train.loss.mask_illegal": True,
        "train.ema": 0.999,
    },
}
