"""Recommended networks and training settings by budget: `ckai pretrain --preset NAME`.

Each preset lists the settings of `ckai pretrain` that differ from the defaults, by their paths, and those
that differ on a GPU: larger batches, with a learning rate that grows as the square root of their size, and a
moving average over as many rows; docs/train.md has the results.
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

ON_GPU: dict[str, dict[str, Any]] = {
    "small": {"train.batch_size": 1024, "train.epochs": 10, "train.optimizer.lr": 4e-3, "train.ema": 0.996},
    "medium": {"train.batch_size": 512, "train.optimizer.lr": 5.6e-3, "train.ema": 0.998},
    "large": {"train.batch_size": 1024, "train.optimizer.lr": 8e-3, "train.ema": 0.996},
}


def preset_settings(name: str, device: str) -> dict[str, Any]:
    """Return the settings of a preset for a type of devices, such as "cpu"."""
    return PRESETS[name] | (ON_GPU[name] if device == "cuda" else {})
