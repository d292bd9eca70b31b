"""`ckai games`: what it finds in PDN and in rows, and what it writes."""

import json
from pathlib import Path

import make_rows
import pytest

from ckai.datasets import parse_files, read_rows
from ckai.game import Game
from ckai.pdn import read_games

CLUB = """[Event "Club, first round"]
[Date "2026.05.01"]
[Black "Marion Tinsley"]
[White "Don Lafferty"]
[Result "1-0"]

1. 11-15 23-19 {solid} 2. 8-11 22-17 (2. ... 26-23 {Nailor}) 3. 4-8 17-13 1-0

[Event "Club, second round"]
[Black "Don Lafferty"]
[White "M\u00e4rion T."]
[Result "1/2-1/2"]

1. 11-15 22-17 2. 8-11 23-19 3. 4-8 $1 1/2-1/2

[Event "Cup"]
[Opening "our own"]
[FEN "W:W18,K32:B11,K4"]
[Result "0-1"]

1. 18-15 11x18 2. 32-27 0-1

[Event "Cup"]
1. 9-13 21-17 2. 5-9 25-21 3. 1-32 *

[GameType "20"]
1. 32-28 *
"""
OLD_FOURTEENTH = "W:W17,19,21,24,25,26,27,28,29,30,31,32:B1,2,3,5,6,7,8,9,10,11,12,15"
"""The position that both games of the club reach, the second one with its last move."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("club.pdn").write_text(CLUB)
    parse_files(["club.pdn"], "club.parquet")
    return tmp_path


@pytest.fixture
def found(ckai):
    """The command's JSON object."""

    def run(*words):
        status, out, err = ckai("games", *words, "--json")
        assert status == 0, err
        return json.loads(out)

    return run


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ([], [1, 2, 3, 4]),
        (["--player", "LAFF"], [1, 2]),
        (["--player", "tinsley", "--result", "1-0"], [1]),
        (["--result", "1/2-1/2"], [2]),
        (["--event", "club"], [1, 2]),
        (["--opening", "fourteenth"], [1, 2]),
        (["--opening", "our own"], [3]),
        (["--opening", "edinburgh"], [4]),
        (["--opening", "11-15 23-19 8-11"], [1]),
        (["--opening", "ballot:1"], [4]),
        (["--min-plies", "6"], [1]),
        (["--position", OLD_FOURTEENTH], [1, 2]),
        (["--position", "B:" + OLD_FOURTEENTH[2:]], []),
        (["--position", "B:W15,K32:B11,K4"], [3]),
        (["--position", Game().position.fen, "--player", "t"], [1, 2]),
    ],
)
def test_games_are_found_in_pdn_and_in_rows(here, found, words, numbers):
    for file, first in (("club.pdn", 1), ("club.parquet", 0)):
        rows = found(file, *words)["found"]
        assert [row["game"] for row in rows] == [f"{file}:{n - 1 + first}" for n in numbers]


def test_what_is_found_is_counted_and_named(here, found):
    told = found("club.pdn", "club.parquet", "--event", "CLUB")
    counts = {name: told[name] for name in ("games", "searched", "results", "plies", "output")}
    assert counts == {
        "games": 4,
        "searched": 9,
        "results": {"1-0": 2, "1/2-1/2": 2},
        "plies": 22,
        "output": None,
    }
    assert told["found"][1] == {
        "game": "club.pdn:2",
        "event": "Club, second round",
        "date": None,
        "black": "Don Lafferty",
        "white": "M\u00e4rion T.",
        "result": "1/2-1/2",
        "opening": "Old Fourteenth",
        "plies": 5,
        "line": 9,
        "source": "club.pdn",
    }


def test_games_are_listed(here, ckai):
    status, out, err = ckai("games", "club.pdn", "--event", "cup")
    assert status == 0
    assert [line.split() for line in out.splitlines()] == [
        ["game", "date", "black", "white", "result", "plies", "opening", "event"],
        ["club.pdn:3", "0-1", "3", "our", "own", "Cup"],
        ["club.pdn:4", "*", "4", "Edinburgh,", "21-17", "5-9", "Cup"],
    ]
    assert "2 of 5 games: Black won 0, White 1, 0 drawn" in err


def test_a_game_stays_as_it_was_written(here, ckai):
    assert ckai("games", "club.pdn", "--position", OLD_FOURTEENTH, "-o", "out.pdn")[0] == 0
    first, second = CLUB.split("\n\n[Event")[0], "[Event" + CLUB.split("\n\n[Event")[1]
    assert Path("out.pdn").read_text() == f"{first}\n\n{second}\n\n"
    assert ckai("games", "club.pdn", "--opening", "edinburgh", "-o", "cut.pdn")[0] == 0
    (game,) = read_games("cut.pdn")
    assert (game.problem, len(game.moves)) == (None, 4)


def plain(path):
    return [
        (game.start.fen, [str(each.move) for each in game.moves], game.result, game.header("Event"))
        for game in read_games(path)
    ]


def test_rows_become_pdn_and_pdn_becomes_rows(here, ckai):
    for words in (
        ("club.parquet", "-o", "a.pdn"),
        ("club.pdn", "-o", "b.parquet"),
        ("b.parquet", "-o", "c.pdn"),
        ("club.pdn", "club.parquet", "--event", "club", "-o", "d.parquet"),
        ("d.parquet", "-o", "e.pdn"),
    ):
        status, _, err = ckai("games", *words)
        assert status == 0, err
    assert plain("a.pdn") == plain("c.pdn") == plain("club.pdn")[:4]
    assert plain("e.pdn") == plain("club.pdn")[:2] * 2
    assert read_rows("b.parquet").board.tolist() == read_rows("club.parquet").board.tolist()
    assert sorted(set(read_rows("d.parquet").game.tolist())) == [0, 1, 2, 3]
    assert ckai("games", "club.parquet", "--event", "cup", "-o", "club.parquet", "--force")[0] == 0
    assert len(ckai("games", "club.parquet")[1].splitlines()) == 1 + 2


def test_statistics_are_of_the_games_found(here, found):
    for file in ("club.pdn", "club.parquet"):
        told = found(file, "--player", "lafferty", "--stats")
        assert (told["games"], told["plies"], told["files"]) == (2, 11, [file])


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["none.pdn"], 1, "none.pdn: no such file"),
        (["none.parquet"], 1, "none.parquet: expected a data set, found no such file"),
        (["club.pdn", "--position", "W:W1"], 1, "expected"),
        (["club.pdn", "-o", "a.txt"], 2, "expected a name that ends in .pdn or .parquet"),
        (["club.pdn", "-o", "club.parquet"], 1, "club.parquet exists: give --force to replace it"),
        (
            ["club.pdn", "--event", "x", "-o", "a.pdn"],
            1,
            "expected games that have all this, found none among 5",
        ),
        (["club.pdn", "--event", "x", "--stats"], 1, "expected games that have all this, found none among 5"),
        (["club.pdn", "--opening", "sooter", "--stats"], 1, "found none among 5; did you mean Souter"),
        (["odd.parquet"], 1, "odd.parquet: expected actions below 128 in label, found others"),
    ],
)
def test_what_is_wrong_is_one_line(here, ckai, words, status, message):
    Path("empty.pdn").write_text("no games")
    make_rows.write("odd.parquet", [row | {"label": 200} for row in make_rows.random_games(1)])
    before = {*Path().iterdir()}
    code, out, err = ckai("games", *words)
    assert (code, out) == (status, "")
    assert message in err.splitlines()[-1]
    assert {*Path().iterdir()} == before
