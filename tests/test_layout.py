"""Folders are what the packaging and `docs/design.md` say, imports run one way, modules stay small."""

import ast
import re
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("game", "pdn", "datasets", "models", "rl", "cli")
"""In the order of imports: a room may import those before it."""
ORDERS = {
    "game": (
        (
            "color",
            "compiler",
            "errors",
            "formats",
            "moves",
            "outcome",
            "squares",
        ),
        ("compiling", "svg"),
        ("jit",),
        ("kernels",),
        ("material", "movegen", "placement"),
        ("fen",),
        ("position",),
        ("game", "perft"),
        ("warmup",),
    ),
    "pdn": (
        ("errors", "lexer"),
        ("game", "segments", "sources"),
        ("kernels", "writer"),
        ("stream",),
        ("reader",),
        ("registration",),
    ),
    "datasets": (
        ("choices", "files", "lazy", "machine", "rows", "settings", "splitmix", "symmetries"),
        ("sampling", "schema", "split"),
        ("reader", "writer"),
        ("convert", "data_module", "statistics", "tables"),
        ("plots", "warmup"),
    ),
    "models": (
        ("digest", "inputs", "pretrained"),
        ("layers",),
        ("networks",),
        ("registry",),
        ("validation",),
        ("checkpoint",),
        ("inference",),
        ("evaluation",),
        ("training",),
    ),
    "rl": (
        ("games",),
        ("evaluators",),
        ("search",),
        ("alphabeta",),
        ("players",),
        ("engine", "matches"),
        ("thinkers",),
        ("analysis", "gtp", "hub", "problems", "selfplay"),
        ("leases",),
        ("loop",),
        ("bench", "solved", "warmup"),
    ),
    "rl/games": (("*",), ("checkers", "connect4", "go", "tictactoe")),
    "cli": (("shared",), ("playing",), ("pages", "strength", "terminal"), ("web",), ("*",), ("main",)),
}
"""The parts of a folder, its modules and folders, in levels: a part may import those of earlier levels.

Parts of one level do not import each other, but for the ones that `*` stands for: all that are not named.
"""
GAMES = {
    name: entry.split(":")[0]
    for name, entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "ckai.games"
    ].items()
}
"""The module of each game that ships."""
GENERIC = ("datasets", "models", "rl", "cli")
"""Rooms whose modules are for every game, except:"""
OF_EVERY_GAME = ("ckai.game.jit", "ckai.game.svg")
"""Modules of the room of checkers that serve every game."""
OF_ONE_GAME = {
    "rl/games/checkers": "the game itself",
    "rl/games/connect4": "the game itself",
    "rl/games/go": "the game itself",
    "rl/games/tictactoe.py": "the game itself",
    "rl/games/grid.py": "what the two games of stones share; it names them in its docstrings",
    "rl/engine": "its moves, FEN and tablebases are those of checkers",
    "rl/analysis": "its PDN, moves and tablebases are those of checkers",
    "rl/bench": "the published figures are of checkers",
    "rl/players/material.py": "material is counted in men and kings",
    "rl/players/levels.py": "the installed networks play checkers",
    "rl/evaluators/move_priors.py": "evaluates the positions within a capture",
    "rl/players/hub.py": "Hub is a protocol of draughts programs",
    "rl/players/hub_text.py": "its text",
    "rl/hub": "its other side",
    "rl/players/gtp.py": "GTP is a protocol of Go programs",
    "rl/gtp": "its other side",
    "rl/thinkers": "positions with their history, as the engine takes them",
    "rl/problems": "positions of PDN and FEN, with verdicts of the tablebases",
    "rl/selfplay/starts.py": "positions of expert games come from PDN, which only checkers has",
    "rl/loop/folder.py": "keeps those positions as FEN",
    "rl/warmup.py": "compiles the rules, tablebases and PDN of checkers too",
    "rl/loop/run.py": "reads those positions from FEN",
    "datasets/tables": "the tablebases are of checkers",
    "datasets/choices.py": "names the default game",
    "models/inputs/encodings.py": "the encodings of checkers",
    "cli/play.py": "its examples are of checkers and one other game",
    "cli/engine.py": "serves by protocols that are of one game each",
    "cli/perft.py": "counts moves of checkers",
    "cli/tables.py": "builds the tablebases",
}
MAX_MODULES, MAX_LINES = 20, 400
LONGER = {
    "game/kernels.py": (446, "the jitted rules: what calls each other must be compiled together"),
    "game/position.py": (495, "one class that users know as the position; half of it is docstrings"),
    "rl/engine/engine.py": (436, "one class that users know as the engine; half of it is docstrings"),
}
"""Modules of more than `MAX_LINES`: how many lines they may have, and why. The numbers may only go down."""
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@cache
def parsed(path):
    return ast.parse(path.read_text())


