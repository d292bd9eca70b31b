"""Examples in docstrings run, and the faces of `ckai.datasets` and `ckai.models` export what they say."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from examples import write_examples

import ckai.datasets
import ckai.game
import ckai.models
import ckai.pdn
import ckai.rl
import ckai.rl.analysis
from ckai.game import Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference.backends import TorchEvaluator, predict
from ckai.models.network import build

FACES = (ckai.datasets, ckai.models)
ROOMS = (ckai.game, ckai.pdn, *FACES, ckai.rl, ckai.rl.analysis)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples run: two games as text and as rows, and a small network."""
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    torch.manual_seed(0)
    save_checkpoint(folder / "network.ckpt", build("resnet", {"channels": 4, "blocks": 1}))
    return folder


def modules_of(package):
    """The package, its modules, and those in its folders that its public names come from."""
    homes = {getattr(getattr(package, name), "__module__", package.__name__) for name in package.__all__}
    homes |= {each.name for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")}
    return sorted({package.__name__, *(home for home in homes if home.startswith(package.__name__))})


@pytest.mark.parametrize("name", [n for room in ROOMS for n in modules_of(room)])
def test_the_examples_run(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not result.failed


@pytest.mark.parametrize("package", FACES)
def test_every_exported_name_is_documented_and_lives_where_the_type_checker_looks(package):
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {name.name: node.module for node in block.body for name in node.names}
    assert set(homes) == set(package.__all__) <= set(dir(package))
    for name, home in homes.items():
        value = getattr(package, name)
        assert value is getattr(importlib.import_module(home), name)
        if isinstance(value, type) or hasattr(value, "__code__"):
            assert value.__doc__, name
    with pytest.raises(AttributeError, match=rf"'{package.__name__}' has no attribute 'bild'"):
        package.bild  # noqa: B018


def test_importing_the_faces_loads_nothing_heavy():
    code = "import sys, ckai.datasets, ckai.models; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "torch", "numba", "pyarrow"} & set(out.split())


def test_a_position_without_a_move_is_refused():
    evaluator = TorchEvaluator(build("cnn2x2", {"channels": 2, "hidden": 4}))
    with pytest.raises(ValueError, match="position 1: expected a legal move, found none"):
        predict(evaluator, [Position.start(), Position.from_fen("B:W32:B")])
