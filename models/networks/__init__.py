"""One file per architecture; the file's name is what `--model` and checkpoints call it."""

import pkgutil


def shipped() -> list[str]:
    """Names of the architectures in this folder, sorted; imports none of them."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
