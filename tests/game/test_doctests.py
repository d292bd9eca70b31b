"""The examples in the docstrings of the rules and of PDN run, and every public name has one."""

import doctest
import importlib
import inspect
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
PUBLIC = [
    pytest.param(getattr(package, name), id=f"{package.__name__}.{name}")
    for package in PACKAGES
    for name in package.__all__
    if inspect.isclass(getattr(package, name)) or callable(getattr(package, name))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("thing", PUBLIC)
def test_every_public_name_has_an_example(thing):
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert any(test.examples for test in finder.find(thing, thing.__name__))
