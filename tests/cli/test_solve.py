"""`ckai solve`."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from ckai.cli.main import main

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
    path.write_text('[FEN "W:WK18,K15:BK4"] win 15-11\nB:W18:B14 1-0\n')
    status, out, err = run(path, *FEW)
    assert (status, err) == (0, "")
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


def test_levels_solve_too(run, tmp_path):
    path = tmp_path / "x.fen"
    path.write_text("B:W18:B14 win 14x23\nB:W32,31:B1 loss\n")
    status, out, _ = run(path, "--engine", "random", "--tables", "none")
    assert status == 0
    assert ": 14x23\n" in out
    assert "nothing to compare with" in out  # it says no value


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["missing.pdn"], 2, "does not exist"),
        ([], 2, "Missing argument"),
        (["empty.fen"], 1, "ckai: error: empty.fen: expected problems that can be read, found none"),
        (["bad.fen"], 1, "ckai: error: bad.fen: expected problems that can be read, found none"),
        (["good.fen", "--engine", "missing.ckpt"], 1, "found no file missing.ckpt"),
        (["good.fen", "--engine", "uniform@5m"], 1, "found a clock"),
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
