"""Every oddity that PDN files have in the wild, by name."""

import io

import numpy as np
import pytest

from ckai.game import Game
from ckai.pdn import PdnGame, from_game, read_games, write_game

MANCHESTER = b"""[Event "Manchester 1841"]
[Date "1841-??-??"]
[Black "Moorhead, W."]
[White "Wyllie, J."]
[Site "Manchester"]
[Result "0-1"]
1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15x22 25x18 5. 4-8 26-22 6. 10-14
18x9 7. 5x14 22-18 8. 1-5 18x9 9. 5x14 29-25 10. 11-15 24-19 11. 15x24 25-22 12.
24-28 22-18 13. 6-9 27-24 14. 8-11 24-19 15. 7-10 20-16 16. 11x20 18-15 17. 2-6
15-11 18. 12-16 19x12 19. 10-15 11-8 20. 15-18 21-17 21. 13x22 30-26 22. 18x27
26x17x10x1 0-1
"""


def read(text: bytes | str) -> list[PdnGame]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_games(io.BytesIO(data), "test.pdn"))


def moves(game: PdnGame) -> list[str]:
    return [str(each.move) for each in game.moves]


def one(text: bytes | str) -> PdnGame:
    games = read(text)
    assert len(games) == 1
    assert games[0].problem is None
    return games[0]


def first_moves(text: bytes | str) -> list[str]:
    return moves(one(text))


OPENING = ["11-15", "22-18", "15x22", "25x18"]


# --- the shape of a game ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ('[Event "The "big" one"]', "Event", 'The "big" one'),
        ('[Event "The \\"big\\" one \\\\"]', "Event", 'The "big" one \\'),
        ('[Event "unclosed\n[Site "there]', "Event", "unclosed"),
        ('[Event "unclosed\n[Site "there]', "Site", "there"),
        ("[Black no quotes]", "Black", "no quotes"),
        ('[Black "Dvo\u0159\u00e1k"]', "Black", "Dvo\u0159\u00e1k"),
        (b'[Black "M\xfcller"]', "black", "M\u00fcller"),
    ],
)
def test_tags_as_they_are_found(text, name, value):
    game = one((text if isinstance(text, bytes) else text.encode()) + b"\n1. 11-15 *")
    assert (game.header(name), moves(game)) == (value, ["11-15"])


def test_several_games_on_a_line():
    games = read('1. 11-15 * 1. 9-13 22-18 1-0 [Event "c"] 1. 10-14 0-1')
    assert [moves(g) for g in games] == [["11-15"], ["9-13", "22-18"], ["10-14"]]
    assert [g.result for g in games] == ["*", "1-0", "0-1"]


def test_no_result_token_takes_the_tag():
    games = read('[Result "1-0"]\n1. 11-15\n[Result "1/2-1/2"]\n1. 9-13\n[Event "c"]\n1. 9-14')
    assert [g.result for g in games] == ["1-0", "1/2-1/2", None]
    assert [g.termination_marker for g in games] == [None, None, None]


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "1. 11-15 22-18 2. 15x22 25x18 *",
        "11-15 22-18 15x22 25x18 *",
        "1 11-15 22-18 2 15x22 25x18 *",
        "1. 11-15 1. ... 22-18 2. 15x22 2... 25x18 *",
        "1.11-15 22-18 2.15x22 25x18*\n*",
        "1. 11 - 15 22 -18 2. 15x 22 25 x18 *",
        "1. 11-\n15 22\n-18 2. 15x\r\n22 25x18 *",
        "1. 11x15 22x18 2. 15-22 25-18 *",
        "1. 11-15 22-18 2. 15X22 25:18 *",
        "1. 11-15 22-18 2. 15\u00d722 25x18 *",
        "1. 11-15 1\u2026 22-18 2. 15x22 25x18 *",
        "1. {why not} 11-15 22-18 2 {a} {b} 15x22 25x18 *",
        "1. 11\u201315 22\u201418 2. 15\u221222 25x18 *",
        b"1. 11\x9615 22\x9718 2. 15x22 25x18 *",
        "\ufeff1. 11-15 22-18 2. 15x22 25x18 *",
        "1. 11-15\x0022-18\x00 2. 15x22 25x18 *",
        "1.\u00a011-15\u00a022-18 2. 15x22 25x18 *",
        "1. 11-15 22-18\r\n2. 15x22 25x18\r\n*\r\n",
        "1. 11-15 22-18\r2. 15x22 25x18\r*\r",
        "1. 11-15 22-18 2. 15x22 25x18",
        "1. 11-15 22-18 2. 15x22 25x18 1 - 0",
        "1. 11-15 22-18 2. 15x22 25x18 1-1",
        "1 11-15 22-18 2 15x22 25x18 3 {resigns} *",
        "1 11-15 22-18 2 (2 15-19) 15x22 25x18 1/2-1/2",
    ],
)
def test_words_of_all_kinds(text):
    assert first_moves(text) == OPENING


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1-0", "1-0"),
        ("0-1", "0-1"),
        ("1/2-1/2", "1/2-1/2"),
        ("2-0", "1-0"),
        ("1-1", "1/2-1/2"),
        ("1/2", "1/2-1/2"),
        ("\u00bd-\u00bd", "1/2-1/2"),
        ("0-0", "*"),
    ],
)
def test_results(text, result):
    assert one(f"1. 11-15 {text}").result == result


