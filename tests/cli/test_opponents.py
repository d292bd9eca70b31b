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
from click.testing import CliRunner
from terminal_game import FirstMove, only_game, table

from ckai.cli import play
from ckai.cli.terminal.screen import FlagFallError, Screen, make_console, wait_for
from ckai.rl.engine.limit import Clock, Limit
from ckai.rl.games.registry import get_game

RUN = "import sys; from ckai.cli.main import main; sys.argv = ['ckai', *sys.argv[1:]]; main()"
SAVED = "games/game-001.pdn"
HUB = f"hub:{sys.executable} {Path(__file__).parents[1] / 'support' / 'hub_program.py'}"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(words, lines):
    return CliRunner().invoke(play.command, words, input=lines)


# --- players ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["random", "alphabeta@3", "rollout@20", "uniform@20", "uniform@10ms", HUB])
def test_every_player_of_matches_plays_checkers(spec):
    result = invoke(["--engine", spec], "11-15\nmoves\nundo\n9-13\ngo\n")
    assert result.exit_code == 0, result.output
    game = only_game(SAVED)
    assert (len(game.moves), str(game.moves[0].move)) == (4, "9-13")
    assert game.header("White").startswith(spec[:4])


@pytest.mark.parametrize(
    ("name", "spec", "move"),
    [
        pytest.param("tictactoe", "perfect", "5", marks=pytest.mark.slow),
        pytest.param("tictactoe", "rollout@30", "1", marks=pytest.mark.slow),
        pytest.param("tictactoe", "random", "7", marks=pytest.mark.slow),
        pytest.param("connect4", "rollout@30", "4", marks=pytest.mark.slow),
        pytest.param("connect4", "uniform@20s+0.01s", "1", marks=pytest.mark.slow),
    ],
)
def test_the_other_games_are_played_shown_and_gone_on_with(name, spec, move):
    words = ["--game", name, "--engine", spec]
    result = invoke([*words, "--show"], f"{move}\nhint\nexplain\nfen\n99\n")
    assert result.exit_code == 0, result.output
    assert "would play" in result.output
    assert "expected score" in result.output or "forced" in result.output
    assert "expected one of the moves" in result.output
    again = invoke([*words, "--load", SAVED], "board\n")
    assert again.exit_code == 0, again.output
    assert len(get_game(name).read_game(Path(SAVED), 1)[0].moves) == 2


def test_a_game_of_tic_tac_toe_is_played_to_its_end():
    result = invoke(["--game", "tictactoe", "--side", "both"], "1\n4\n2\n5\n3\nnew\n5\n")
    assert "X won: a line of stones (1-0)" in result.output
    assert "You" not in result.output
    assert sorted(path.name for path in Path("games").iterdir()) == ["game-001.pdn", "game-002.pdn"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--fen", "W:W1:B2", "--opening", "Cross"], 2, "--fen and --opening both say where the game begins"),
        (["--clock", "5x"], 1, "expected a time control such as 5m+3s"),
        (["--engine", "uniform@5m", "--clock", "5m"], 2, "both say how long a move takes; give one"),
        (
            ["--engine", "alphabeta@3", "--game", "connect4"],
            1,
            "expected an engine of connect4, found one of checkers",
        ),
        (["--engine", "perfect"], 1, "expected a game that can be solved, found checkers"),
        (["--opening", "nonsense"], 1, "expected the name of an opening, ballot"),
        (["--load", "x.pdn"], 1, "expected a file of games, found no such file"),
        (["--load", "club.pdn:2"], 1, "expected game 1 to 1, found 2"),
    ],
)
def test_what_cannot_be_begun(words, code, text):
    Path("club.pdn").write_text(FINISHED)
    words = words if "--engine" in words or code == 2 else ["--engine", "uniform", *words]
    result = invoke(words, "")
    assert result.exit_code == code
    assert text in result.output + str(result.exception)


@pytest.mark.parametrize("text", ["", "resign\nyes\n"])
def test_a_game_without_a_move_leaves_no_file(text):
    assert invoke(["--side", "both"], text).exit_code == 0
    assert not Path("games").exists()


def test_openings_and_positions_begin_a_game():
    words = ["--side", "both", "--engine", "random", "--opening", "ballot:3"]
    result = invoke(words, "go\nhint\nmoves\n22-17\n")
    assert result.exit_code == 0
    result = invoke(["--side", "both", "--opening", "old fourteenth"], "17-13\n")
    moves = " ".join(str(each.move) for each in only_game("games/game-002.pdn").moves)
    assert moves == "11-15 23-19 8-11 22-17 4-8 17-13"
    result = invoke(["--side", "both", "--fen", "B:W31:B2"], "fen\n")
    assert "B:W31:B2\n" in result.output


# --- games of files ---------------------------------------------------------------------------------------

