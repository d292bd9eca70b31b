"""The `ckai` command: fast help, one-line errors, exit statuses."""

import importlib
import io
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.table import Table
from rich.text import Text

from ckai.cli import main as front
from ckai.cli.shared.console import CleanConsole
from ckai.cli.shared.output import print_json
from ckai.game import PositionError

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "data" / "sample.pdn")
HEAVY = {"numba", "numpy", "torch", "rich", "pyarrow", "pandas", "matplotlib", "pytorch_lightning"}
RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
READY = RUN.replace("main()", "print('ready', flush=True); main()")


def imported(*words):
    """What a command prints, and the modules that it imports."""
    code = (
        "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]\n"
        "try: main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return out.stdout, set(out.stderr.split())


def test_help_imports_nothing_heavy():
    text, modules = imported("--help")
    assert text.startswith("Usage: ckai")
    assert HEAVY.isdisjoint(modules)
    assert "click" in modules


def test_every_command_module_is_in_the_help_and_the_other_way_round():
    modules = {
        path.stem
        for path in (ROOT / "cli").glob("*.py")
        if re.search(r"^@click\.(command|group)\(", path.read_text(), re.M)
    }
    assert modules - {"main"} == set(front.COMMANDS)
    text = CliRunner().invoke(front.cli, ["--help"]).output
    for name, words in front.COMMANDS.items():
        assert f"  {name} " in text
        assert words in text


@pytest.mark.parametrize("name", list(front.COMMANDS))
def test_every_command_explains_itself(name):
    command = importlib.import_module(f"ckai.cli.{name}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    result = CliRunner().invoke(front.cli, [name, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: cli {name}")
    assert "--help" in result.output
    assert ("60% means: of 100 games" in result.output) == (name in ("play", "analyze"))


def test_a_typo_names_the_nearest_command(ckai):
    status, _, err = ckai("prft")
    assert (status, "No such command 'prft'. Did you mean 'perft'?" in err) == (2, True)
    status, _, err = ckai("xyzzy")
    assert (status, "Commands: parse, games, " in err) == (2, True)


@pytest.mark.parametrize("words", [["--nope"], ["perft"], ["perft", "--depth", "x"]])
def test_wrong_usage_is_2(ckai, words):
    status, out, err = ckai(*words)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"ckai: error: .+ \(see .+ --help\)\n", err)


def test_an_error_is_one_line_and_1(ckai):
    line = "ckai: error: FEN 'B:W1:B2': a man of White on its crowning row, square 1\n"
    assert ckai("perft", "--depth", 1, "--fen", "B:W1:B2") == (1, "", line)


@pytest.mark.parametrize("words", [["--debug", "perft"], ["perft", "--debug"]])
def test_debug_shows_the_traceback(ckai, words):
    with pytest.raises(PositionError):
        ckai(*words, "--depth", 1, "--fen", "B:W1:B2")


def failing(monkeypatch, error):
    @click.command()
    def command():
        raise error

    monkeypatch.setitem(sys.modules, "ckai.cli.perft", type("M", (), {"command": command}))
    monkeypatch.setattr(sys, "argv", ["ckai", "perft"])
    with pytest.raises(SystemExit) as caught:
        front.main()
    return caught.value.code


def test_an_error_nobody_expected_says_its_type(monkeypatch, capsys):
    assert failing(monkeypatch, KeyError("x")) == 1
    assert capsys.readouterr().err == "ckai: error: KeyError: 'x' (run with --debug for the traceback)\n"


def test_errors_of_the_system_and_of_values_are_plain(monkeypatch, capsys):
    assert failing(monkeypatch, FileNotFoundError(2, "No such file or directory", "a.pdn")) == 1
    assert capsys.readouterr().err == (
        "ckai: error: a.pdn: No such file or directory; check the path and its permissions\n"
    )
    assert failing(monkeypatch, ValueError("two\nlines")) == 1
    assert capsys.readouterr().err == "ckai: error: two lines\n"


def test_stopped_by_hand_is_130(monkeypatch, capsys):
    assert failing(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err.strip() == "ckai: stopped"


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"loss": float("nan"), "of": {"a": (float("inf"), 1.5)}, "name": "x", "n": None})
    assert capsys.readouterr().out == '{"loss": null, "of": {"a": [null, 1.5]}, "name": "x", "n": null}\n'


@pytest.mark.parametrize("evil", ["\x1b[31m", "\x9b31m", "\x9d0;title\x07", "\u202e"])
def test_tables_obey_no_stranger(evil):
    console = CleanConsole(file=io.StringIO(), force_terminal=True, color_system="standard", width=60)
    table = Table(title=f"of {evil}them")
    table.add_column("name", style="green")
    table.add_row(Text(f"a{evil}b"))
    console.print(table)
    shown = console.file.getvalue()
    assert "\x1b[32m" in shown  # the colour of the table
    assert evil not in shown
    assert "a?" in shown
