"""The examples in the docstrings of `ckai.datasets` run, and its face exports what it says."""

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from examples import write_examples

import ckai.datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples run: two games as text and as rows."""
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    return folder


def modules_of(package):
    """The package and the modules that its public names come from."""
    homes = {getattr(getattr(package, name), "__module__", package.__name__) for name in package.__all__}
    return sorted({package.__name__, *(home for home in homes if home.startswith(package.__name__))})


@pytest.mark.parametrize("name", modules_of(ckai.datasets))
def test_the_examples_run(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not result.failed


def guarded_imports(package):
    """Names by module of the `TYPE_CHECKING` block, which type checkers and the docs read."""
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {name.name: node.module for node in block.body for name in node.names}


def test_every_exported_name_is_documented_and_lives_where_the_type_checker_looks():
    homes = guarded_imports(ckai.datasets)
    assert set(homes) == set(ckai.datasets.__all__) <= set(dir(ckai.datasets))
    for name, home in homes.items():
        value = getattr(ckai.datasets, name)
        assert value is getattr(importlib.import_module(home), name)
        if (callable(value) and isinstance(value, type)) or hasattr(value, "__code__"):
            assert value.__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'ckai\.datasets' has no attribute 'read_row'"):
        ckai.datasets.read_row  # noqa: B018


def test_importing_the_face_loads_nothing_heavy():
    code = "import sys, ckai.datasets, ckai.models; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "torch", "numba", "pyarrow"} & set(out.split())
