"""Packages that import their public names on first use, so that `ckai --help` need not load torch."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (PEP 562) of a package whose names are imported on first use.

    Args:
        package: its full name, `__name__` in its `__init__.py`.
        exports: names by the submodule that defines them, relative to the package: `{"rows": ["Rows"]}`.
    """
    homes = {name: f"{package}.{module}" for module, names in exports.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # the next access is an ordinary one
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes})
