"""The architectures, one file each; the file's name is its name for `--model` and in checkpoints."""

import pkgutil


def shipped() -> list[str]:
    """Sorted names of the architectures in this folder, without importing them."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
