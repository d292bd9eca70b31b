"""What the documentation shows is true: commands, options and paths exist, and the code runs."""

import ast
import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from installed import skip_without

from ckai.cli.main import COMMANDS, cli
from ckai.datasets.settings import all_settings
from ckai.game import Game
from ckai.rl.games.registry import get_game
from ckai.rl.run.config import RunConfig

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_TODAY = [page for page in PAGES if page.name != "results.md"]
"""Those that name nothing that has gone."""
ROOMS = ("game", "pdn", "datasets", "models", "rl", "cli")
SAMPLE_GAMES = 40


def page_id(path):
    return path.relative_to(ROOT).as_posix()


def python_blocks(text):
    """The fenced Python of a page, or the code of a notebook, one piece of source after the other."""
    if text.startswith("{"):
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def commands(text):
    """Every `ckai ...` of a page, from indented blocks and from code in a line, as lists of words."""
    lines = [span for span in re.findall(r"`([^`\n]*)`", text) if span.startswith("ckai ")]
    for block in re.findall(r"(?:^    .+\n)+", text, flags=re.MULTILINE):
        block = re.sub(r" \\\n +", " ", block)  # a command of several lines
        prompt = r"\$ " if "    $ " in block else ""  # a block with a prompt holds output too
        lines += re.findall(rf"^    {prompt}(?:.*&& )?(ckai .*)$", block, flags=re.MULTILINE)
    for line in lines:
        yield shlex.split(line, comments=True)


def problem(words):
    """What is wrong with a command line, or None: an unknown command or option."""
    command, rest = cli, words[1:]
    with click.Context(cli) as context:
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            if (found := command.get_command(context, rest[0])) is None:
                return f"no command {rest[0]}"
            command, rest = found, rest[1:]
        known = {name for parameter in command.get_params(context) for name in parameter.opts}
        known |= {name for parameter in command.params for name in parameter.secondary_opts}
    unknown = [word for word in rest if re.match(r"--?[a-z]", word) and word not in known]
    return f"no option {unknown[0]}" if unknown else None


def sample(folder):
    """The first games of the sample, as games.pdn."""
    games = (ROOT / "data" / "sample.pdn").read_text().split("\n[Event ")
    text = "\n[Event ".join(games[:SAMPLE_GAMES])
    (folder / "games.pdn").write_text(text + "\n")


@pytest.mark.parametrize("page", OF_TODAY, ids=page_id)
def test_commands_and_options_exist(page):
    wrong = {shlex.join(words): why for words in commands(page.read_text()) if (why := problem(words))}
    assert not wrong


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ckai parse games.pdn -o out", None),
        ("ckai tables build --pieces 5", None),
        ("ckai selfplay --setting overlap=false", None),
        ("ckai prase games.pdn", "no command prase"),
        ("ckai play --simulations 3", "no option --simulations"),
    ],
)
def test_the_check_of_commands(line, why):
    assert problem(shlex.split(line)) == why


