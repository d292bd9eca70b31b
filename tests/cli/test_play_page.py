"""The page for players, docs/play.md, says what the program does."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckai.cli import play
from ckai.cli.terminal.commands import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "play.md"
TEXT = PAGE.read_text()
GAME = """[Black "human"]
[White "ckai"]
[Result "1-0"]

1. 11-15 22-18 2. 15x22 25x18 3. 8-11 29-25 1-0
"""


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


def commands():
    for line in re.findall(r"^    (ckai play.*)$", TEXT, flags=re.MULTILINE):
        if "--list" not in line:  # it begins no game
            yield shlex.split(line, comments=True)[2:]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_of_the_page_begins_a_game(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games").mkdir()
    (tmp_path / "games/game-001.pdn").write_text(GAME)
    (tmp_path / "games.pdn").write_text(12 * (GAME[:-5] + " 4. 4-8 24-20 *\n\n"))
    words = [word.replace("games.pdn:12:30", "games.pdn:12:6") for word in words]
    result = CliRunner().invoke(play.command, [*words, "--side", "both"], input="board\nquit\n")
    assert result.exit_code == 0, result.output
    assert "\n".join(result.output.splitlines()[:14]).count("\n") == 13
