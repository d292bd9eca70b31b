"""The page for players, docs/play.md, says what the program does."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from ckai.cli import play
from ckai.cli.terminal.game import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "play.md"
TEXT = PAGE.read_text()


def test_the_commands_named_exist():
    named = re.search(r"^## Commands in a game\n(.*?)^## ", TEXT, flags=re.DOTALL | re.MULTILINE)[1]
    found = {word.split()[0] for word in re.findall(r"`([^`]+)`", named)}
    assert "undo" in found <= {*COMMANDS}


def test_the_game_shown_is_the_game_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = next(part for part in re.findall(r"(?:(?:    .*)?\n)+", TEXT) if "    $ ckai play" in part)
    first, *shown = re.sub("^    ", "", block.strip("\n"), flags=re.MULTILINE).splitlines()
    typed = [line.partition(": ")[2] for line in shown if re.match(r"(Black|White): ", line)]
    assert typed
    words = shlex.split(first)[3:]
    result = CliRunner().invoke(play.command, words, input="\n".join([*typed, "quit", ""]))
    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[: len(shown)] == [line.rstrip() for line in shown]
