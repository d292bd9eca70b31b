"""The commands of the prompt, in a game and after its end."""

import random
import re
from pathlib import Path

import pytest
from terminal_game import FirstMove, only_game, table

from ckai.cli.playing.sides import game_of, opening_moves
from ckai.cli.terminal.game import COMMANDS
from ckai.datasets.files import write_whole
from ckai.rl.engine.alphabeta import RandomEngine
from ckai.rl.engine.base import ResignsError
from ckai.rl.games.registry import get_game

CHECKERS = get_game("checkers")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(lines, **settings):
    script, shown = table(lines, **settings)
    script.play()
    return script, shown.getvalue()


def texts(script):
    return [str(move) for move in script.game.moves]


@pytest.mark.parametrize("over", ["", "resign\ny\n"])
@pytest.mark.parametrize("argument", ["", " x\x1b[2J" + "y" * 3000])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_ends_the_program(over, argument, name):
    screen = {"force_terminal": True, "color_system": "256"}
    _, text = run(f"11-15\n{over}{name}{argument}\nhelp\n", **screen)
    assert "\x1b[2J" not in text
    assert ("end of input" in text) == (name != "quit")


# --- moves ------------------------------------------------------------------------------------------------


def test_the_ends_of_a_capture_are_enough_and_a_compulsory_one_is_said():
    script, text = run("12-16\n1x26\n", side="both", fen="B:W22,14,6:BK1,12")
    assert "'12-16' is illegal, you must capture: 1x10x17x26" in text
    assert texts(script) == ["1x10x17x26"]


@pytest.mark.parametrize(
    ("side", "lines", "back", "left"),
    [
        ("black", "11-15\n8-11\n", "8-11, ", 2),  # the engine's answer too
        ("both", "11-15\n22-18\n", "22-18", 1),
        ("both", "11-15\nresign\ny\n", "the end of the game", 1),
    ],
)
def test_undo_takes_back_what_a_person_did(side, lines, back, left):
    script, text = run(f"{lines}undo\n", side=side)
    assert f"taken back: {back}" in text
    assert len(texts(script)) == left


def test_a_game_whose_moves_are_all_taken_back_leaves_no_file():
    script, text = run("11-15\nundo\n")
    assert (texts(script), list(Path("games").iterdir()), "saved in" in text) == ([], [], False)
    run("11-15\nundo\n9-13\n")
    assert [path.name for path in Path("games").iterdir()] == ["game-001.pdn"]


# --- the end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["n", "", "no", "x"])
@pytest.mark.parametrize("command", ["resign", "draw"])
def test_resign_and_draw_ask_first(command, answer):
    script, text = run(f"11-15\n{command}\n{answer}\n")
    assert "[y/N]" in text
    assert script.outcome() is None


def test_new_is_another_game_in_another_file():
    script, text = run("11-15\nresign\ny\nnew\n9-13\n")
    assert "saved in games/game-001.pdn\n" in text
    assert [path.name for path in sorted(Path("games").iterdir())] == ["game-001.pdn", "game-002.pdn"]
    assert only_game("games/game-001.pdn").termination_marker == "0-1"
    assert texts(script)[:1] == ["9-13"]


# --- openings ---------------------------------------------------------------------------------------------


def test_what_is_no_opening_is_refused():
    with pytest.raises(ValueError, match=r"expected ballot:1 to ballot:174, found 'ballot:175'"):
        opening_moves("ballot:175", CHECKERS, random.Random(0))
    with pytest.raises(ValueError, match=r"expected the name of an opening, ballot, ballot:N or moves"):
        opening_moves("xyz", CHECKERS, random.Random(0))


