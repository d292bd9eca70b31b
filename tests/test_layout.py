"""The packaging lists every folder, imports run one way, and no modules import each other in a circle."""

import ast
import re
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
ROOMS = ("game", "pdn", "datasets", "models", "rl", "cli")
"""In the order of imports: a room may import those before it."""
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def package_of(folder):
    return ".".join(["ckai", *folder.relative_to(ROOT).parts])


def module_of(path):
    return package_of(path.parent if path.name == "__init__.py" else path.with_suffix(""))


NAMES = {module_of(path) for path in MODULES}


@cache
def imports(path):
    """Full names of the modules that a module imports, in functions and under TYPE_CHECKING too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package_of(path.parent).split(".")
            base = above[: len(above) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = {f"{module}.{alias.name}" for alias in node.names}
            found |= names & NAMES or {module}
    return found


def test_the_packages_listed_are_the_folders():
    packaging = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for path in MODULES}
    mapped = {package_of(folder): folder.relative_to(ROOT).as_posix() for folder in folders}
    assert packaging["package-dir"] == mapped
    assert sorted(packaging["packages"]) == sorted(mapped)


def test_every_package_has_an_init_and_the_namespace_has_none():
    assert not [path.parent for path in MODULES if not (path.parent / "__init__.py").exists()]
    assert not (ROOT / "__init__.py").exists()
    assert not (ROOT / "conftest.py").exists()


def test_imports_run_one_way():
    wrong = []
    for path in MODULES:
        room = ROOMS.index(path.relative_to(ROOT).parts[0])
        for name in imports(path):
            first, *rest = name.split(".")
            later = first == "ckai" and rest and ROOMS.index(rest[0]) > room
            # A bare `import datasets` finds the package of Hugging Face.
            if later or first in ROOMS:
                wrong.append(f"{path}: imports {name}")
    assert not wrong


POSIX = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
"""Modules that Windows lacks; of other modules `make types` knows the names that it lacks."""


def test_windows_has_what_is_imported_and_text_names_its_encoding():
    wrong = []

    def look(node, path, guarded):
        match node:
            case ast.Try() | ast.With():
                guarded |= "ImportError" in ast.unparse(node)
            case ast.Import(names=[ast.alias(name=name)]) | ast.ImportFrom(module=name) if name in POSIX:
                wrong.extend([] if guarded else [f"{path}:{node.lineno}: {name}"])
            case ast.Call(func=ast.Attribute(attr="read_text" | "write_text") | ast.Name(id="open")):
                text = ast.unparse(node)
                if "encoding=" not in text and not re.search(r"'[rwax+]*b[rwax+]*'|'ascii'", text):
                    wrong.append(f"{path}:{node.lineno}: {text}")
        for child in ast.iter_child_nodes(node):
            look(child, path, guarded)

    for path in MODULES:
        look(ast.parse(path.read_text(encoding="utf-8")), path, False)
    assert not wrong


def test_the_workflows_run_the_pythons_and_targets_that_there_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    workflows = {path.name: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    pythons = yaml.safe_load(workflows["check.yml"])["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert pythons == [line.split()[-1] for line in project["classifiers"] if ":: 3." in line]
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    used = re.findall(r"\bmake ([a-z ]+)", "\n".join(workflows.values()))
    assert {name for names in used for name in names.split()} <= set(targets)


def test_no_modules_import_each_other_in_a_circle():
    """Faces (`__init__.py`) apart, which no module below them may import."""
    modules = [path for path in MODULES if path.name != "__init__.py"]
    graph = {module_of(path): imports(path) & NAMES for path in modules}
    assert not [name for name, found in graph.items() for face in found if name.startswith(f"{face}.")]
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
