"""Engines of every kind against people, Ctrl-C while they think, and clocks."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from child_process import started
from click.testing import CliRunner
from terminal_game import FirstMove, only_game, table

from ckai.cli import play
from ckai.cli.playing.engines import player_name
from ckai.cli.terminal.panel import time_text
from ckai.cli.terminal.screen import FlagFallError, Screen, make_console, wait_for
from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import get_game

RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
HUB = f"hub:{sys.executable} {Path(__file__).parents[1] / 'support' / 'hub_program.py'}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(words, lines):
    return CliRunner().invoke(play.command, words, input=lines)


# --- players ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["random", "alphabeta@3", "rollout@20", "uniform@20", "uniform@10ms", HUB])
def test_every_player_of_matches_plays_checkers(here, spec):
    words = ["--engine", spec, "--tables", "none", "--pdn", "a.pdn"]
    result = invoke(words, "11-15\nmoves\nundo\n9-13\ngo\n")
    assert result.exit_code == 0, result.output
    game = only_game("a.pdn")
    assert (len(game.moves), str(game.moves[0].move)) == (4, "9-13")
    assert game.header("White").startswith(("ckai", spec[:4]))


@pytest.mark.parametrize(
    ("name", "spec", "move"),
    [
        pytest.param("tictactoe", "perfect", "5", marks=pytest.mark.slow),
        ("tictactoe", "rollout@30", "1"),
        ("tictactoe", "random", "7"),
        pytest.param("connect4", "rollout@30", "4", marks=pytest.mark.slow),
        pytest.param("connect4", "uniform@0.2s+0.01s", "1", marks=pytest.mark.slow),
    ],
)
def test_the_other_games_are_played_shown_and_gone_on_with(here, name, spec, move):
    words = ["--game", name, "--engine", spec]
    result = invoke([*words, "--pdn", "a.pdn", "--show"], f"{move}\nhint\nexplain\nfen\n99\n")
    assert result.exit_code == 0, result.output
    assert "would play" in result.output
    assert "expected score" in result.output or "forced" in result.output
    assert "expected one of the moves" in result.output
    again = invoke([*words, "--load", "a.pdn"], "board\n")
    assert again.exit_code == 0, again.output
    assert len(get_game(name).read_game(Path("a.pdn"), 1).game.moves) == 2


def test_a_game_of_tic_tac_toe_is_played_to_its_end(here):
    result = invoke(["--game", "tictactoe", "--side", "both"], "1\n4\n2\n5\n3\nnew\n5\n")
    assert "X won: a line of stones (1-0)" in result.output
    assert "You" not in result.output
    assert sorted(path.name for path in (here / "games").iterdir()) == ["game-001.pdn", "game-002.pdn"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("random", "random"),
        ("alphabeta@6", "alphabeta@6"),
        ("alphabeta:/home/me/nets/swift.ckpt@50ms", "alphabeta:nets/swift.ckpt@50ms"),
        ("hub:/opt/engines/kingsrow --book none@1s", "hub:kingsrow@1s"),
        ("/home/me/run/best.ckpt@policy", "run/best.ckpt@policy"),
    ],
)
def test_names_of_players_have_no_folders(text, name):
    assert player_name(text) == name


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--fen", "W:W1:B2", "--opening", "Cross"], 2, "--fen and --opening both say where the game begins"),
        (["--clock", "5x"], 2, "expected a time control such as 5m+3s"),
        (["--clock", "5m", "--seconds", "5"], 2, "all say how long a move takes; give one"),
        (["--engine", "uniform@5", "--seconds", "5"], 2, "all say how long a move takes; give one"),
        (["--engine", "uniform@5m", "--clock", "5m"], 2, "all say how long a move takes; give one"),
        (["--engine", "uniform", "--seconds", "0"], 1, "expected a limit above 0"),
        (["--engine", "alphabeta", "--seconds", "1"], 1, "expected depth after alphabeta, found @1s"),
        (
            ["--engine", "alphabeta@3", "--game", "connect4"],
            1,
            "expected an engine of connect4, found one of checkers",
        ),
        (["--engine", "rollout@9", "--game", "connect4", "--tables", "4"], 2, "auto or none for connect4"),
        (["--engine", "perfect"], 1, "expected a game that can be solved, found checkers"),
        (["--engine", "."], 1, ".: expected a checkpoint, a run folder, "),
        (["--opening", "nonsense"], 1, "expected the name of an opening, ballot"),
        (["--load", "x.pdn"], 1, "expected a file of games, found no such file"),
    ],
)
def test_what_cannot_be_begun(here, words, code, text):
    words = words if "--engine" in words or code == 2 else ["--engine", "uniform", *words]
    result = invoke(words, "")
    assert result.exit_code == code
    assert text in result.output + str(result.exception)


@pytest.mark.parametrize("text", ["", "resign\nyes\n"])
def test_a_game_without_a_move_leaves_no_file(here, text):
    assert invoke(["--side", "both"], text).exit_code == 0
    assert not Path("games").exists()


def test_a_fen_in_its_tag_begins_a_game(here):
    tag = '[FEN "W:WK18,K15:BK4"]'
    assert "W:WK15,K18:BK4\n" in invoke(["--side", "both", "--fen", tag], "fen\n").output
    assert "W:WK15,K18:BK4\n" in invoke(["--side", "both"], f"setup {tag}\nfen\n").output


def test_openings_and_positions_begin_a_game(here):
    result = invoke(["--side", "both", "--opening", "ballot:3", "--pdn", "a.pdn"], "go\nhint\nmoves\n22-17\n")
    assert result.exit_code == 0
    result = invoke(["--side", "both", "--opening", "old fourteenth", "--pdn", "b.pdn"], "opening\n17-13\n")
    assert "Old Fourteenth" in result.output
    moves = " ".join(str(each.move) for each in only_game("b.pdn").moves)
    assert moves == "11-15 23-19 8-11 22-17 4-8 17-13"
    result = invoke(["--side", "both", "--fen", ".b../...." + 5 * "/...." + "/..w./black"], "fen\n")
    assert "B:W31:B2\n" in result.output


# --- Ctrl-C -----------------------------------------------------------------------------------------------


def test_ctrl_c_means_move_now():
    stopped = threading.Event()

    def work():
        assert stopped.wait(60)
        return "the best so far"

    assert wait_for(work, interrupting(stopped.set)) == "the best so far"


def test_a_second_ctrl_c_leaves():
    pressed, leave = threading.Event(), threading.Event()

    def stop():
        if not pressed.is_set():
            pressed.set()
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        wait_for(lambda: leave.wait(60), interrupting(stop))
    leave.set()


def test_an_error_of_the_search_comes_through():
    def work():
        raise RuntimeError("the network failed")

    with pytest.raises(RuntimeError, match="the network failed"):
        wait_for(work, lambda: None)


def interrupting(stop):
    """`stop`, and a Ctrl-C as soon as the search has begun."""
    threading.Timer(0.2, _thread.interrupt_main).start()
    return stop


# --- clocks -----------------------------------------------------------------------------------------------


class Seconds:
    """The time, which a test sets."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1:00"), (49.9, "0:49"), (5, "5.0"), (-1, "0.0"), (7265, "2:01:05")]
)
def test_the_time_left_as_text(seconds, text):
    assert time_text(seconds) == text