def test_the_quick_start_lists_every_command():
    listed = re.findall(r"^\| `ckai (\w+)` \|", (ROOT / "docs" / "index.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def all_options(group):
    """Every option of every command of a group."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            for parameter in command.get_params(context):
                yield from (*parameter.opts, *parameter.secondary_opts)
            if isinstance(command, click.Group):
                yield from all_options(command)


@pytest.mark.parametrize("page", OF_TODAY, ids=page_id)
def test_options_named_alone_exist(page):
    named = re.findall(r"`(--[a-z][a-z-]*)[^`\n]*`", page.read_text())
    assert set(named) <= {*all_options(cli)}


@pytest.mark.parametrize("page", OF_TODAY, ids=page_id)
def test_paths_exist(page):
    text = re.sub(r"`[^`]*`\s+of\s+commit\s", "", page.read_text())
    named = re.findall(r"`((?:game|pdn|datasets|models|rl|cli|tests|benchmarks)/[\w/.]*)", text)
    made = {"models/networks/gated.py"}  # by the reader of the tutorial
    assert not [path for path in named if path not in made and not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert target.startswith(("https://", "http://")) or (page.parent / target).exists(), target


def test_the_defaults_of_other_games_are_those_of_the_page():
    page = (ROOT / "docs" / "selfplay.md").read_text()
    table = page[page.index("| setting | checkers |") :].split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    games = [title.lower().replace("-", "") for title in head[1:]]
    shown = {"yes": True, "no": False}
    named = set()
    for names, *values in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            named.add(name)
            for game, value in zip(games, values, strict=True):
                section, setting = name.split(".")
                found = getattr(getattr(RunConfig.defaults_for(game), section), setting)
                assert found == (shown[value] if value in shown else float(value)), (name, game)
    assert {name for game in games for name in get_game(game).run_defaults} == named


def test_the_defaults_of_the_ten_settings_are_those_of_the_page():
    page = (ROOT / "docs" / "selfplay.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| (?:`(--[\w-]+)`)? ?\| ([\d.]+) \|", page, flags=re.MULTILINE)
    known = {setting.path: setting for setting in all_settings(RunConfig)}
    assert len(rows) == 10
    for name, option, default in rows:
        assert (known[name].option or "", known[name].default) == (option, float(default)), name


def test_the_line_in_the_picture_can_be_played():
    drawn = html.unescape(re.sub(r"<[^>]*>", "\n", (ROOT / "docs" / "play.svg").read_text()))
    words = " ".join(drawn.split())
    opening = re.search(r'^OPENING, .* = "(.*)", ".*"$', (ROOT / "docs/make_picture.py").read_text(), re.M)[1]
    played = re.search(r"Black: (\S+) .* plays (\S+) .*PV: ((?:\d+[-x]\d+ ?)+)", words)
    game = Game()
    for move in " ".join((opening, *played.groups())).split():
        game.push(move)  # an illegal one is an error


def documented_names(docstring):
    """The parameters of the Args of a docstring; several may share a line."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", docstring + "\n", flags=re.MULTILINE)
    lines = re.findall(r"^    ((?:\*{0,2}\w+(?:, )?)+):", section[1], flags=re.MULTILINE) if section else []
    return [name.strip("*") for line in lines for name in line.split(", ")]


def test_documented_parameters_exist():
    wrong = []
    for path in (p for room in ROOMS for p in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                a = node.args
                named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
                have = {each.arg for each in named}
                for name in documented_names(ast.get_docstring(node) or ""):
                    if name not in have:
                        wrong.append(f"{path.relative_to(ROOT)}: {node.name}: {name}")
    assert not wrong


def test_documented_parameters_are_read():
    text = "Do it.\n\nArgs:\n    a, b: both.\n        more: text.\n    *rest: others.\n\nReturns:\n    c: it."
    assert documented_names(text) == ["a", "b", "rest"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with what the pages take for granted: games, a checkpoint and a run of self-play."""
    folder = tmp_path_factory.mktemp("docs")
    sample(folder)
    run = folder / "runs" / "run-001"
    network = ["--init", "none", "--set", "channels=4", "--set", "hidden=16", "--evaluator", "torch"]
    short = ["--generations", "1", "--games", "16", "--sims", "8", "--gate-games", "0", "--tables", "0"]
    cli.main(["selfplay", "--run", str(run), *network, *short], standalone_mode=False)
    shutil.copy(run / "best.ckpt", folder / "pretrained.ckpt")
    return folder


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TARGET = ROOT / "docs" / "tutorials" / "target.md"
FORMATS = ROOT / "docs" / "formats.md"
WITH_CODE = [p for p in (*PAGES, *NOTEBOOKS) if python_blocks(p.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in WITH_CODE if p not in (TARGET, FORMATS)], ids=page_id)
def test_the_code_of_a_page_runs(page, trained, tmp_path):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    script = tmp_path / "page.py"
    script.write_text("\n".join(python_blocks(page.read_text())).replace("games=400", "games=40"))
    # A process of its own: a network or game that a page registers must not stay for other tests.
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_exported_networks_are_used_as_the_pages_show(ckai, tmp_path, monkeypatch, capsys):
    skip_without("onnx", "onnxruntime", "safetensors")
    monkeypatch.chdir(tmp_path)
    page = FORMATS.read_text()
    for words in commands(page):
        if words[1] == "export" and "CHECKPOINT" not in words:
            assert ckai(*words[1:])[0] == 0
    for block in python_blocks(page):
        exec(block, {})
    monkeypatch.chdir("small")
    exec(*python_blocks(Path("README.md").read_text()), of_card := {})
    assert of_card["network"].architecture == "cnn2x2"
    assert "White to move" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_of_targets_begins_in_an_empty_folder(tmp_path):
    page = TARGET.read_text()
    (tmp_path / "page.py").write_text("\n".join(python_blocks(page)))
    _, match, make = commands(page)  # those in a line come first
    main = [sys.executable, "-c", "from ckai.cli.main import main; main()"]
    for command in (
        [*main, *make[1:], "--games", "12", "--sims", "8"],  # the last of an option counts
        [sys.executable, "page.py"],
        [*main, *match[1:], "--games", "2"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (command, done.stderr)
    assert "2 games" in done.stdout
