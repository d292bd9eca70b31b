"""The `ckai` command: fast help, one-line errors, exit statuses."""

import importlib
import io
import os
import re
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import click
import pytest
from child_process import started
from click.testing import CliRunner
from rich.table import Table
from rich.text import Text

from ckai.cli import main as front
from ckai.cli.shared.console import CleanConsole

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "data" / "sample.pdn")
HEAVY = {"numba", "numpy", "torch", "rich", "pyarrow", "pandas", "matplotlib", "pytorch_lightning"}
RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
READY = RUN.replace("main()", "print('ready', flush=True); main()")


def ckai(*words, **options):
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, timeout=120, **options
    )


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["games", SAMPLE, "--stats"],
        ["games", SAMPLE, "--player", "ckai", "--position", "B:W21-32:B1-12"],
        ["games", SAMPLE, "-o", "found.parquet"],
        ["runs", "."],
    ],
)
def test_reading_loads_nothing_slow_that_it_does_not_need(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {"pandas", "torch", "matplotlib"}.isdisjoint(imported(*words)[1])


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


def test_version():
    result = CliRunner().invoke(front.cli, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"ckai, version {metadata.version('ckai')}\n"


def test_a_typo_names_the_nearest_command():
    result = ckai("prft")
    assert result.returncode == 2
    assert "No such command 'prft'. Did you mean 'perft'?" in result.stderr
    far = ckai("xyzzy")
    assert far.returncode == 2
    assert "Commands: parse, games, " in far.stderr


def test_wrong_usage_is_2():
    for words in (["--nope"], ["perft"], ["perft", "--depth", "x"], ["perft", "--depth", "1", "more"]):
        result = ckai(*words)
        assert (result.returncode, result.stdout) == (2, "")
        assert re.fullmatch(r"ckai: error: .+ \(see ckai( perft)? --help\)\n", result.stderr)


def test_an_error_is_one_line_and_1():
    result = ckai("perft", "--depth", 1, "--fen", "B:W1:B2")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == ("ckai: error: FEN 'B:W1:B2': a man of White on its crowning row, square 1\n")


@pytest.mark.parametrize("words", [["--debug", "perft"], ["perft", "--debug"]])
def test_debug_shows_the_traceback(words):
    result = ckai(*words, "--depth", 1, "--fen", "B:W1:B2")
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "PositionError" in result.stderr


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


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.programs
def test_ctrl_c_in_the_middle_of_work():
    with started([sys.executable, "-c", READY, "perft", "--depth", "15"], text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.strip().endswith("ckai: stopped")
    assert "Traceback" not in err


@pytest.mark.slow
def test_compiling_kernels_is_reported_once(tmp_path):
    def perft() -> str:
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        line = [sys.executable, "-m", "ckai.cli.main", "perft", "--depth", "2"]
        return subprocess.run(line, capture_output=True, text=True, check=True, env=env).stderr

    assert perft().count("compiling for this machine") == 1
    assert perft() == ""


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