@cache
def nodes(tree):
    """The nodes of a syntax tree; walking a tree takes longer than what a check does with it."""
    return list(ast.walk(tree))


def none_found(reasons):
    """Assert that no module has a reason to complain; `reasons` yields (module, reasons)."""
    found = {str(module): list(of_module) for module, of_module in reasons}
    assert not {module: of_module for module, of_module in found.items() if of_module}


def package_of(folder):
    return ".".join(["ckai", *folder.relative_to(ROOT).parts])


def imports(tree, package):
    """Full names of the modules that a syntax tree imports, relative imports too."""
    for node in nodes(tree):
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


def test_imports_run_one_way():
    none_found((path, wrong_imports(parsed(path), package_of(path.parent))) for path in MODULES)


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


def targets(tree, package, names):
    """The modules of `names` that a syntax tree imports; a package only where it is imported itself."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{module}.{alias.name}"
                if full in names:
                    yield full
                elif module in names:
                    yield module


def module_of(path):
    parts = ["ckai", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_of(path) for path in MODULES}


@cache
def all_imports():
    """What each module imports, in functions and under TYPE_CHECKING too; faces (`__init__`) left out."""
    return {
        module_of(path): set(targets(parsed(path), package_of(path.parent), NAMES))
        for path in MODULES
        if path.name != "__init__.py"
    }


def circle(graph):
    """The modules of an import circle, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_no_modules_import_each_other_in_a_circle():
    assert circle(all_imports()) is None


def test_the_check_of_circles_finds():
    late = "def f():\n    from ckai.rl.b import x"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import c"
    texts = {"ckai.rl.a": late, "ckai.rl.b": typed, "ckai.rl.c": "import ckai.rl.a"}
    graph = {name: set(targets(ast.parse(text), "ckai.rl", texts)) for name, text in texts.items()}
    assert set(circle(graph)) == set(texts)
    assert circle({**graph, "ckai.rl.c": set()}) is None


def wrong_order(module, imported, orders=ORDERS):
    """Why a module must not import another by the order of the parts of a folder, or None."""
    for folder, levels in orders.items():
        prefix = f"ckai.{folder.replace('/', '.')}."
        if not (module.startswith(prefix) and imported.startswith(prefix)):
            continue
        mine, its = (name.removeprefix(prefix).split(".")[0] for name in (module, imported))
        if mine == its:
            continue
        place = {part: number for number, level in enumerate(levels) for part in level}
        if (mine not in place and "*" not in place) or (its not in place and "*" not in place):
            return f"{folder}: {mine if mine not in place else its} has no place in the order"
        here, there = place.get(mine, place.get("*")), place.get(its, place.get("*"))
        if there > here or (there == here and mine in place):
            return f"{folder}: {its} does not come before {mine}"
    return None


def test_parts_of_a_room_are_imported_in_order():
    none_found(
        (module, filter(None, (wrong_order(module, imported) for imported in names)))
        for module, names in all_imports().items()
    )


def test_the_orders_name_what_there_is():
    for folder, levels in ORDERS.items():
        parts = {path.stem for path in (ROOT / folder).glob("*.py")} | {
            path.parent.name for path in (ROOT / folder).glob("*/__init__.py")
        }
        named = [part for level in levels for part in level]
        assert len(named) == len(set(named))
        assert set(named) - {"*"} <= parts - {"__init__"}
        assert "*" in named or set(named) == parts - {"__init__"}, folder


