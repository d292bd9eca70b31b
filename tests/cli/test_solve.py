"""`ckai solve`."""

import io
import json
import re
import shlex
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from ckai.cli.main import main
from ckai.pdn import read_games
from ckai.rl.analysis import mistakes

PAGE = Path(__file__).parents[2] / "docs" / "analyse.md"
FEW = ["--engine", "uniform@500", "--tables", "3"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs `ckai solve` with some words: exit status, standard output and error."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["ckai", "solve", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return call


def endings():
    """The example of the page."""
    (block,) = re.findall(r"^    # FEN .*\n(?:    .+\n)+", PAGE.read_text(), re.M)
    return re.sub("^    ", "", block, flags=re.M)


def test_the_page_is_right(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("endings.fen").write_text(endings())
    shown = re.search(r"^    \$ ckai solve (.*)\n((?:    .*\n)+)", PAGE.read_text(), re.M)
    status, out, _ = run(*shlex.split(shown[1]))
    timeless = re.compile(r"\d+\.\d\d s|18-\d\d")  # the time, and one of the moves that draw
    assert timeless.sub("", out) == timeless.sub("", re.sub("^    ", "", shown[2], flags=re.M))
    assert status == 1  # one is refuted


def test_all_solved(run, tmp_path):
    path = tmp_path / "x.fen"
    path.write_text("W:WK18,K15:BK4 win 15-11\nB:W18:B14 1-0\n")
    status, out, err = run(path, *FEW)
    assert (status, "warning" in err) == (0, False)
    assert "solved 2 of 2 problems" in out


def test_json(run, tmp_path):
    path = tmp_path / "x.fen"
    path.write_text("W:WK18,K15:BK4 draw ; wrong\nB:W18:B14 loss\nnonsense\nB:W18:B14\n")
    status, out, err = run(path, *FEW, "--json")
    assert status == 1
    assert len(err.splitlines()) == 1
    found = json.loads(out)
    assert (found["solved"], found["checked"], found["refuted"], len(found["errors"])) == (0, 0, 2, 1)
    first, _, third = found["problems"]
    assert first["refuted"] == {"ply": 0, "stated": "draw", "tables": "win"}
    assert (first["name"], first["move"], first["line"]) == ("wrong", "15-11", ["15-11", "4-8", "11x4"])
    assert (third["solved"], third["refuted"], third["proven"], third["plies"]) == (None, None, "win", 1)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["missing.pdn"], 1, "missing.pdn: no such file"),
        (
            [],
            1,
            "mistakes.pdn: expected mistakes to learn from, found no such file; `ckai analyze` writes it",
        ),
        (["--json"], 2, "--json needs FILES"),
        (["empty.fen"], 1, "ckai: error: empty.fen: expected problems that can be read, found none"),
        (["bad.fen"], 1, "ckai: error: bad.fen: expected problems that can be read, found none"),
        (["good.fen", "--engine", "missing.ckpt"], 1, "found no file missing.ckpt"),
        (["good.fen", "--engine", "uniform@5m"], 1, "found @5m"),
        (["good.fen", "--engine", "random@5s"], 1, "random@5s"),
        (["good.fen", "--engine", "uniform@0s"], 1, "uniform@0s"),
    ],
)
def test_what_is_wrong_is_said(run, tmp_path, monkeypatch, words, status, message):
    monkeypatch.chdir(tmp_path)
    Path("empty.fen").write_text("# nothing\n")
    Path("bad.fen").write_text("B:W18\n")
    Path("good.fen").write_text("B:W18:B14\n")
    found, out, err = run(*words, "--tables", "none")
    assert (found, out) == (status, "")
    assert message in err


# --- mistakes ---------------------------------------------------------------------------------------------

MINE = """[Event "a"]
[Black "Ann"]
[White "human"]
[FEN "W:W14,32:B6,1"]
1. ... 14-10 1-0

[Event "b"]
[Black "human"]
[White "Ann"]
[FEN "B:W27,32:B1,19"]
1. 19-23 *
"""


def tags(name):
    return [game.header(name) for game in read_games("mistakes.pdn")]


def day(days):
    return (date.today() + timedelta(days=days)).strftime("%Y.%m.%d")


def test_mistakes_of_analysed_games_are_asked_for_until_they_are_known(run, ckai, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.pdn").write_text(MINE)
    analyze = ("analyze", "mine.pdn", "--engine", "uniform", "--visits", 100, "--force")
    out = ckai(*analyze, "--learn", "nobody")[1]
    assert ("to learn from" in out, Path("mistakes.pdn").exists()) == (False, False)
    assert "2 new mistakes to learn from: ckai solve" in ckai(*analyze)[1]
    assert json.loads(ckai(*analyze, "--json")[1])["mistakes"] == 0  # it has them already
    assert (tags("Due"), tags("Days")) == ([day(0)] * 2, ["0"] * 2)
    assert tags("Event")[0] == "Ann - human, 1... 14-10"
    best = [str(game.moves[0].move) for game in read_games("mistakes.pdn")]

    def answers(*lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
        status, out, err = run("--engine", "uniform@100")
        assert status == 0, err
        return " ".join(out.split())

    assert "2 still due" in answers("quit")
    out = answers("14-10", "9-9", best[0], "quit")
    assert "14-10 was a blunder. Find a better move" in out
    assert "No: 14-10 is answered by 6x15" in out
    assert "'9-9' is illegal" in out
    assert f"Right. Better was {best[0]}" in out
    assert "0 of 1 right at once; 1 still due" in out
    assert (tags("Due"), tags("Days")) == ([day(1), day(0)], ["1", "0"])
    assert f"1 of 1 right at once; the next of 2 is due on {day(1)}" in answers(best[1])
    assert f"the next of 2 is due on {day(1)}" in answers()
    for before, after in ((1, 2), (2, 5), (5, 12)):  # a few days later
        text = Path("mistakes.pdn").read_text()
        text = re.sub(r'(?<=Due ")[^"]*', "2026.01.01", re.sub(r'(?<=Days ")[^"]*', str(before), text))
        Path("mistakes.pdn").write_text(text)
        answers(*best)
        assert tags("Days") == [str(after)] * 2
    out = answers("show")
    assert "the next of 2" in out


def test_other_games_in_the_file_of_mistakes_are_not_lost(run, ckai, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.pdn").write_text(MINE)
    for text, found in (
        ("1. 11-15 {mine} *\n", "another game in line 1; move it"),
        ("notes", "none; remove it"),
    ):
        Path("mistakes.pdn").write_text(text)
        for status, _, err in (run(), ckai("analyze", "mine.pdn", "--engine", "uniform", "--visits", 20)):
            assert status == 1
            assert f"mistakes.pdn: expected mistakes that `ckai analyze` kept, found {found}" in err
        assert Path("mistakes.pdn").read_text() == text


def test_mistakes_that_come_while_one_is_asked_for_stay(tmp_path):
    path = tmp_path / "mistakes.pdn"
    first, second = (f'[FEN "B:W{n}:B1"]\n[Due "{day(0)}"]\n\n1. 1-5 (1. 1-6 $4) *\n' for n in (31, 32))
    path.write_text(first)
    (asked,) = mistakes.load(path)
    path.write_text(first + second)
    mistakes.answer(asked, True, path)
    assert [game.header("Due") for game in mistakes.load(path)] == [day(1), day(0)]