FINISHED = """[Event "Club \x1b[31mred\x07"]
[Black "A. One"]
[White "B. Two"]
[Result "1-0"]

1. 11-15 {an old friend} 22-18 2. 15x22 25x18 3. 8-11 29-25 1-0
"""


def loaded(lines, text=FINISHED, where="", side="both"):
    """What is shown of a game of a file, and the moves of the game that was saved."""
    Path("club.pdn").write_text(text)
    shown = invoke(["--load", f"club.pdn{where}", "--side", side, "--engine", "random"], lines)
    assert shown.exit_code == 0, shown.exception
    files = [path for path in Path().rglob("*.pdn") if path.name != "club.pdn"]
    return shown.output, [str(each.move) for each in only_game(files[0]).moves] if files else []


def test_a_finished_game_is_gone_on_with_in_another_file():
    _, moves = loaded("9-13\n", where=":1")
    assert moves == ["11-15", "22-18", "15x22", "25x18", "8-11", "29-25", "9-13"]
    assert Path("club.pdn").read_text() == FINISHED
    assert "the game can be read up to ply 2" in loaded("", "1. 11-15 22-18 2. 8-11 *\n")[0]


def test_a_saved_game_goes_on_in_its_file():
    invoke(["--engine", "random", "--seed", "1"], "11-15\n")
    other = Path("games/other.pdn")
    other.write_text("1. 9-13 *\n")
    invoke(["--engine", "uniform@5", "--load", "games/game-001.pdn"], "9-13\n8-11\n9-14\n10-15\n")
    game = only_game("games/game-001.pdn")
    assert (len(game.moves) >= 4, game.header("White")) == (True, "uniform@5")
    assert len(list(Path("games").iterdir())) == 2


@pytest.mark.parametrize(
    "text",
    [
        '[Black "human"]\n[White "somebody"]\n\n1. 11-15 22-18 *\n',
        '[Event "ckai play"]\n[Black "human"]\n[White "ckai"]\n\n1. 11-15 {a note} 22-18 *\n',
    ],
)
def test_a_game_that_this_program_did_not_write_like_this_goes_on_in_a_new_file(text):
    shown, moves = loaded("15x22\n", text, side="black")
    assert Path("club.pdn").read_text() == text
    assert ("continues in a new file" in shown) == ("a note" in text)
    assert len(moves) == 4


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


def timed(lines, now, **settings):
    """A game with a clock of a minute, which runs by `now`."""
    script, shown = table(lines, extra={"control": Limit(clock=60)}, **settings)
    script.clocks = {side: Clock(Limit(clock=60), now) for side in script.clocks}
    return script, shown


class Slow(FirstMove):
    """Takes longer than a minute."""

    def __init__(self, now):
        super().__init__()
        self.now = now

    def _search(self, task, *more):
        self.now.now += 61
        return super()._search(task, *more)


def test_a_side_whose_time_is_up_loses():
    now = Seconds()
    script, shown = timed("11-15\n", now, engine=Slow(now))
    script.play()
    assert "Black won: White is out of time (1-0)" in shown.getvalue()
    game = only_game(script.file)
    assert (game.termination_marker, game.header("TimeControl"), len(game.moves)) == ("1-0", "60s", 1)


def test_the_time_of_a_person_runs_at_the_prompt():
    ends, other = os.pipe()
    with os.fdopen(ends) as lines, os.fdopen(other, "w"):
        screen = Screen(make_console(), lines)
        if sys.platform != "win32":  # which has no such timer
            with pytest.raises(FlagFallError):  # nobody ever writes a line
                screen.ask("> ", 0.0)
    now = Seconds()
    script, shown = timed("11-15\n22-18\nundo\n", now, side="both")
    push = script.push

    def slowly(move):
        now.now += 40
        push(move)

    script.push = slowly
    script.play()
    assert len(script.game.moves) == 1
    assert "Black 0:20  White 0:20" in shown.getvalue()


@pytest.mark.parametrize("words", ["draw", "resign"])
def test_time_runs_while_a_question_waits(words):
    now = Seconds()
    script, _ = timed("", now, side="both")
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
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_game_at_a_terminal_that_is_closed(term):
    """Ctrl-C while the engine thinks lets it move; then the terminal goes away."""
    master, slave = os.openpty()
    command = [sys.executable, "-c", RUN, "play", "--engine", "uniform@500s"]
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
        wait_until(lambda: Path(SAVED).exists() and Path(SAVED).stat().st_size)  # it is made empty
        wait_until(lambda: len(only_game(SAVED).moves) == 1)
        wait_until(lambda: b"thinking" in screen or term == "dumb")

        def moved():
            process.send_signal(signal.SIGINT)  # more than a second apart: none of them leaves
            time.sleep(1.2)
            return process.poll() is not None or len(only_game(SAVED).moves) == 2

        wait_until(moved)
        process.send_signal(signal.SIGHUP)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert len(only_game(SAVED).moves) == 2
    colored = b"\x1b[48;5;" in screen
    assert colored == (term != "dumb")
