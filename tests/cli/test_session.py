"""Parsing and executing typed lines, without a terminal."""

import pytest

from ckai.cli.playing.session import PEOPLE, Session, agreed, resigned
from ckai.cli.terminal.commands import COMMANDS
from ckai.cli.terminal.commands import read_command as read
from ckai.game import Game, MoveError, Position
from ckai.rl.games.registry import get_game

START = Position.start()
CHECKERS = get_game("checkers")


def read_command(line, position, mode="play"):
    return read(line, position, CHECKERS, mode)


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
        ("save my game.pdn", "save", "my game.pdn"),
        ("u", "undo", ""),
        ("exit", "quit", ""),
        ("", "board", ""),
        ("  \n", "board", ""),
    ],
)
def test_commands_and_their_short_forms(line, name, argument):
    command = read_command(line, START)
    assert (command.name, command.argument, command.move) == (name, argument, None)


def test_a_move_is_read_whatever_it_looks_like(monkeypatch):
    monkeypatch.setattr(type(CHECKERS), "names_move", lambda self, text: False)
    assert str(read_command("11-15", START).move) == "11-15"


def test_no_two_commands_share_a_short_form():
    names = [word for name, each in COMMANDS.items() for word in [name, *each.short.split()]]
    assert len(names) == len(set(names))


def test_a_typo_names_the_nearest_command():
    with pytest.raises(ValueError, match=r"'mvoes' is neither a move nor a command; did you mean 'moves'\?"):
        read_command("mvoes", START)
    with pytest.raises(ValueError, match="type a move such as 11-15, or help"):
        read_command("e2e4", START)


def played(humans, moves, start=None):
    session = Session(Game(start), PEOPLE[humans])
    for move in moves.split():
        session.play(move)
    return session


def texts(moves):
    return [str(move) for move in moves]


def test_undo_takes_the_engines_answer_back_too():
    session = played("black", "11-15 22-18 15x22 25x18")
    assert texts(session.undo()) == ["15x22", "25x18"]
    assert texts(session.undo()) == ["11-15", "22-18"]
    assert session.undo() == []
    assert session.position == START


def test_undo_with_two_people_takes_one_move():
    session = played("both", "11-15 22-18")
    assert texts(session.undo()) == ["22-18"]
    assert session.side == "white"


def test_undo_does_not_take_back_what_only_the_engine_played():
    session = played("white", "11-15")
    assert session.undo() == []
    assert texts(session.game.moves) == ["11-15"]
    assert played("none", "11-15 22-18").undo() == []


def test_undo_after_the_engine_resigned_takes_the_persons_move_back():
    """It would resign again at once; a person's own resignation is taken back alone."""
    session = Session(Game(), PEOPLE["black"])
    session.play("11-15")
    session.ended = resigned(session.side)  # the engine's
    assert [str(move) for move in session.undo()] == ["11-15"]
    assert session.outcome() is None
    session.ended = resigned(session.side)
    assert session.undo() == []
    assert session.outcome() is None


def test_undo_in_a_game_that_white_begins():
    session = played("white", "22-17 13x22", Position.from_fen("W:W22,32:B13,1"))
    assert texts(session.undo()) == ["22-17", "13x22"]


def test_forced_moves_are_taken_back_and_played_again_with_the_one_before():
    session = played("black", "11-15 22-18 15x22 25x18")  # 15x22 is forced
    assert texts(session.undo(skip_forced=True)) == ["11-15", "22-18", "15x22", "25x18"]
    assert texts(session.redo(skip_forced=True)) == ["11-15", "22-18", "15x22", "25x18"]
    assert texts(session.undo() + session.undo()) == ["15x22", "25x18", "11-15", "22-18"]
    assert texts(session.redo()) == ["11-15", "22-18"]
    assert played("black", "14x23", Position.from_fen("B:W18,32:B14,1")).undo(skip_forced=True) == []


def test_an_agreed_draw():
    session = played("both", "11-15")
    session.ended = agreed()
    assert (session.result, str(session.outcome())) == ("1/2-1/2", "drawn: agreed")
    assert session.undo() == []
    assert session.outcome() is None


def test_the_score_has_numbers():
    assert played("both", "11-15 22-18 15x22").numbered() == ["1. 11-15 22-18", "2. 15x22"]
    assert played("both", "11-15 22-18 15x22").numbered(1) == ["2. 15x22"]
    white = played("both", "22-17 13x22", Position.from_fen("W:W22,32:B13,1"))
    assert white.numbered() == ["1. ... 22-17", "2. 13x22"]
    assert Session().numbered(4) == []
