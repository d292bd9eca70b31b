"""`ckai parse` as a command: their text, JSON, warnings and errors."""

import json
import zipfile

import pytest
from click.testing import CliRunner

from ckai.cli.parse import command

GAME = '[Event "one"]\n1. 11-15 *\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parse(*words):
    result = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def errors_of(ckai):
    """Standard error of a command that fails."""

    def run(*words):
        status, out, errors = ckai(*words)
        assert (status, out) == (1, "")
        return errors

    return run


def test_one_is_singular(here):
    (here / "a.pdn").write_text(GAME)
    lines = parse("a.pdn").stdout.splitlines()
    assert lines[0] == "1 game read: 1 kept, 0 truncated, 0 rejected"
    assert lines[1].startswith("1 ply, 1 row in data/a.parquet (")
    assert len(lines) == 2


def test_errors_are_one_line_that_says_what_to_do(here, errors_of):
    (here / "a.pdn").write_text("1. 1-32 *")
    (here / "b.pdn").write_text(GAME)
    for words, message in (
        (["nowhere.pdn"], "nowhere.pdn: no such file; check the path"),
        (["."], ".: expected a PDN file, found a folder: name the files in it"),
        (
            ["b.pdn", "-o", "foo.csv"],
            "foo.csv: expected a name that ends in .parquet: rows are written as Parquet",
        ),
    ):
        # The first time there is a line on compiling before it.
        assert errors_of("parse", *words).splitlines()[-1] == f"ckai: error: {message}"
    assert "ckai: error: a.pdn:1: game 1: ply 0: '1-32' is illegal here" in errors_of("parse", "a.pdn")


def test_an_existing_output_is_replaced_only_with_force(here, errors_of):
    (here / "a.pdn").write_text(GAME)
    parse("a.pdn")
    before = (here / "data" / "a.parquet").read_bytes()
    (here / "a.pdn").write_text(GAME * 2)
    assert errors_of("parse", "a.pdn") == (
        "ckai: error: data/a.parquet exists: give --force to replace it, or another -o\n"
    )
    assert (here / "data" / "a.parquet").read_bytes() == before
    assert json.loads(parse("a.pdn", "--force", "--json").stdout)["games_kept"] == 2


def test_what_strangers_wrote_obeys_no_terminal(here, ckai):
    name = "a\x1b]0;title\x07\x9b31m.pdn"
    status, out, err = ckai("parse", name)
    assert (status, out, set(err) & {"\x1b", "\x9b", "\x07"}) == (1, "", set())
    assert "a?]0;title??31m.pdn: no such file" in err
    with zipfile.ZipFile(here / "a.zip", "w") as archive:
        archive.writestr(name, "1. 31-15 \x9b *")
    assert not set(ckai("parse", "a.zip")[2]) & {"\x1b", "\x9b", "\x07"}
    assert not set(ckai("\x9bword")[2]) & {"\x9b"}
