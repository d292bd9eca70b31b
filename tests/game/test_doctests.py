"""The examples in the docstrings of the rules and of PDN run."""

import doctest
import importlib
import pkgutil

import pytest

import ckai.game
import ckai.pdn

PACKAGES = (ckai.game, ckai.pdn)
MODULES = sorted(
    [package.__name__ for package in PACKAGES]
    + [
        module.name
        for package in PACKAGES
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