@pytest.mark.parametrize(
    ("module", "imported", "reason"),
    [
        ("ckai.rl.games.spec", "ckai.rl.search.mcts", "rl: search does not come before games"),
        ("ckai.rl.matches.match", "ckai.rl.engine.engine", "rl: engine does not come before matches"),
        ("ckai.models.inputs.stones", "ckai.models.registry", "models: registry does not come before inputs"),
        ("ckai.rl.games.registry", "ckai.rl.games.checkers.spec", "checkers does not come before registry"),
        ("ckai.cli.shared.output", "ckai.cli.play", "cli: play does not come before shared"),
        ("ckai.rl.search.mcts", "ckai.rl.new.thing", "rl: new has no place in the order"),
        ("ckai.rl.selfplay.pool", "ckai.rl.matches.ratings", None),
        ("ckai.rl.search.batch", "ckai.rl.search.mcts", None),
        ("ckai.rl.games.grid", "ckai.rl.games.spec", None),
        ("ckai.rl.bench.rules", "ckai.game.position", None),
    ],
)
def test_the_check_of_the_order_finds(module, imported, reason):
    found = wrong_order(module, imported)
    assert found is None if reason is None else reason in found


def own_faces(module, imported):
    """The packages among `imported` whose `__init__` stands above the module itself."""
    return [name for name in imported if module.startswith(f"{name}.")]


def test_no_module_imports_the_face_above_it():
    none_found((module, own_faces(module, names)) for module, names in all_imports().items())


def test_the_check_of_faces_finds():
    text = "from ckai.datasets import read_rows, files\nfrom ckai.game import Position\nfrom . import x"
    imported = set(targets(ast.parse(text), "ckai.datasets.tables", NAMES))
    found = own_faces("ckai.datasets.tables.rows", imported)
    assert sorted(found) == ["ckai.datasets", "ckai.datasets.tables"]


def of_one_game(path):
    name = path.relative_to(ROOT).as_posix()
    return any(name == part or name.startswith(f"{part}/") for part in OF_ONE_GAME)


def docstrings(tree):
    """The constants of a syntax tree that are docstrings of a module, class, function or name."""
    return {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}


def named_games(text, tree, package):
    """How the source of a generic module names a game, as texts.

    Every game but the default one may not be named at all. The default one, checkers, may be an example in
    docstrings; its module, its positions and its name in code are for modules of that game.
    """
    squeezed = re.sub("[-_ ]", "", text.lower())
    for game in GAMES.keys() - {"checkers"}:
        # A name that is an everyday word counts after the size of its board, and as the name of a game.
        word = rf"\dx\d+ {game.capitalize()}\b|(game|name) *[!=]?= *[\"']{game}[\"']"
        if re.search(word, text) if len(game) < 3 else game in squeezed:
            yield f"names {game}"
    for name, _ in imports(tree, package):
        yield from (f"imports {name}" for module in GAMES.values() if f"{name}.".startswith(f"{module}."))
    prose = docstrings(tree)
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom) and package.startswith("ckai.rl"):
            names = {alias.name for alias in node.names} - {"Outcome", "MoveError"}
            if f"{node.module}.".startswith("ckai.game.") and names and node.module not in OF_EVERY_GAME:
                yield f"imports {', '.join(sorted(names))} of {node.module}"
            if node.module == "ckai.rl.games":
                known = {module.split(".")[-1] for module in GAMES.values()}
                yield from (f"imports {node.module}.{name}" for name in names & known)
        words = [getattr(node, field, None) for field in ("id", "attr", "name", "arg")]
        if isinstance(node, ast.Constant) and id(node) not in prose:
            words.append(node.value)
        yield from (f"says {word}" for word in words if isinstance(word, str) and "checkers" in word.lower())


def test_no_generic_module_names_a_game():
    generic = [p for p in MODULES if p.relative_to(ROOT).parts[0] in GENERIC and not of_one_game(p)]
    none_found(
        (path, named_games(path.read_text(), parsed(path), package_of(path.parent))) for path in generic
    )


