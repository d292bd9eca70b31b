"""The architectures, one file each; the file's name is its name for `--model` and in checkpoints.

Files whose names begin with `_` are not architectures.
"""

import pkgutil


def shipped() -> list[str]:
    """Sorted names of the architectures in this folder, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")
