"""The folders are what the packaging says, and imports run one way."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("game", "pdn", "datasets", "models", "rl", "cli")
"""In the order of imports: a room may import those before it."""
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def package_of(folder):
    return ".".join(["ckai", *folder.relative_to(ROOT).parts])


def imports(tree, package):
    """Full names of the modules that a syntax tree imports, relative imports too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module, node.level
            if module == "ckai":
                yield from ((f"ckai.{alias.name}", node.level) for alias in node.names)


def wrong_imports(tree, package):
    """What a module of `package` must not import, and why."""
    room = package.split(".")[1]
    for name, level in imports(tree, package):
        first, *rest = name.split(".")
        if first in ROOMS:
            yield f"{name}: bare, write ckai.{name}"
        elif first == "ckai" and rest and rest[0] in ROOMS:
            if ROOMS.index(rest[0]) > ROOMS.index(room):
                yield f"{name}: {room} comes before {rest[0]}"
            if level and rest[0] != room:
                yield f"{name}: relative, across rooms"


def test_the_packages_listed_are_the_folders():
    folders = sorted({path.parent for path in MODULES})
    assert sorted(SETTINGS["tool"]["setuptools"]["packages"]) == [package_of(folder) for folder in folders]


def test_every_package_is_mapped_to_its_folder():
    mapped = SETTINGS["tool"]["setuptools"]["package-dir"]
    assert {package_of(ROOT / folder): folder for folder in mapped.values()} == mapped
    assert sorted(mapped) == sorted(SETTINGS["tool"]["setuptools"]["packages"])


def test_every_package_has_an_init_and_the_namespace_has_none():
    for folder in {path.parent for path in MODULES}:
        assert (folder / "__init__.py").exists(), folder
    assert not (ROOT / "__init__.py").exists()
    assert not (ROOT / "conftest.py").exists()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    found = list(wrong_imports(ast.parse(path.read_text()), package_of(path.parent)))
    assert not found, found


@pytest.mark.parametrize(
    ("text", "package", "reason"),
    [
        ("import ckai.rl", "ckai.game", "game comes before rl"),
        ("from ckai.models.training.config import X", "ckai.datasets", "datasets comes before models"),
        ("def f():\n    from ckai import cli", "ckai.rl", "rl comes before cli"),
        ("import datasets", "ckai.rl", "bare"),
        ("from pdn.reader import read", "ckai.rl", "bare"),
        ("from ..game import Position", "ckai.rl", "relative, across rooms"),
        ("from ...game import Position", "ckai.models.networks", "relative, across rooms"),
        ("from .. import game", "ckai.rl", "relative, across rooms"),
    ],
)
def test_the_check_of_imports_finds(text, package, reason):
    found = list(wrong_imports(ast.parse(text), package))
    assert len(found) == 1
    assert reason in found[0]


def test_the_check_of_imports_lets_pass():
    text = "from ckai.game import Position\nfrom . import tree\nfrom ..registry import x\nimport numpy"
    assert not list(wrong_imports(ast.parse(text), "ckai.models.networks"))


def test_every_module_says_what_it_is():
    for path in MODULES:
        assert ast.get_docstring(ast.parse(path.read_text())), path
