"""Parsing typed lines."""

import pytest

from ckai.cli.terminal.commands import COMMANDS
from ckai.cli.terminal.commands import read_command as read
from ckai.game import MoveError, Position
from ckai.rl.games.registry import get_game

START = Position.start()
CHECKERS = get_game("checkers")


def read_command(line, position):
    return read(line, position, CHECKERS)


@pytest.mark.parametrize(
    "line",
    ["11-15", "11x15", "11 15", " 11  15\n", "11 - 15", "11:15", "1115", "11,15", "11-15.", "11 to 15"],
)
def test_moves_as_people_type_them(line):
    command = read_command(line, START)
    assert (command.name, str(command.move)) == ("move", "11-15")


@pytest.mark.parametrize("line", ["26x1", "26 1", "26x17x10x1", "26 17 10 1", "26x10x1"])
def test_captures_short_and_long(line):
    position = Position.from_fen("W:W26:B22,14,6")
    assert str(read_command(line, position).move) == "26x17x10x1"


def test_moves_that_cannot_be_played_say_which_can():
    with pytest.raises(MoveError, match=r"'11 18' is illegal; from 11: 11-15, 11-16$"):
        read_command("11 18", START)
    with pytest.raises(MoveError, match=r"'11' is half a move; from 11: 11-15, 11-16$"):
        read_command("11", START)
    with pytest.raises(MoveError, match="'2 2' is ambiguous: 2x9x18x11x2 or 2x11x18x9x2; type all squares"):
        read_command("2 2", Position.from_fen("B:W6,7,14,15:BK2"))


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("help", "help", ""),
        ("?", "help", ""),
        ("H", "help", ""),
        ("Moves", "moves", ""),
        ("load my game.pdn", "load", "my game.pdn"),
        ("u", "undo", ""),
        ("exit", "quit", ""),
        ("", "board", ""),
        ("  \n", "board", ""),
    ],
)
def test_commands_and_their_short_forms(line, name, argument):
    command = read_command(line, START)
    assert (command.name, command.argument, command.move) == (name, argument, None)


def test_no_two_commands_share_a_short_form():
    names = [word for name, each in COMMANDS.items() for word in [name, *each.short.split()]]
    assert len(names) == len(set(names))


def test_a_typo_names_the_nearest_command():
    with pytest.raises(ValueError, match=r"'mvoes' is neither a move nor a command; did you mean 'moves'\?"):
        read_command("mvoes", START)
    with pytest.raises(ValueError, match="type a move such as 11-15, or help"):
        read_command("e2e4", START)