# --- remarks ----------------------------------------------------------------------------------------


def test_comments_anywhere():
    game = one('{a}[Event "x"]{b}\n[Site "y"]{c}1. {d}11-15{e}{f} {1. 9-13} 22-18 {g} 1-0 {h}\n; i\n')
    assert game.comments == ["a", "b", "c", "d"]
    assert [each.comments for each in game.moves] == [["e", "f", "1. 9-13"], ["g"]]
    assert game.final_comments == ["h", "i"]


def test_comments_to_the_line_end_and_remark_lines():
    game = one("% 1. 9-13\n1. 11-15 ; 22-17 is worse\n% another\n22-18 *")
    assert moves(game) == ["11-15", "22-18"]
    assert game.moves[0].comments == ["22-17 is worse", "another"]


def test_variations_within_variations():
    game = one("1. 11-15 22-18 (1... 23-19 {solid} 8-11 (9-14!? 22-17) 22-17) (1... 24-20) 2. 15x22 *")
    assert moves(game) == ["11-15", "22-18", "15x22"]
    first, second = game.moves[1].variations
    assert [str(m.move) for m in first.moves] == ["23-19", "8-11", "22-17"]
    assert first.moves[0].comments == ["solid"]
    assert [str(m.move) for m in first.moves[1].variations[0].moves] == ["9-14", "22-17"]
    assert first.moves[1].variations[0].moves[0].marks == "!?"
    assert [str(m.move) for m in second.moves] == ["24-20"]


def test_numeric_annotations_and_marks():
    game = one("1. 11-15! $1 $23 22-18?? 2. 15x22!? 25x18* 3. 8-11!* 29-25 ! * ")
    assert game.moves[0].nags == [1, 23]
    assert [each.marks for each in game.moves] == ["!", "??", "!?", "*", "!*", "!"]
    assert game.result == "*"


# --- other first positions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        *((f'[GameType "{value}"]', "") for value in ("21", "21,W,8,8,N1,0", " 21 ", "")),
        ('[GameType "20"]', "international"),
        ('[GameType "25"]', "Russian"),
        ('[GameType "99"]', "99"),
        ('[GameType "x"]', "x"),
        ('[FEN "W:W1:B2"]', "crowning row"),
    ],
)
def test_games_of_other_kinds_are_rejected_by_name(tag, problem):
    first, second = read(f'{tag}\n1. 11-15 *\n[Event "next"]\n1. 11-15 *')
    assert moves(second) == ["11-15"]
    assert first.rejected == bool(problem)
    assert problem in str(first.problem)


# --- what is wrong ----------------------------------------------------------------------------------


def test_an_illegal_move_costs_the_rest_of_its_game():
    bad, good = read('[Event "a"]\n1. 11-15 22-18\n2. 8-11 18x11 0-1\n[Event "b"]\n1. 9-13 *')
    assert moves(bad) == ["11-15", "22-18"]
    assert not bad.rejected
    assert bad.result == "0-1"
    problem = bad.problem
    assert problem is not None
    assert (problem.path, problem.line, problem.game, problem.ply) == ("test.pdn", 3, 1, 2)
    assert problem.text == "8-11"
    assert problem.legal == ("15x22",)
    assert str(problem) == "test.pdn:3: game 1: ply 2: '8-11' is illegal here (legal: 15x22)"
    assert moves(good) == ["9-13"]
    assert good.number == 2
    assert good.line == 4