def test_what_is_of_one_game_is_there():
    for name, reason in OF_ONE_GAME.items():
        assert (ROOT / name).exists(), name
        assert reason


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""Plays tic-tac-toe."""', ["names tictactoe"]),
        ("Connect_4 = 1", ["names connect4"]),
        ('"""Goes on. Go on where we go."""', []),
        ('"""Plays 9x9 Go."""', ["names go"]),
        ('game = "go"', ["names go"]),
        ("from ckai.rl.games.checkers.spec import SPEC", ["imports ckai.rl.games.checkers.spec"]),
        ("from ckai.rl.games import checkers", ["imports ckai.rl.games.checkers", "says checkers"]),
        ("def f():\n    from ckai.game import Outcome, Position", ["imports Position of ckai.game"]),
        ("from ckai.game.kernels import popcount", ["imports popcount of ckai.game.kernels"]),
        ('game = game or "checkers"', ["says checkers"]),
        ("x = CheckersSpec()", ["says CheckersSpec"]),
        ('"""The default is checkers."""\nfrom ckai.rl.games.registry import DEFAULT_GAME', []),
    ],
)
def test_the_check_of_games_finds(text, found):
    assert list(named_games(text, ast.parse(text), "ckai.rl.search")) == found


def too_large(sizes, longer):
    """Modules of more lines than they may have, and exceptions that are none any more, from lines by path."""
    for name, lines in sizes.items():
        limit = longer[name][0] if name in longer else MAX_LINES
        if lines > limit:
            yield f"{name}: {lines} lines, at most {limit}"
    yield from (f"{name}: no exception needed" for name in longer if sizes.get(name, 0) <= MAX_LINES)


def test_modules_are_short():
    sizes = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in MODULES}
    found = list(too_large(sizes, LONGER))
    assert not found, found


def test_the_check_of_lengths_finds():
    longer = {"b": (500, "why"), "c": (500, "why"), "gone": (500, "why")}
    found = list(too_large({"a": 401, "b": 501, "c": 400, "d": 400}, longer))
    assert found == [
        "a: 401 lines, at most 400",
        "b: 501 lines, at most 500",
        "c: no exception needed",
        "gone: no exception needed",
    ]


def crowded(paths):
    """Folders of more modules than fit the eye, `__init__` apart."""
    modules = [path.parent for path in paths if path.name != "__init__.py"]
    return {folder for folder in modules if modules.count(folder) > MAX_MODULES}


def test_folders_are_small():
    assert not crowded(MODULES)


def test_the_check_of_folders_finds():
    many = [Path("a", f"m{n}.py") for n in range(MAX_MODULES + 1)]
    few = [Path("b", "__init__.py"), *(Path("b", f"m{n}.py") for n in range(MAX_MODULES))]
    assert crowded([*many, *few]) == {Path("a")}


def drawn_folders(page):
    """The folders of the structure that a page draws as an indented block: path -> what it says of it."""
    block = next(part for part in re.findall(r"(?:^    .+\n)+", page, flags=re.MULTILINE) if "game/ " in part)
    drawn, above = {}, ""
    for line in block.splitlines():
        indent, name, words = re.fullmatch(r"    ( *)(\S+)/ +(\S.*)", line).groups()
        above = above if indent else name
        drawn[f"{above}/{name}" if indent else name] = words
    return drawn


def test_the_design_page_draws_the_folders():
    drawn = drawn_folders((ROOT / "docs" / "design.md").read_text())
    folders = {path.parent.relative_to(ROOT).as_posix() for path in MODULES}
    own_line = {folder for folder in folders if folder.count("/") < 2}
    others = {path.name for path in ROOT.iterdir() if path.name in ("data", "benchmarks", "tests", "docs")}
    assert set(drawn) == own_line | others


def test_the_reading_of_the_design_page():
    page = "# x\n\n    ckai parse\n\n    game/    rules\n    rl/      search\n      loop/  runs\n\nend\n"
    assert drawn_folders(page) == {"game": "rules", "rl": "search", "rl/loop": "runs"}


def test_every_module_says_what_it_is():
    for path in MODULES:
        assert ast.get_docstring(parsed(path)), path