def timed(lines, path, now, **settings):
    """A game with a clock of a minute, which runs by `now`."""
    script, shown = table(lines, path, extra={"control": TimeControl(60)}, **settings)
    script.clocks = {side: Clock(TimeControl(60), now) for side in script.clocks}
    return script, shown


class Slow(FirstMove):
    """Takes longer than a minute."""

    def __init__(self, now):
        super().__init__()
        self.now = now

    def _search(self, task, *more):
        self.now.now += 61
        return super()._search(task, *more)


def test_a_side_whose_time_is_up_loses(here):
    now = Seconds()
    script, shown = timed("11-15\n", here, now, engine=Slow(now))
    script.play()
    assert "Black won: White is out of time (1-0)" in shown.getvalue()
    game = only_game(script.record.path)
    assert (game.termination_marker, game.header("TimeControl"), len(game.moves)) == ("1-0", "60s", 1)


def test_the_time_of_a_person_runs_at_the_prompt(here):
    ends, other = os.pipe()
    with os.fdopen(ends) as lines, os.fdopen(other, "w"):
        screen = Screen(make_console(), lines)
        if sys.platform != "win32":  # which has no such timer
            with pytest.raises(FlagFallError):  # nobody ever writes a line
                screen.ask("> ", 0.0)
    now = Seconds()
    script, shown = timed("11-15\n22-18\nundo\n", here, now, side="both")
    push = script.push

    def slowly(move):
        now.now += 40
        push(move)

    script.push = slowly
    script.play()
    assert len(script.game.moves) == 1
    assert script.clocks["white"].left == 60  # the time of a move taken back is given back
    assert "Black 0:20  White 0:20" in shown.getvalue()