@pytest.mark.parametrize("word", ["hello", "11-33", "11-0", "1115", "99-100", "11-15-18x", "e2e4", "<nul>"])
def test_words_that_are_no_moves(word):
    game = read(f"1. 11-15 {word} 22-18 *")[0]
    assert moves(game) == ["11-15"]
    assert game.problem is not None


@pytest.mark.parametrize("end", ["3", "3 $1", "3 !", "3 )", "255 1-0", "3 {a}"])
def test_a_number_that_no_move_and_no_result_follows_is_no_move(end):
    game = read(f"1 11-15 22-18 2 15x22 25x18 {end}")[0]
    assert moves(game) == OPENING
    assert game.problem is not None


def test_an_unclosed_brace_costs_one_game():
    bad, good = read('[Event "a"]\n1. 11-15 {he thought\n22-18 1-0\n\n[Event "b"]\n1. 9-13 {fine} *')
    assert moves(bad) == ["11-15"]
    assert bad.problem is not None
    assert "closing }" in bad.problem.reason
    assert bad.problem.line == 2
    assert moves(good) == ["9-13"]
    assert moves(read("1. 11-15 {never closed")[0]) == ["11-15"]
    assert moves(read("1. 11-15 {never closed\n22-18 1-0\n1. 9-13 *")[-1]) == ["9-13"]


def test_an_unclosed_bracket_costs_one_game():
    bad, good = read('[Event "a"]\n1. 11-15 (9-13 22-18 1-0\n[Event "b"]\n1. 9-13 *')
    assert moves(bad) == ["11-15"]
    assert bad.problem is not None
    assert "closing )" in bad.problem.reason
    assert moves(good) == ["9-13"]
    games = read("1. 11-15 (9-13 1-0 1. 9-14 *")
    assert [moves(g) for g in games] == [["11-15"], ["9-14"]]


def test_brackets_where_no_variation_can_be_are_remarks():
    game = one('[Event "a"]\n(from a book {1952}) 1. 11-15 22-18 1-0 (and not 0-1)')
    assert moves(game) == ["11-15", "22-18"]
    assert game.comments == ["(from a book 1952)"]
    assert game.final_comments == ["(and not 0-1)"]
    game = one("1. 11-15 (1. 9-13 22-18 (5-9) {a} and so on) (good) 22-18 (1. 9-13 *) *")
    assert [each.comments for each in game.moves] == [
        ["(1. 9-13 22-18 (5-9) a and so on)", "(good)"],
        ["(1. 9-13 *)"],
    ]
    assert not any(each.variations for each in game.moves)


def test_text_before_between_and_after_games_is_no_game():
    games = read('Games of the year\n\n[Event "a"]\n1. 11-15 * The end.\n\n[Event "b"]\n1. 9-13 *\nBye\n')
    assert [moves(g) for g in games] == [["11-15"], ["9-13"]]
    assert first_moves('{of 1952} Games, page 12. Enjoy. [Event "a"] 1. 11-15 *') == ["11-15"]


# --- chunks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [64, 100, 1000, 4096])
def test_chunks_of_any_size_read_the_same(size):
    from ckai.pdn.sources import read_chunks

    text = (
        MANCHESTER + b"\n% remark\n1. 11-15 {a\nb} 22-18\r\n*\n" + b'[FEN "W:W22,K30:B1,2"]\n1. 22-17 0-1\n'
    ) * 7
    whole = read(text)
    found = list(read_chunks(io.BytesIO(text), size))
    assert sum(len(chunk.games) for chunk in found) == len(whole) == 21
    assert np.concatenate([chunk.lines(chunk.begins) for chunk in found]).tolist() == [g.line for g in whole]
    before = [sum(len(chunk.games) for chunk in found[:i]) for i in range(len(found))]
    assert [chunk.number for chunk in found] == before


# --- writing ----------------------------------------------------------------------------------------


def test_lines_are_wrapped_and_numbered():
    text = write_game(one(MANCHESTER))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "22. 18x27\n26x17x10x1 0-1" in text
    assert moves(one(text)) == moves(one(MANCHESTER))


@pytest.mark.parametrize("name", ["Événement", "1st", "_x", ""])
def test_tags_that_no_reader_accepts_are_refused(name):
    game = from_game(Game(), {"Event": "Club", name: "v"}, "*")
    with pytest.raises(ValueError, match="expected a tag name that begins with a letter"):
        write_game(game)