def test_every_ballot_leads_to_its_opening():
    lines = CHECKERS.ballot
    games = [game_of(line, CHECKERS) for line in lines]
    assert {game.position.key for game in games} == {position.key for position in CHECKERS.openings(3)}
    assert (len(games), lines[0], lines[126], lines[173]) == (  # as the American Checker Federation has them
        174,
        ("9-13", "21-17", "5-9"),
        ("11-15", "23-19", "9-13"),
        ("12-16", "24-20", "10-15"),
    )
    names = [CHECKERS.opening_name(game) for game in games]
    assert (names[0], names[119], names[126]) == ("Edinburgh, 21-17 5-9", "Single Corner", "Will o' the Wisp")
    assert len(set(names)) == 174


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("WILL O' THE WISP", "11-15 23-19 9-13"),
        ("second", "11-15 24-19"),
        ("Cross", "11-15 23-18"),
        ("11-15 2319", "11-15 23-19"),
        ("1. 11-15 23-19 2. 8-11", "11-15 23-19 8-11"),
    ],
)
def test_openings_by_name_and_by_moves(text, moves):
    assert opening_moves(text, CHECKERS, random.Random(0)) == tuple(moves.split())


@pytest.mark.slow
@pytest.mark.parametrize("text", ["D4 C3", "d4 c3", "1. D4 C3"])
def test_an_opening_of_a_game_whose_moves_begin_with_letters(text):
    assert opening_moves(text, get_game("go"), random.Random(0)) == ("D4", "C3")


def test_a_beginning_of_several_names_is_no_opening():
    with pytest.raises(ValueError, match=r"found 'de'; did you mean Denny, Defiance\?"):
        opening_moves("de", CHECKERS, random.Random(0))
    with pytest.raises(ValueError, match="expected moves, found 'ballot'"):
        opening_moves("ballot", get_game("connect4"), random.Random(0))
    with pytest.raises(ValueError, match="found 'old fourtenth'; did you mean Old Fourteenth"):
        opening_moves("old fourtenth", CHECKERS, random.Random(0))


