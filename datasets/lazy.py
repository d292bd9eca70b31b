"""Packages that import their public names on first use, so that `ckai --help` need not load torch."""

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (PEP 562) of a package whose names are imported on first use.

    The names are those that its `__init__.py` imports for type checkers, as in `lazy_loader`.
    """

    @cache
    def homes() -> dict[str, str]:
        tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        return {each.name: str(node.module) for node in imports for each in node.names}

    def get(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)  # the next access is an ordinary one
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes()})
