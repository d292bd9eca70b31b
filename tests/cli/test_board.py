"""The board in a terminal: every look shows every square and every piece."""

import io
import re

import pytest
from rich.console import Console

from ckai.cli.terminal.board import BASIC, FINE, Look, detect_look
from ckai.cli.terminal.board import draw_board as draw
from ckai.game import Position
from ckai.rl.games.registry import get_game

CHECKERS = get_game("checkers")


def draw_board(position, look, *, flipped=False, before=None, last=None):
    marked = CHECKERS.path(before, last) if last else ()
    return draw(CHECKERS, position, look, marked=marked, flipped=flipped)


ANY = Position.from_fen("B:W18,K24,27:B1,2,K31")
LARGE, SMALL, PLAIN = Look(True, True), Look(True, False), Look(False, True)


def plain(lines):
    return [line.plain for line in lines]


def test_plain_board_of_the_start():
    assert plain(draw_board(Position.start(), PLAIN)) == [
        "     1b      2b      3b      4b ",
        " 5b      6b      7b      8b     ",
        "     9b     10b     11b     12b ",
        "13.     14.     15.     16.     ",
        "    17.     18.     19.     20. ",
        "21w     22w     23w     24w     ",
        "    25w     26w     27w     28w ",
        "29w     30w     31w     32w     ",
    ]


def test_a_flipped_board_has_black_at_the_bottom():
    lines = plain(draw_board(Position.start(), PLAIN, flipped=True))
    assert lines[0].split() == ["32w", "31w", "30w", "29w"]
    assert lines[7].split() == ["4b", "3b", "2b", "1b"]
    assert lines[7].startswith(" 4b ")


def test_kings_and_the_last_move_without_colours():
    position = Position.from_fen("B:W18,K24:B11,K31")
    move = position.find_move("31-27")
    text = "\n".join(plain(draw_board(position.push(move), PLAIN, before=position, last=move)))
    assert "27B*" in text
    assert "31.*" in text
    assert text.count("*") == 2
    assert "24W " in text
    assert "11b " in text


def test_every_landing_square_of_a_capture_is_marked():
    position = Position.from_fen("W:W26:B22,14,6")
    move = position.find_move("26x1")
    marked = re.findall(
        r"(\d+).\*", " ".join(plain(draw_board(position.push(move), PLAIN, before=position, last=move)))
    )
    assert sorted(map(int, marked)) == [1, 10, 17, 26]


@pytest.mark.parametrize("look", [LARGE, SMALL, PLAIN, Look(True, True, glyphs=False)])
@pytest.mark.parametrize("flipped", [False, True])
def test_every_look_shows_every_square_in_its_width(look, flipped):
    lines = plain(draw_board(ANY, look, flipped=flipped))
    assert {len(line) for line in lines} == {look.width(CHECKERS)}
    assert len(lines) == (16 if look.large and look.color else 8)
    assert sorted(map(int, re.findall(r"\d+", " ".join(lines)))) == list(range(1, 33))


def test_colours_tell_the_sides_apart_and_crowns_the_kings():
    lines = draw_board(ANY, SMALL)
    styles = {
        line.plain[span.start : span.end].strip(): str(span.style)
        for line in lines
        for span in line.spans
        if "bold" in str(span.style)
    }
    assert styles["18"] == "bold #000000 on #ffffff"
    assert styles["1"] == "bold #ffffff on #000000"
    assert sum(line.plain.count("\u265b") for line in lines) == 2
    letters = plain(draw_board(ANY, Look(True, False, glyphs=False)))
    assert sum(line.count("K") for line in letters) == 2
    assert all(line.isascii() for line in letters)


def console(**options):
    return Console(file=io.StringIO(), _environ={"TERM": "xterm-256color"}, **options)


def test_the_look_follows_the_terminal():
    assert detect_look(console(force_terminal=True, color_system="256", width=80)).large
    narrow = detect_look(console(force_terminal=True, color_system="256", width=36))
    assert (narrow.color, narrow.large, narrow.palette) == (True, False, FINE)
    assert detect_look(console(force_terminal=True, color_system="standard", width=80)).palette is BASIC
    assert not detect_look(console(width=80)).color  # no terminal
    assert [detect_look(console(legacy_windows=old)).glyphs for old in (True, False)] == [False, True]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(environment):
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, _environ=environment)
    assert not detect_look(screen).color
