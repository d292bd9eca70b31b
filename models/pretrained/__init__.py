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
    """Return the path of a network.

    Args:
        source: the file; the folder of a run, for its best network; or one of `PRETRAINED`: a file or folder
            of such a name is given by its full path.
    """
    name = str(source)
    if name in PRETRAINED:
        return Path(__file__).with_name(f"{name}.ckpt")
    # Unlike `Path.is_dir`, this never raises, such as for a name that is too long.
    return Path(source, "best.ckpt") if os.path.isdir(source) else Path(source)


def integers_path(source: str | Path) -> Path | None:
    """Return NumPy's file of the integers of an installed network (see `network_path`); None for others."""
    path = network_path(source).with_suffix(".npz")
    return path if path.parent == Path(__file__).parent and path.is_file() else None
