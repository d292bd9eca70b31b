"""The networks that are installed with ckai: `ckai`, `small` and `human`.

`ckai` is the fastest and plays by default, `small` plays best at equal visits, `human` predicts the moves of
people.

`README.md` in this folder is their card: what they learned from, settings, figures, limits.
"""

import os
from pathlib import Path

CKAI = "ckai"
"""Name of the network that plays by default, with integers: the most positions in a given time."""
SMALL = "small"
"""Name of the network that plays best at equal visits, of the preset `small`."""
HUMAN = "human"
"""Name of the network that plays most like the experts it learned from."""
PRETRAINED = (CKAI, SMALL, HUMAN)
"""Names of the installed networks, which commands take in place of a file."""


def network_path(source: str | Path) -> Path:
    """Return the path of a network, given as a file or by the name of an installed one if there is no file.

    Args:
        source: the file, or one of `PRETRAINED`.
    """
    installed = str(source) in PRETRAINED and not os.path.isfile(source)
    return pretrained_file(str(source)) if installed else Path(source)


def pretrained_file(name: str) -> Path:
    """Return the checkpoint of an installed network.

    Args:
        name: one of `PRETRAINED`.

    Raises:
        ValueError: there is no such network.
    """
    if name not in PRETRAINED:
        raise ValueError(f"expected an installed network ({', '.join(PRETRAINED)}), found {name!r}")
    return Path(__file__).with_name(f"{name}.ckpt")