def test_ctrl_c_in_the_middle_of_saving_loses_no_move(monkeypatch):
    script, shown = table("11-15\n", side="both")
    calls = []

    def interrupted(*of):
        calls.append(of)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return write_whole(*of)

    monkeypatch.setattr("ckai.cli.terminal.game.write_whole", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script.play()
    assert len(only_game(script.file).moves) == 1
    assert "saved in" in shown.getvalue()


def test_an_opponent_that_resigns_has_lost():
    class Resigns(FirstMove):
        def _search(self, task, *more):
            raise ResignsError("ckai test resigns")

    script, text = run("11-15\nexplain\n", engine=Resigns())
    assert "Black won: White resigned (1-0)" in text
    assert "ckai test resigns" in text
    assert only_game(script.file).result == "1-0"
    script, _ = run("11-15\nundo\n", engine=Resigns())
    assert texts(script) == []  # it would resign again


# --- explain ----------------------------------------------------------------------------------------------


def explained(lines, **settings):
    return " ".join(run(lines, **settings)[1].split())


def test_explain_says_value_line_alternatives_and_opening():
    text = explained("11-15\n22-18\nexplain\n", side="both")
    assert "22-18 is as good as any: the expected score of Black stays at 50%." in text
    assert "The opening is Single Corner." in text
    assert "there is no last move" in explained("explain\n")
    assert "The opening is Edinburgh." in explained("explain 913\n")


class Weighted(FirstMove):
    """Values fall with the order of the moves: 0.5, 0.3, 0.1, ..."""

    def _search(self, task, *more):
        from dataclasses import replace

        from ckai.rl.engine.base import Value

        result = super()._search(task, *more)
        turn = result.value.turn
        lines = [replace(e, value=Value(0.5 - 0.2 * i, turn)) for i, e in enumerate(result.lines)]
        return replace(result, lines=lines, value=Value(0.5, turn))


def test_explain_says_what_a_move_costs():
    text = explained("10-14\nexplain\n", side="both", engine=Weighted())
    assert "10-14 costs Black 50%: the expected score of Black falls from 75% to 25%." in text
    assert "Better is 9-13, with 75%." in text
    text = explained("11-15\n21-17\nexplain\n", side="both", engine=Weighted())
    assert (
        "21-17 is the best move: the expected score of Black stays at 25%; the next best, 22-17, costs 10%."
        in text
    )


def test_explain_says_that_a_move_was_forced():
    assert "14x23 is forced: Black has no other legal move." in explained(
        "14x23\nexplain\n", side="both", fen="B:W18,32:B14,1"
    )


SHOT = "W:W14,22,26,29,30,31,32:B3,4,5,6,7,12,15,24"
"""14-10 7x14 22-18 15x22 26x1 or the like: White gives two and takes three."""


def test_explain_shows_shots():
    played = explained("14-10\nexplain\n", side="both", fen=SHOT)
    assert re.search(r"It begins a shot, 14-10 7x14 22-18 \S+ .*, which wins 3 for 2\.", played)
    missed = explained("32-28\nexplain\n", side="both", fen=SHOT, engine=Weighted())
    assert "It misses a shot, 14-10 7x14" in missed
    no_worse = explained("32-28\nexplain\n", side="both", fen=SHOT)
    assert "a shot" not in no_worse
    exchange = "B:W17,20,21,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,9,10,12,15,16"
    assert "shot" not in explained("explain 16x23\n", side="both", fen=exchange.replace("W17", "W17,19"))
    threat = explained(
        "2-7\nexplain\n",
        side="both",
        fen=SHOT.replace("W:W", "B:W").replace(",7,", ",").replace("B3", "B2,3"),
    )
    assert "It allows White a shot, 14-10 7x14 22-18" in threat


def test_explain_says_what_a_move_threatens():
    text = explained("explain 10-14\n", side="both", fen="B:W18,31:B1,9,10")
    assert "It threatens a gain, 14x23 31-26 23x30, which wins the game." in text
    text = explained("14-10\nexplain\n", side="both", fen="W:W14,32:B6,1")
    assert "Black has one reply: 6x15." in text
    assert "threatens" not in text


# --- screens and prompts ------------------------------------------------------------------------------------


def test_the_search_is_hidden_until_it_is_asked_for():
    _, text = run("11-15\n")
    assert "ckai test plays 21-17" in text
    assert "visits" not in text
    _, text = run("11-15\nshow\nshow\n")
    assert text.count("100 visits") == 1


def test_show_has_the_analysts_value_where_the_engine_has_none():
    extra = {"show": True, "analyst": lambda: FirstMove(0.123)}
    script, shown = table("11-15\n", engine=RandomEngine(seed=1), extra=extra)
    script.play()
    text = shown.getvalue()
    assert f"ckai test plays {script.game.moves[-1]}\n" in text
    assert "ckai would play 21-17\nexpected score of Black: 44%" in text


def test_the_game_continues_where_the_analyst_fails():
    def missing():
        raise OSError("no such network")

    script, shown = table("11-15\n", engine=RandomEngine(seed=1), extra={"show": True, "analyst": missing})
    script.play()
    assert len(script.game.moves) == 2
    assert "no such network\n" in shown.getvalue()


# --- typed lines ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["11-15", "11x15", "11 15", " 11  15", "11 - 15", "11:15", "1115", "11,15", "11-15.", "11 to 15"],
)
def test_moves_as_people_type_them(line):
    assert texts(run(f"{line}\n", side="both")[0]) == ["11-15"]


@pytest.mark.parametrize("line", ["26x1", "26 1", "26x17x10x1", "26x10x1"])
def test_captures_short_and_long(line):
    assert texts(run(f"{line}\n", fen="W:W26:B22,14,6", side="both")[0]) == ["26x17x10x1"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("11 18", "'11 18' is illegal; from 11: 11-15, 11-16"),
        ("11", "'11' is half a move; from 11: 11-15, 11-16"),
        ("mvoes", "'mvoes' is neither a move nor a command; did you mean 'moves'?"),
        ("e2e4", "type a move such as 11-15, or help"),
        ("H", "let the engine move"),
        ("resign\ny\n11-15", "the game is over; type new"),
        ("\x1b]0;owned\x07", "'?]0;owned?' is neither a move nor a command"),
        ("caf\u00e9" * 300, "caf\u00e9caf\u00e9caf\u00e9caf\u00e9caf\u00e9c...' is neither"),
    ],
)
def test_what_typed_lines_are_answered_with(line, words):
    assert words in " ".join(run(f"{line}\n", side="both")[1].split())
