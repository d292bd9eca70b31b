"""The commands of the prompt, in a game, after its end and while stepping through one."""

import io
import random
import re

import pytest
from make_rows import row, write
from terminal_game import FirstMove, only_game, table

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.record import Record
from ckai.cli.playing.session import PEOPLE, Session, game_of
from ckai.cli.playing.start import FileGame, open_game, opening_moves
from ckai.cli.terminal.commands import COMMANDS, OVER, PLAY, VIEW, help_lines, read_command
from ckai.cli.terminal.game import Options, TerminalGame
from ckai.cli.terminal.screen import Screen, make_console
from ckai.game import Game, Position
from ckai.pdn import read_games, write_game
from ckai.rl.engine.base import ResignsError
from ckai.rl.engine.result import SearchResult
from ckai.rl.games.registry import get_game

CHECKERS = get_game("checkers")
FINISHED = """[Event "Club \x1b[31mred\x07"]
[Black "A. One"]
[White "B. Two"]
[Result "1-0"]

1. 11-15 {an old friend} 22-18 2. 15x22 25x18 3. 8-11 29-25 1-0
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(lines, path, **settings):
    script, shown = table(lines, path, **settings)
    script.play()
    return script, shown.getvalue()


def texts(script):
    return [str(move) for move in script.session.game.moves]


# --- the table of commands --------------------------------------------------------------------------------


def test_every_command_has_its_action_and_every_action_its_command():
    actions = {name.removeprefix("_do_") for name in vars(TerminalGame) if name.startswith("_do_")}
    assert actions == COMMANDS.keys() - {"quit"}


def test_help_fits_a_small_terminal_and_names_every_command():
    lines = help_lines(80)
    assert len(lines) <= 22
    assert max(map(len, lines)) < 80
    assert all(re.search(rf"\b{name}\b", "\n".join(lines)) for name in COMMANDS)
    narrow = help_lines(40)
    assert max(map(len, narrow)) <= 40
    assert len(narrow) > len(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name):
    assert help_lines(80, name)[0].startswith(name)


def test_help_of_no_command():
    with pytest.raises(ValueError, match="no command 'frobnicate'"):
        help_lines(80, "frobnicate")


WAYS_IN = {PLAY: "", OVER: "resign\ny\n", VIEW: "view\n"}


@pytest.mark.parametrize("mode", WAYS_IN)
@pytest.mark.parametrize("argument", ["", " x\x1b[2J" + "y" * 3000])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_ends_the_program_in_any_mode(here, mode, argument, name):
    screen = {"force_terminal": True, "color_system": "256"}
    _, text = run(f"11-15\n{WAYS_IN[mode]}{name}{argument}\nhelp\n", here, **screen)
    assert "\x1b[2J" not in text
    assert ("end of input" in text) == (name != "quit")
    if mode not in COMMANDS[name].modes:
        assert any(words in text for words in ("not during", "the game is over", "not while stepping"))


@pytest.mark.parametrize(
    ("line", "mode", "words"),
    [
        ("resign", VIEW, "resign: not while stepping through a game; type play"),
        ("11-15", OVER, "the game is over; type rematch"),
        ("play", PLAY, "play: not during a game"),
        ("\x1b]0;owned\x07", PLAY, "'?]0;owned?' is neither a move nor a command"),
        ("caf\u00e9" * 300, PLAY, "caf\u00e9caf\u00e9caf\u00e9caf\u00e9caf\u00e9c...' is neither"),
    ],
)
def test_what_cannot_be_done_now(line, mode, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        read_command(line, Position.start(), CHECKERS, mode)


def test_go_to_is_two_words():
    assert read_command("go to 12", Position.start(), CHECKERS, VIEW).name == "goto"
    assert read_command("goto 12", Position.start(), CHECKERS, VIEW).argument == "12"
    assert read_command("", Position.start(), CHECKERS, VIEW).name == "next"


# --- moves ------------------------------------------------------------------------------------------------


def test_a_partial_jump_goes_on_and_a_compulsory_capture_is_said(here):
    script, text = run("12-16\n1x10\n", here, side="both", fen="B:W22,14,6:BK1,12")
    assert "'12-16' is illegal, you must capture: 1x10x17x26" in text
    assert texts(script) == ["1x10x17x26"]


def test_forced_moves_are_played_if_wished(here):
    fen = "B:W18,32:B14,1"
    script, text = run("", here, side="both", fen=fen, extra={"options": Options(auto_forced=True)})
    assert "forced: 14x23" in text
    assert texts(script)[:1] == ["14x23"]
    assert texts(run("", here, side="both", fen=fen)[0]) == []
    script, text = run("forced\nboard\n", here, side="both", fen=fen)
    assert "forced moves are played for you" in text
    assert texts(script)[:1] == ["14x23"]


def test_undo_and_redo(here):
    script, text = run("11-15\n8-11\nundo\nredo\nundo\nundo\nredo\n12-16\nredo\n", here)
    assert "played again: 8-11" in text
    assert "there is no move to play again" in text
    assert texts(script)[:3] == ["11-15", "21-17", "12-16"]


def test_a_forced_move_that_is_played_by_itself_is_taken_back_and_played_again(here):
    session, engine = Session(game_of(("11-15", "22-18"), CHECKERS), PEOPLE["black"]), FirstMove()
    options = {"options": Options(auto_forced=True)}
    script, text = run("undo\nredo\n", here, session=session, engine=engine, extra=options)
    assert "taken back: 11-15, 22-18, 15x22, 25x18" in text
    assert "played again: 11-15, 22-18, 15x22, 25x18" in text
    assert texts(script) == ["11-15", "22-18", "15x22", "25x18"]
    assert len(engine.asked) == 1


# --- the end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["n", "", "no", "x"])
@pytest.mark.parametrize("command", ["resign", "draw"])
def test_resign_and_draw_ask_first(here, command, answer):
    script, text = run(f"11-15\n{command}\n{answer}\n", here)
    assert "[y/N]" in text
    assert script.session.outcome() is None


def test_a_resignation_can_be_taken_back(here):
    script, text = run("11-15\nresign\ny\nundo\n8-11\n", here)
    assert "taken back: the end of the game" in text
    assert len(texts(script)) == 4
    assert only_game(script.record.path).termination_marker == "*"


def test_a_lost_game_can_be_taken_back(here):
    script, text = run("10x17\nundo\n", here, fen="B:W14:B10")
    assert "Black won: White has no pieces left (1-0)" in text
    assert texts(script) == []


def test_rematch_is_another_game_in_another_file(here):
    script, text = run("11-15\nresign\ny\nrematch\n9-13\n", here)
    assert f"saved in {here}/games/game-001.pdn\n" in text
    assert [path.name for path in sorted((here / "games").iterdir())] == ["game-001.pdn", "game-002.pdn"]
    assert only_game(here / "games/game-001.pdn").termination_marker == "0-1"
    assert texts(script)[:1] == ["9-13"]


def test_a_rematch_in_a_named_file_keeps_both_games(here):
    script, _ = table("11-15\nresign\ny\nrematch\n9-13\n", here)
    script.record = Record(here / "all.pdn")
    script.play()
    assert [str(game.moves[0].move) for game in read_games(here / "all.pdn")] == ["11-15", "9-13"]


def test_colours_are_exchanged_after_the_end_and_during_a_game(here):
    script, _ = run("11-15\nresign\ny\nswap\n", here)
    assert script.session.humans == PEOPLE["white"]
    assert texts(script) == ["9-13"]
    assert not script.flipped
    script, _ = run("swap\n", here)
    assert texts(script) == ["9-13"]  # the engine moves for Black now


# --- openings and positions -------------------------------------------------------------------------------


def test_an_opening_is_named_and_begun(here):
    script, text = run("opening glasgow\nopening\n", here, side="both")
    assert texts(script) == ["11-15", "23-19", "8-11", "22-17", "11-16"]
    assert "Glasgow: 11-15 23-19 8-11 22-17 11-16" in text
    assert text.splitlines()[-3].strip() == "Glasgow"
    _, text = run(
        "opening list\nopening ballot:174\nopening ballot:175\nopening xyz\nopening 11-18\n",
        here,
        side="both",
    )
    assert "Will o' the Wisp: 11-15 23-19 9-13" in text
    assert "expected ballot:1 to ballot:174, found 'ballot:175'" in " ".join(text.split())
    assert "expected the name of an opening, ballot, ballot:N or moves, found 'xyz'" in " ".join(text.split())
    assert "'11-18' is illegal" in text


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


def test_an_opening_is_named_by_its_position():
    for moves in (
        "11-15 23-19 8-11 22-17 4-8",
        "11-15 22-17 8-11 23-19 4-8",
        "11-15 23-19 8-11 22-17 4-8 17-13",
    ):
        assert CHECKERS.opening_name(game_of(tuple(moves.split()), CHECKERS)) == "Old Fourteenth"
    late = CHECKERS.position()
    for move in CHECKERS.ballot[0]:
        late = late.push(late.find_move(move))
    assert CHECKERS.opening_name(Game(late)) == "Edinburgh, 21-17 5-9"
    assert CHECKERS.opening_name(Game()) is None


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
    assert opening_moves(text, CHECKERS, random.Random(0))[1] == tuple(moves.split())


@pytest.mark.slow
@pytest.mark.parametrize("text", ["D4 C3", "d4 c3", "1. D4 C3"])
def test_an_opening_of_a_game_whose_moves_begin_with_letters(text):
    assert opening_moves(text, get_game("go"), random.Random(0)) == ("", ("D4", "C3"))


def test_a_beginning_of_several_names_is_no_opening():
    with pytest.raises(ValueError, match=r"found 'de'; did you mean Denny, Defiance\?"):
        opening_moves("de", CHECKERS, random.Random(0))
    with pytest.raises(ValueError, match="expected moves, found 'ballot'"):
        opening_moves("ballot", get_game("connect4"), random.Random(0))
    with pytest.raises(ValueError, match="found 'old fourtenth'; did you mean Old Fourteenth"):
        opening_moves("old fourtenth", CHECKERS, random.Random(0))


def test_a_position_is_set_up_from_a_fen_and_from_a_typed_board(here):
    script, _ = run("setup W:W18,K5:B1,2\n", here, side="both")
    assert script.session.position.fen == "W:WK5,18:B1,2"
    rows = [" b b . .", ". . . . . . . .", "....", "----", "w . . .", "....", "....", "...B"]
    script, text = run("\n".join(["setup", *rows, "white", ""]), here, side="both")
    assert "to move: white" in text
    assert script.session.position.fen == "W:W17:B1,2,K32"


@pytest.mark.parametrize("row", ["bb.x", "bbbbb", "b"])
def test_a_board_that_is_none_changes_nothing(here, row):
    script, text = run(
        "\n".join(["11-15", "setup", row, *7 * ["...."], "black", "fen", ""]), here, side="both"
    )
    assert "row 1: expected 4 dark squares or 8 squares" in text
    assert texts(script) == ["11-15"]


def test_a_board_that_breaks_off_changes_nothing(here):
    script, text = run("11-15\nsetup\nbb..\nquit\nfen\n", here, side="both")
    assert "no position was set up; the game goes on" in text
    assert texts(script) == ["11-15"]


# --- files ------------------------------------------------------------------------------------------------


def opened(path, text, where="", humans=None):
    file = path / "club.pdn"
    file.write_text(text)
    place = FileGame.read(f"{file}{where}")
    session, source, view = open_game(place, place.load(CHECKERS), humans, CHECKERS)
    return {"session": session, "extra": {"source": source, "view": view}}


def test_a_finished_game_is_stepped_through_and_stays_as_it_was(here):
    script, text = run(
        "\nnext\nback\ngo to 5\nlast\nnext\nfirst\nback\ngoto 7\n", here, **opened(here, FINISHED)
    )
    assert [line for line in text.splitlines() if line.startswith("ply ")] == [
        f"ply {n} of 6" for n in (0, 1, 2, 1, 5, 6, 0)
    ]
    assert "Black: A. One" in text
    assert "an old friend" in text
    assert "the end (1-0)" in text
    assert "this is the end of the game" in text
    assert "this is its beginning" in text
    assert "expected a ply from 0 to 6, found 7" in text
    assert (here / "club.pdn").read_text() == FINISHED
    assert not (here / "games").exists()
    assert script.mode == VIEW


def test_control_characters_of_a_file_never_reach_the_terminal(here):
    _, text = run("next\nlast\n", here, **opened(here, FINISHED))
    assert "Club ?[31mred" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_game_goes_on_from_where_one_looks(here):
    script, _ = run("go to 2\nplay both\n15-19\n", here, **opened(here, FINISHED))
    assert texts(script) == ["11-15", "22-18"]  # 15x22 is compulsory
    script, text = run("go to 2\n9-13\nplay both\n15x22\n26x17\n", here, **opened(here, FINISHED))
    assert "'9-13' is illegal, you must capture" in text
    assert texts(script) == ["11-15", "22-18", "15x22", "26x17"]
    assert (here / "club.pdn").read_text() == FINISHED
    assert len(only_game(here / "games/game-001.pdn").moves) == 4


def test_a_game_is_saved_whole_while_one_steps_through_it(here):
    script, _ = run("11-15\n23-19\nresign\ny\nview\nfirst\nsave\nsave best.pdn\n", here, side="both")
    for path in (script.record.path, "best.pdn"):
        game = only_game(path)
        assert ([str(each.move) for each in game.moves], game.result) == (["11-15", "23-19"], "0-1")
    run("next\nsave mine.pdn\n", here, **opened(here, FINISHED))
    copy = only_game("mine.pdn")
    assert (len(copy.moves), copy.result, copy.header("Black")) == (6, "1-0", "A. One")


def test_moves_taken_back_before_a_game_was_resigned_are_not_saved_with_it(here):
    lines = "11-15\n23-19\n8-11\nundo\nresign\ny\nview\nsave\n"
    script, _ = run(lines, here, side="both")
    game = only_game(script.record.path)
    assert ([str(each.move) for each in game.moves], game.result) == (["11-15", "23-19"], "0-1")


def test_a_game_that_was_won_by_rule_keeps_its_result_where_its_end_is_taken_back(here):
    script, text = run("10x17\nundo\nview\nlast\nsave\n", here, side="both", fen="B:W14:B10")
    assert "the end (1-0)" in text
    assert only_game(script.record.path).result == "1-0"


def test_the_result_of_a_file_stays_where_its_end_is_taken_back(here):
    _, text = run("undo\nview\nlast\n", here, **opened(here, FINISHED, ":1:6"))
    assert "the end (1-0)" in text


def test_games_saved_in_one_file_are_all_there(here):
    run("11-15\nsave best.pdn\nrematch\n9-13\nsave best.pdn\n24-20\nsave best.pdn\n", here, side="both")
    games = [[str(each.move) for each in game.moves] for game in read_games(here / "best.pdn")]
    assert games == [["11-15"], ["9-13", "24-20"]]


def test_a_game_that_was_resigned_keeps_its_result_when_another_one_begins_in_it(here):
    lines = "11-15\nresign\ny\nview\nback\nnext\nplay\n23-19\n"
    run(lines, here, side="both")
    games = [only_game(path) for path in sorted((here / "games").iterdir())]
    assert [(len(game.moves), game.result) for game in games] == [(1, "1-0"), (2, "*")]


def test_a_saved_game_that_was_looked_at_stays_in_its_file(here):
    script, _ = run("11-15\n", here)
    file = script.record.path
    place = FileGame.read(str(file))
    session, source, _ = open_game(place, place.load(CHECKERS), None, CHECKERS)
    run("8-11\nview\nplay\n4-8\n", here, session=session, extra={"source": source})
    assert len(only_game(file).moves) == 6
    assert len(list((here / "games").iterdir())) == 1


def test_a_game_that_left_its_file_has_neither_its_names_nor_its_comments(here):
    _, text = run("9-14\nview\nback\n", here, **opened(here, FINISHED, ":1:0"))
    assert "ply 1 of 2" in text
    assert "A. One" not in text
    assert "an old friend" not in text


def test_ctrl_c_in_the_middle_of_saving_loses_no_move(here, monkeypatch):
    script, shown = table("11-15\n", here, side="both")
    write, calls = Record.write, []

    def interrupted(record, text):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return write(record, text)

    monkeypatch.setattr(Record, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script.play()
    assert len(only_game(script.record.path).moves) == 1
    assert "saved in" in shown.getvalue()


def test_an_opponent_that_resigns_has_lost(here):
    class Resigns(FirstMove):
        def _search(self, task, *more):
            raise ResignsError("ckai test resigns")

    script, text = run("11-15\nexplain\n", here, engine=Resigns())
    assert "Black won: White resigned (1-0)" in text
    assert "ckai test resigns" in text
    assert only_game(script.record.path).result == "1-0"


def test_a_saved_game_goes_on_in_its_file(here):
    script, _ = run("11-15\n", here)
    file = script.record.path
    (here / "games/other.pdn").write_text("1. 9-13 *\n")
    place = FileGame.read(str(file))
    session, source, view = open_game(place, place.load(CHECKERS), None, CHECKERS)
    assert (view, session.humans, source.continued) == (False, PEOPLE["black"], True)
    script, _ = run("8-11\n", here, session=session, extra={"source": source})
    assert script.record.path == file
    assert len(only_game(file).moves) == 4
    assert len(list((here / "games").iterdir())) == 2


def test_a_saved_game_goes_on_in_its_file_against_another_engine(here):
    script, _ = run("11-15\n", here)
    file = script.record.path
    file.write_text(file.read_text().replace("ckai test", "another engine"))
    place = FileGame.read(str(file))
    session, source, _ = open_game(place, place.load(CHECKERS), None, CHECKERS)
    script, text = run("8-11\n", here, session=session, extra={"source": source})
    assert script.record.path == file
    assert "in a new file" not in text
    assert (len(only_game(file).moves), only_game(file).header("White")) == (4, "ckai test")


@pytest.mark.parametrize(
    "text",
    [
        '[Black "human"]\n[White "somebody"]\n\n1. 11-15 22-18 *\n',
        '[Event "ckai play"]\n[Black "human"]\n[White "ckai"]\n\n1. 11-15 {a note} 22-18 *\n',
    ],
)
def test_a_game_that_this_program_did_not_write_like_this_goes_on_in_a_new_file(here, text):
    script, shown = run("15x22\n", here, **opened(here, text))
    assert (here / "club.pdn").read_text() == text
    assert "not as ckai play wrote it, so the game goes on in a new file" in shown
    assert len(only_game(script.record.path).moves) == 4


def test_a_copy_of_a_game_that_is_stepped_through_has_its_comments_and_variations(here):
    text = '[Result "1-0"]\n\n1. 11-15 $1 {an old friend} 22-18 (23-19 8-11) 2. 15x22 25x18 1-0\n'
    run("next\nsave copy.pdn\n", here, **opened(here, text))
    copy = (here / "copy.pdn").read_text()
    assert copy == write_game(only_game(here / "club.pdn"))
    assert "{an old friend} 1. ... 22-18 (1. ... 23-19 2. 8-11)" in copy


def test_a_ply_of_a_file_is_a_start(here):
    settings = opened(here, FINISHED, ":1:4")
    assert not settings["extra"]["view"]
    assert len(settings["session"].game.moves) == 4
    script, _ = run("redo\n", here, **settings)
    assert texts(script)[4:5] == ["8-11"]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (":2", "expected game 1 to 1, found 2"),
        (":0", "games count from 1, found 0"),
        (":1:7", "expected a ply from 0 to 6, found 7"),
        (":x", "expected a file of games, found no such file"),
    ],
)
def test_what_a_file_has_not(here, where, words):
    with pytest.raises(ValueError, match=words):
        opened(here, FINISHED, where)
    _, text = run(f"11-15\nload {here}/club.pdn{where}\n", here)
    assert words in " ".join(text.split())


def test_a_game_that_breaks_off_is_shown_as_far_as_it_can_be_read(here):
    (here / "bad.pdn").write_text("1. 11-15 22-18 2. 8-11 *\n")
    script, text = run("load bad.pdn\n", here, side="both")
    assert texts(script) == ["11-15", "22-18"]
    assert "the game can be read up to here" in text


# --- explain ----------------------------------------------------------------------------------------------


def explained(lines, path, **settings):
    return " ".join(run(lines, path, **settings)[1].split())


def test_explain_says_value_line_alternatives_and_opening(here):
    text = explained("11-15\n22-18\nexplain\n", here, side="both")
    assert "22-18 is as good as any: the expected score of Black stays at 50%." in text
    assert "The other moves cost: 21-17 0%, 22-17 0%" in text
    assert "The opening is Single Corner." in text
    assert "there is no last move" in explained("explain\n", here)
    assert "The opening is Edinburgh." in explained("explain 913\n", here)


class Weighted(FirstMove):
    """Values fall with the order of the moves: 0.5, 0.3, 0.1, ..."""

    def _search(self, task, *more):
        from dataclasses import replace

        from ckai.rl.engine.result import Value

        result = super()._search(task, *more)
        turn = result.value.turn
        lines = [replace(e, value=Value(0.5 - 0.2 * i, turn)) for i, e in enumerate(result.lines)]
        return replace(result, lines=lines, value=Value(0.5, turn))


def test_explain_says_what_a_move_costs(here):
    text = explained("10-14\nexplain\n", here, side="both", engine=Weighted())
    assert "10-14 costs Black 20%: the expected score of Black falls from 75% to 55%." in text
    assert "Better is 9-13, with 75%." in text
    assert "The other moves cost: 9-14 10%, 10-15 30%" in text
    text = explained("11-15\n21-17\nexplain\n", here, side="both", engine=Weighted())
    assert (
        "21-17 is the best move: the expected score of Black stays at 25%; the next best, 22-17, costs 10%."
        in text
    )


def test_explain_says_that_a_move_was_forced(here):
    assert "14x23 is forced: Black has no other legal move." in explained(
        "14x23\nexplain\n", here, side="both", fen="B:W18,32:B14,1"
    )


SHOT = "W:W14,22,26,29,30,31,32:B3,4,5,6,7,12,15,24"
"""14-10 7x14 22-18 15x22 26x1 or the like: White gives two and takes three."""


def test_explain_shows_shots(here):
    played = explained("14-10\nexplain\n", here, side="both", fen=SHOT)
    assert re.search(r"It begins a shot, 14-10 7x14 22-18 \S+ .*, which wins 3 for 2\.", played)
    missed = explained("32-28\nexplain\n", here, side="both", fen=SHOT, engine=Weighted())
    assert "It misses a shot, 14-10 7x14" in missed
    no_worse = explained("32-28\nexplain\n", here, side="both", fen=SHOT)
    assert "a shot" not in no_worse
    exchange = "B:W17,20,21,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,9,10,12,15,16"
    assert "shot" not in explained(
        "explain 16x23\n", here, side="both", fen=exchange.replace("W17", "W17,19")
    )
    threat = explained(
        "2-7\nexplain\n",
        here,
        side="both",
        fen=SHOT.replace("W:W", "B:W").replace(",7,", ",").replace("B3", "B2,3"),
    )
    assert "It allows White a shot, 14-10 7x14 22-18" in threat


def test_explain_says_what_a_move_threatens(here):
    text = explained("explain 10-14\n", here, side="both", fen="B:W18,31:B1,9,10")
    assert "It threatens a gain, 14x23 31-26 23x30, which wins the game." in text
    text = explained("14-10\nexplain\n", here, side="both", fen="W:W14,32:B6,1")
    assert "Black has one reply: 6x15." in text
    assert "threatens" not in text


def test_explain_counts_what_was_played(here, make_rows):
    extra = {"options": Options(experts=make_rows)}
    text = explained("11-15\nexplain\n", here, side="both", extra=extra)
    assert "reached this position 4 times: 11-15 75% (Black scored 83%), 9-13 25% (Black scored 0%)." in text
    swapped = Position.start().fen.replace("B:", "W:", 1)
    text = explained("22-18\nexplain\n", here, side="both", fen=swapped, extra=extra)
    assert "22-18 75% (Black scored 17%), 24-20 25% (Black scored 100%)" in text
    text = explained(
        "12-16\n24-19\n8-12\nexplain\n", here, side="both", extra={"options": Options(experts=make_rows)}
    )
    assert "No game in games.parquet reached this position." in text


@pytest.fixture
def make_rows(here):
    start = Position.start()
    played = [("11-15", 1), ("11-15", 1), ("11-15", 0), ("9-13", -1)]
    moves = [(start.find_move(text).actions[0], result) for text, result in played]
    write(here / "games.parquet", [row(start, label, n, result=z) for n, (label, z) in enumerate(moves)])
    return ExpertMoves(here / "games.parquet", "checkers")


def test_a_data_set_of_another_form_does_not_spoil_the_explanation(here):
    (here / "bad.parquet").write_bytes(b"PAR1")
    options = Options(experts=ExpertMoves(here / "bad.parquet", "checkers"))
    text = explained("11-15\nexplain\n", here, side="both", extra={"options": options})
    assert "11-15 is as good as any" in text
    assert "bad.parquet" in text.replace(" ", "")  # a long path is wrapped


def test_a_hardly_searched_move_is_searched_by_itself(here):
    class Few(Weighted):
        def _search(self, task, *more):
            from dataclasses import replace

            result = super()._search(task, *more)
            return replace(
                result, lines=[replace(e, visits=100 if i == 0 else 1) for i, e in enumerate(result.lines)]
            )

    engine = Few()
    text = explained("10-14\nexplain\n", here, side="both", engine=engine)
    assert "10-14 costs Black 50%: the expected score of Black falls from 75% to 25%." in text
    assert engine.asked[-1][0] == Position.start().push("10-14")


def test_explain_of_the_last_move_of_a_game():
    engine = FirstMove()
    explainer = Explainer(CHECKERS, lambda game, lines: engine.play(game, lines=lines))
    game = Game(Position.from_fen("B:W14:B10,2"))
    lines = explainer.explain(game, game.position.find_move("10x17"))
    assert lines == ["10x17 is forced: Black has no other legal move."]
    assert game.moves == []


# --- screens and prompts ------------------------------------------------------------------------------------


def test_the_search_is_hidden_until_it_is_asked_for(here):
    _, text = run("11-15\n", here)
    assert "ckai plays 21-17" in text
    assert "visits" not in text
    _, text = run("11-15\nshow\nhide\n", here)
    assert text.count("100 visits") == 1


def test_the_end_of_input_at_a_question_is_a_no():
    screen = Screen(make_console(), io.StringIO(""))
    assert not screen.confirm("sure?")
    assert Screen(make_console(), io.StringIO("Y\n")).confirm("sure?")


def test_a_terminal_that_is_gone_is_the_end_of_input():
    class Gone(io.StringIO):
        def readline(self):
            raise OSError(5, "Input/output error")

    assert Screen(make_console(), Gone()).ask("> ") is None


def test_a_player_without_a_search_declines_draws(here):
    class Silent(FirstMove):
        def _search(self, task, *more):
            return SearchResult(lines=super()._search(task, *more).lines)

    script, shown = table("draw\ny\nhint\nexplain 11-15\nshow\n11-15\n", here, engine=Silent())
    script.play()
    assert "the engine declines the draw" in shown.getvalue()
    assert "ckai would play 9-13" in shown.getvalue()
    assert texts(script) == ["11-15", "21-17"]
