"""The board in a terminal: both looks show every square and every piece."""

import io
import re

import pytest
from rich.console import Console

from ckai.cli.terminal.screen import draw_board as draw
from ckai.cli.terminal.screen import has_colors
from ckai.game import Position
from ckai.rl.games.registry import get_game

CHECKERS = get_game("checkers")
ANY = Position.from_fen("B:W18,K24,27:B1,2,K31")


def draw_board(position, *, color=False, flipped=False, before=None, last=None):
    marked = CHECKERS.path(before, last) if last else ()
    return draw(CHECKERS, position, color=color, marked=marked, flipped=flipped)


def plain(lines):
    return [line.plain for line in lines]


def test_plain_board_of_the_start():
    assert plain(draw_board(Position.start())) == [
        "     1b      2b      3b      4b ",
        " 5b      6b      7b      8b     ",
        "     9b     10b     11b     12b ",
        "13.     14.     15.     16.     ",
        "    17.     18.     19.     20. ",
        "21w     22w     23w     24w     ",
        "    25w     26w     27w     28w ",
        "29w     30w     31w     32w     ",
    ]
    lines = plain(draw_board(Position.start(), flipped=True))
    assert lines[0].split() == ["32w", "31w", "30w", "29w"]
    assert lines[7].startswith(" 4b ")


def test_every_landing_square_of_a_capture_is_marked():
    position = Position.from_fen("W:W26:B22,14,6")
    move = position.find_move("26x1")
    text = " ".join(plain(draw_board(position.push(move), before=position, last=move)))
    assert sorted(map(int, re.findall(r"(\d+).\*", text))) == [1, 10, 17, 26]
    assert "1W*" in text


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("flipped", [False, True])
def test_every_look_shows_every_square_in_its_width(color, flipped):
    lines = plain(draw_board(ANY, color=color, flipped=flipped))
    assert {len(line) for line in lines} == {40 if color else 32}
    assert len(lines) == (16 if color else 8)
    assert sorted(map(int, re.findall(r"\d+", " ".join(lines)))) == list(range(1, 33))


@pytest.mark.parametrize(
    ("color", "options"),
    [
        (True, {}),
        (False, {"width": 36}),
        (False, {"color_system": "standard"}),
        (False, {"force_terminal": False}),
        (False, {"legacy_windows": True}),
        (False, {"_environ": {"NO_COLOR": "1", "TERM": "xterm-256color"}}),
        (False, {"color_system": "auto", "_environ": {"TERM": "dumb"}}),
    ],
)
def test_the_look_follows_the_terminal(color, options):
    usual = {"force_terminal": True, "color_system": "256", "_environ": {"TERM": "xterm-256color"}}
    size = {"width": 80, "height": 25}
    assert has_colors(Console(file=io.StringIO(), **usual | size | options)) == color
