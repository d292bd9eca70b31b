"""Games in the terminal, through a pipe and on a console, with a real and a scripted engine."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from child_process import started
from click.testing import CliRunner
from terminal_game import FirstMove, only_game, table

from ckai.cli import parse, play
from ckai.cli.playing.sides import choose_move
from ckai.cli.shared.found import newest_network
from ckai.cli.terminal.game import COMMANDS
from ckai.game import Game, Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build
from ckai.models.pretrained import CKAI
from ckai.rl.engine import loading
from ckai.rl.engine.base import Stop

RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- a game --------------------------------------------------------------------------------------------


def test_the_end_of_input_leaves_the_game_in_its_file():
    script, shown = table("10 17\n", fen="B:W14,32:B10,1")
    assert script.play() is None
    game = only_game(Path("games/game-001.pdn"))
    assert [str(m.move) for m in game.moves] == ["10x17", "32-27"]
    assert game.start == Position.from_fen("B:W14,32:B10,1")
    assert game.result == "*"
    assert "end of input" in shown.getvalue()


def test_the_end_of_the_game_is_announced_with_its_reason():
    script, shown = table("10x17\n", fen="B:W14:B10")
    assert script.play().winner == "black"
    assert "Black won: White has no pieces left (1-0)" in shown.getvalue()
    assert only_game(script.file).termination_marker == "1-0"


def test_the_engine_says_its_value_and_its_top_five():
    script, shown = table("11-15\n", engine=FirstMove(0.123), extra={"show": True})
    script.play()
    text = shown.getvalue()
    assert "ckai test plays 21-17" in text
    assert "expected score of Black: 44%" in text
    assert "100 visits" in text
    rows = [line.split() for line in text.splitlines() if line.count("%") and ":" not in line]
    assert rows[0] == ["21-17", "14.3%", "60"]
    assert len(rows) == 5


def test_the_engine_begins_where_people_play_white():
    script, shown = table("", side="white")
    script.play()
    assert "ckai test plays 9-13" in shown.getvalue()
    assert only_game(script.file).header("Black") == "ckai test"
    assert only_game(script.file).header("White") == "human"


def test_saved_games_are_listed_as_they_are_loaded():
    assert "no games in games/ yet" in invoke(["--list"], "").output
    Path("games").mkdir()
    tags = '[Date "2026.05.01"]\n[Black "human"]\n[White "[red]l 7\x1b[2J"]\n[Result "1-0"]\n\n'
    first = tags + "1. 11-16 22-18 1-0\n\n"
    Path("games/game-001.pdn").write_text(first + first.replace("11-16", "9-13"))
    text = invoke(["--list"], "").output
    lines = [line.split() for line in text.splitlines()]
    assert lines[1][:3] == ["games/game-001.pdn", "2026.05.01", "human"]
    assert lines[2][0] == "games/game-001.pdn:2"
    assert lines[1][-3:] == ["1-0", "2", "Bristol"]
    assert lines[2][-4:] == ["1-0", "2", "Edinburgh", "Single"]
    assert "[red]l" in text
    assert "\x1b" not in text


def test_a_game_against_a_level_continues_against_it():
    Path("game.pdn").write_text('[Black "human"]\n[White "level:2"]\n[Result "*"]\n\n1. 11-15 22-18 *\n')
    assert "You play Black against level:2" in invoke(["--load", "game.pdn"], "quit\n").output


def first_moves(engine, seed, times=6):
    """The moves that an engine plays in the initial position."""
    chance = random.Random(seed)
    return [str(choose_move(engine, Game(), None, chance, Stop()).move) for _ in range(times)]


def test_openings_vary_with_the_seed_and_are_the_same_with_it():
    assert first_moves(Varied(), 1) == first_moves(Varied(), 1)
    assert len({tuple(first_moves(Varied(), seed)) for seed in range(5)}) > 1
    game = Game()
    for move in ("11-15", "23-19", "8-11", "22-17", "4-8", "17-13", "15-18", "24-20"):
        game.push(move)
    later = {choose_move(Varied(), game, None, random.Random(1), Stop()).move for _ in range(6)}
    assert later == {game.position.legal_moves()[0]}


class Varied(FirstMove):
    """An engine whose moves are all searched alike."""

    def _search(self, task):
        result = super()._search(task)
        return replace(result, lines=[replace(line, visits=10) for line in result.lines])


# --- commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "agreed"), [(0.0, True), (0.3, True), (-0.1, False)])
def test_the_engine_takes_a_draw_unless_it_is_better(value, agreed):
    script, shown = table("draw\nyes\n", engine=FirstMove(value))  # value: for Black, who offers
    script.play()
    assert ("drawn: agreed (1/2-1/2)" in shown.getvalue()) == agreed
    assert ("the engine declines the draw" in shown.getvalue()) != agreed


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("first", ["", "11-15\n"])
def test_no_command_ends_the_program_without_a_network(command, first):
    """Two people play, and there is no network, or one that fails."""

    def load():
        raise ValueError("no network")

    class Failing(FirstMove):
        def _search(self, task, *more):
            raise RuntimeError("the network failed")

    for loads in (load, Failing):
        script, shown = table(f"{first}{command}\nfen\n", side="both")
        script.opponent = script.analyst = loads
        script.play()
        assert ("end of input" in shown.getvalue()) == (command != "quit")
        if command in ("go", "hint"):
            assert re.search("no network|the network failed", shown.getvalue())


def test_a_disk_that_is_full_does_not_end_the_game(monkeypatch):
    script, shown = table("11-15\n8-11\n")

    def full(*of):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ckai.cli.terminal.game.write_whole", full)
    script.play()
    assert "the game could not be saved: No space left on device" in shown.getvalue()
    assert len(script.game.moves) == 4


# --- screens -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [32, 36, 50, 80, 120])
@pytest.mark.parametrize("colors", [{}, {"force_terminal": True, "color_system": "256"}])
def test_no_line_is_wider_than_the_screen(width, colors):
    script, shown = table("11-15\nhint\nmoves\nhelp\nmvoes\n9-13\n", width=width, **colors)
    script.play()
    for line in map(_without_escapes, shown.getvalue().splitlines()):
        assert len(line) <= width or "game-001.pdn" in line or "thinking" in line, line


def _without_escapes(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


# --- networks ------------------------------------------------------------------------------------------


def test_the_newest_network_is_taken():
    assert newest_network() == CKAI  # the installed one
    with pytest.raises(ValueError, match=r"pretrained.ckpt or runs/\*/best.ckpt.*ckai pretrain"):
        newest_network("connect4")
    paths = [Path(name) for name in ("pretrained.ckpt", "runs/run-001/best.ckpt", "runs/b/best.ckpt")]
    for age, path in zip((30, 10, 20), paths, strict=True):
        save_network(path)
        os.utime(path, (1e9 - age, 1e9 - age))
    assert newest_network() == str(paths[1])
    os.utime(paths[0])
    assert newest_network() == str(paths[0])


def save_network(path, game="checkers"):
    path.parent.mkdir(parents=True, exist_ok=True)
    encoding = {"checkers": {}, "connect4": {"encoding": "connect4"}}[game]
    save_checkpoint(path, build("mlp", {"hidden": 4, **encoding}))


# --- the command ---------------------------------------------------------------------------------------


def invoke(words, lines):
    return CliRunner().invoke(play.command, words, input=lines)


def test_the_newest_network_plays_when_none_is_named(monkeypatch):
    loaded = []
    monkeypatch.setattr(loading, "load_engine", lambda source, *_: loaded.append(str(source)) or FirstMove())
    save_network(Path("pretrained.ckpt"))
    save_network(Path("runs/run-001/best.ckpt"), "connect4")
    os.utime("pretrained.ckpt", (1e9, 1e9))
    result = invoke([], "11-15\nquit\n")
    assert "the newest network here is pretrained.ckpt\n" in result.stderr
    assert result.exit_code == 0, result.output
    assert loaded == ["pretrained.ckpt"]
    assert only_game("games/game-001.pdn").header("White") == "pretrained.ckpt"


def test_no_network_is_one_clear_error():
    error = invoke(["--game", "connect4"], "").exception
    assert "plays connect4, found none; run `ckai pretrain`" in str(error)
    missing = invoke(["--engine", "x.ckpt"], "").exception
    assert isinstance(missing, ValueError)
    assert "found no file x.ckpt" in str(missing)


@pytest.mark.programs
@pytest.mark.slow
def test_a_game_through_a_pipe_is_parsed_back_to_the_same_game():
    words = ["play", "--engine", "uniform@20", "--seed", "1"]
    lines = "11-15\n\xff\nmoves\ngo\ngo\n".encode("latin-1")
    done = subprocess.run([sys.executable, "-c", RUN, *words], input=lines, capture_output=True, timeout=240)
    said = done.stderr.replace(b"compiling for this machine (only the first time) ...\n", b"")
    assert (done.returncode, said) == (0, b"")
    assert b"\x1b" not in done.stdout
    game = only_game("games/game-001.pdn")
    assert len(game.moves) == 6
    parsed = CliRunner().invoke(parse.command, ["games/game-001.pdn", "--json"])
    assert parsed.exit_code == 0, parsed.output
    tally = json.loads(parsed.stdout)
    assert (tally["games_kept"], tally["plies"]) == (1, 6)
    assert str(game.moves[0].move) == "11-15"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_saves_and_is_130():
    command = [sys.executable, "-c", RUN, "play", "--side", "both"]
    with started(command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        process.stdin.write(b"11-15\n")
        process.stdin.flush()
        begun = time.monotonic()
        while not Path("games/game-001.pdn").exists():
            assert time.monotonic() - begun < 60
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == "ckai: stopped"  # after a line on compiling, the first time
    assert b"saved in games/game-001.pdn" in out
    assert [str(m.move) for m in only_game("games/game-001.pdn").moves] == ["11-15"]