@pytest.mark.parametrize("words", ["draw", "resign"])
def test_time_runs_while_a_question_waits(here, words):
    now = Seconds()
    script, _ = timed("", here, now, side="both")
    lines, given = iter([words]), []

    def ask(prompt, seconds=None):
        given.append(seconds)
        now.now += 61
        if seconds == 0:
            raise FlagFallError
        return next(lines)

    script.screen.ask = ask
    script._turn()
    assert (given, script.game.moves) == ([60, 0], [])
    assert str(script.outcome().result) == "0-1"


def test_a_draw_that_the_engine_thinks_over_for_too_long_is_none(here):
    now = Seconds()
    script, shown = timed("draw\ny\n", here, now, engine=Slow(now))
    script.play()
    assert "White won: Black is out of time (0-1)" in shown.getvalue()


# --- a real terminal --------------------------------------------------------------------------------------

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")


def wait_until(condition):
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < 120
        time.sleep(0.05)


@pytest.mark.slow
@POSIX
@pytest.mark.programs
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_leave_keeps_the_game(here, number):
    command = [sys.executable, "-c", RUN, "play", "--side", "both", "--pdn", "a.pdn"]
    with started(command, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"11-15\n")
        process.stdin.flush()
        wait_until((here / "a.pdn").exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    assert len(only_game("a.pdn").moves) == 1


@pytest.mark.slow
@POSIX
@pytest.mark.programs
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_game_at_a_terminal_that_is_closed(here, term):
    """Ctrl-C while the engine thinks lets it move; then the terminal goes away."""
    master, slave = os.openpty()
    command = [sys.executable, "-c", RUN, "play", "--engine", "uniform@500s", "--pdn", "a.pdn"]
    environment = {**os.environ, "TERM": term, "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
    )
    os.close(slave)
    screen = bytearray()

    def read():
        try:
            while data := os.read(master, 4096):
                screen.extend(data)
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()
    try:
        wait_until(lambda: b"Black: " in screen)
        os.write(master, b"1115\n")
        wait_until(lambda: (here / "a.pdn").exists() and len(only_game("a.pdn").moves) == 1)
        wait_until(lambda: b"thinking" in screen or term == "dumb")

        def moved():
            process.send_signal(signal.SIGINT)  # more than a second apart: none of them leaves
            time.sleep(1.2)
            return process.poll() is not None or len(only_game("a.pdn").moves) == 2

        wait_until(moved)
        process.send_signal(signal.SIGHUP)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert len(only_game("a.pdn").moves) == 2
    colored = b"\x1b[48;5;" in screen or b"42m" in screen
    assert colored == (term != "dumb")


@pytest.mark.programs
@pytest.mark.parametrize(
    "fault",
    ["print(f'error message=\"bad {evil} file\"', flush=True)", "sys.exit(f'bad {evil} file')"],
)
def test_the_terminal_obeys_no_program(tmp_path, ckai, fault):
    script = tmp_path / "engine.py"
    script.write_text(
        "import sys\n"
        "evil = '\\x1b[31m\\x9b31m\\x9d0;t\\x07'\n"
        "for line in sys.stdin:\n"
        "    if line == 'hub\\n': print('wait', flush=True)\n"
        f"    if line == 'init\\n': {fault}\n"
    )
    status, out, err = ckai("match", f"hub:{sys.executable} -X utf8 {script}", "random", "--games", "2")
    assert status == 1
    assert "?31m?0;t? file" in err
    assert not set(out + err) & {"\x1b", "\x9b", "\x9d", "\x07"}
