"""Which optional packages are installed."""

from importlib.util import find_spec

import pytest


def skip_without(*modules: str) -> None:
    """Skip the test unless all these modules are installed, without importing them.

    `pytest.importorskip` would import openvino together with what reports its use to its makers.
    """
    if missing := [module for module in modules if find_spec(module) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
