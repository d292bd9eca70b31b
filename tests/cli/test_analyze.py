"""`ckai analyze` as a command: what it writes, prints, refuses and goes on with."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ckai.pdn import read_games

RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
LOSES = '[FEN "W:W12,22,27:B1,14"]\n1. ... 22-18 2. 14x23x32 1-0\n'
HOSTILE = (
    '[Event "</script><script>alert(1)</script>"]\n[Black "<img src=x onerror=alert(2)>"]\n'
    '[White "Ann \x1b[31m & \\"Co\\""]\n' + LOSES.replace("22-18", "22-18 {<b>bold</b> $(x)}")
)
BROKEN = '[Event "broken"]\n1. 11-15 22-18 2. 8-11 *\n\n[Event "no draughts"]\n[GameType "1"]\n1. e4 *\n'
QUICK = ("--engine", "uniform", "--visits", "30", "--tables", "3")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def games_of(path):
    return list(read_games(path))


def test_games_are_written_with_marks_comments_and_lines(here, ckai):
    Path("mine.pdn").write_text('[Black "Ann"]\n[White "Bob"]\n' + LOSES)
    code, out, err = ckai("analyze", "mine.pdn", *QUICK)
    assert code == 0, err
    lines = out.splitlines()
    assert re.match(r"player +games +accuracy +\?! +\? +\?\?", lines[0])
    assert [line.split()[0] for line in lines[1:3]] == ["Ann", "Bob"]
    assert lines[3].startswith("1 game analysed: 2 plies, 1 blunder, 0 mistakes, 0 inaccuracies")
    assert lines[-1] == "games with comments, marks and lines: mine-analysis.pdn"
    (game,) = games_of("mine-analysis.pdn")
    assert game.problem is None
    assert game.header("Annotator") == "ckai uniform, 30 visits"
    assert game.moves[0].nags == [4]
    assert "Blunder, costs" in game.moves[0].comments[0]
    assert game.moves[0].variations[0].moves
    assert not Path("mine-analysis.pdn.work").exists()


def test_json_has_every_move_and_nothing_else(here, ckai):
    Path("mine.pdn").write_text(LOSES + "\n" + BROKEN)
    code, out, err = ckai("analyze", "mine.pdn", *QUICK, "-o", "out.pdn", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert (result["games_read"], result["games_analyzed"]) == (3, 2)
    assert (result["games_truncated"], result["games_rejected"]) == (1, 1)
    assert result["grades"]["blunder"] == 1
    assert [game["opening"] for game in result["games"]] == [None, "Single Corner"]
    first = result["games"][0]["moves"][0]
    assert (first["move"], first["grade"]) == ("22-18", "blunder")
    assert first["cost"] == pytest.approx(first["points"] - first["played"], abs=1e-3)
    assert [each["game"] for each in result["refused"]] == [2, 3]
    assert len(games_of("out.pdn")) == 2


def test_games_that_cannot_be_read_are_named(here, ckai):
    Path("mine.pdn").write_text(LOSES + "\n" + BROKEN)
    _, _, err = ckai("analyze", "mine.pdn", *QUICK)
    warnings = [line for line in err.splitlines() if line.startswith("ckai: warning")]
    assert len(warnings) == 2
    assert "game 2: ply 2: '8-11' is illegal here (legal: 15x22)" in warnings[0]
    assert "found '1' (Chinese chess)" in warnings[1]
    assert "1 analysed up to the error, 1 left out" in err


class Page(HTMLParser):
    """The tags of a page, the text of its data, and its names."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.data = [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = dict(attributes).get("id", "") if tag == "script" else ""

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text


def test_the_page_is_whole_and_harmless(here, ckai):
    Path("mine.pdn").write_text(HOSTILE)
    code, out, err = ckai("analyze", "mine.pdn", *QUICK, "--html", "page.html")
    assert code == 0, err
    assert "\x1b" not in out + err
    text = Path("page.html").read_text()
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == 2
    assert "img" not in names
    assert "&lt;img src=x onerror=alert(2)&gt;" in text
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith("#"), attributes
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", text)
    data = json.loads(page.data)
    (game,) = data["games"]
    assert len(game["positions"]) == 3
    assert set(map(len, game["positions"])) == {32}
    assert game["lines"]["1"]
    assert "<b>bold</b> $(x)" in game["texts"][1]
    sections = [attributes for tag, attributes in page.tags if attributes.get("class") == "game"]
    assert [each["id"] for each in sections] == ["game-0"]


def test_nothing_is_replaced_unasked(here, ckai):
    Path("mine.pdn").write_text(LOSES)
    Path("page.html").write_text("<p>my page</p>")
    for words, name in ((("-o", "mine.pdn"), "mine.pdn"), (("--html", "page.html"), "page.html")):
        code, out, err = ckai("analyze", "mine.pdn", *QUICK, *words)
        assert (code, out) == (1, "")
        assert f"{name} exists: give --force to replace it" in err
    assert Path("page.html").read_text() == "<p>my page</p>"
    code, _, err = ckai("analyze", "mine.pdn", *QUICK, "-o", "same.pdn", "--html", "./same.pdn")
    assert (code, "expected another file than --output" in err) == (2, True)
    assert ckai("analyze", "mine.pdn", *QUICK, "--html", "page.html", "--force")[0] == 0


def test_errors_are_one_line(here, ckai):
    Path("empty.pdn").write_text("no games\n")
    Path("mine.pdn").write_text(LOSES)
    for words, why in (
        (("empty.pdn", *QUICK), "expected games, found none"),
        (("none.pdn", *QUICK), "none.pdn"),
        (("mine.pdn", "--engine", "none.ckpt"), "expected a checkpoint"),
    ):
        code, out, err = ckai("analyze", *words)
        assert (code, out) == (1, "")
        assert why in err
        assert err.strip().count("\n") == 0


def test_squares_from_0_are_refused_in_one_line(here, ckai):
    Path("zero.pdn").write_text(LOSES + "1. 10-14 22-18 6-10 24-19 1-0\n0-4 22-18 1/2-1/2\n" * 12)
    code, out, err = ckai("analyze", "zero.pdn", *QUICK)
    assert (code, out) == (1, "")
    assert re.fullmatch(
        r"ckai: error: zero\.pdn:\d+: game \d+: .*has a square 0: .*renumber the file.*\n", err
    )
    assert not Path("zero-analysis.pdn").exists()


def test_ctrl_c_says_how_to_go_on(here, ckai, monkeypatch):
    monkeypatch.setattr("ckai.cli.analyze.available_cores", lambda: 1)
    from ckai.rl.analysis.analyst import Analyst

    Path("mine.pdn").write_text(LOSES * 3)
    analyze, calls = Analyst.analyze, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return analyze(self, *arguments)

    monkeypatch.setattr(Analyst, "analyze", interrupted)
    code, out, err = ckai("analyze", "mine.pdn", *QUICK)
    assert (code, out) == (130, "")
    assert "2 of 3 games done and kept in mine-analysis.pdn.work: the same command continues" in err
    assert not Path("mine-analysis.pdn").exists()
    monkeypatch.undo()
    monkeypatch.chdir(here)
    code, out, _ = ckai("analyze", "mine.pdn", *QUICK)
    assert code == 0
    assert "3 games analysed, 2 of them in an earlier run" in out
