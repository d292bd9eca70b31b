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
from ckai.cli.playing.clock import GameClock
from ckai.cli.playing.engines import choose_move, player_name
from ckai.cli.terminal.screen import FlagFallError, Screen, make_console, wait_for
from ckai.rl import Engine, Limit, Stop
from ckai.rl.games.clock import TimeControl
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
    result = invoke([*words, "--pdn", "a.pdn", "--show"], f"{move}\nhint\nexplain\nfen\nundo\nredo\n99\n")
    assert result.exit_code == 0, result.output
    assert "would play" in result.output
    assert "expected score" in result.output or "forced" in result.output
    assert "expected one of the moves" in result.output
    again = invoke([*words, "--load", "a.pdn"], "back\nnext\n")
    assert again.exit_code == 0, again.output
    assert len(get_game(name).read_game(Path("a.pdn"), 1).game.moves) == 2


@pytest.mark.slow
def test_a_move_is_explained_where_the_reply_is_forced(here):
    moves = "412516647152134567546715414657772226"
    words = ["--game", "connect4", "--side", "both", "--engine", "rollout@400"]
    result = invoke(words, "\n".join([*moves, "explain 2", "moves"]))
    assert result.exit_code == 0, result.output
    assert "2 is" in result.output or "2 costs" in result.output


def test_a_file_without_games_is_named(here):
    (here / "empty.pdn").write_text("")
    result = invoke(["--load", "empty.pdn"], "")
    assert result.exit_code != 0
    assert "empty.pdn: expected games, found none" in str(result.output) + str(result.exception)


def test_a_game_of_tic_tac_toe_is_played_to_its_end(here):
    result = invoke(["--game", "tictactoe", "--side", "both"], "1\n4\n2\n5\n3\nrematch\n5\n")
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


def test_a_player_follows_what_is_taken_back():
    spec = get_game("tictactoe")
    engine = Engine.load("rollout@50", game=spec)
    game = spec.game()
    game.push(engine.play(game).move)
    game.push(game.position.legal_moves()[0])
    game.push(engine.play(game).move)
    for _ in range(3):
        game.pop()
    game.push("1")
    result = engine.play(game)
    assert result.move in game.position.legal_moves()
    assert result.visits[result.move] == max(result.visits.values())
    assert result.value.turn == "white"
    engine.close()


def test_perfect_play_never_loses_however_one_plays():
    spec = get_game("tictactoe")
    engine = Engine.load("perfect", game=spec, seed=3)
    for start in range(9):
        game = spec.game()
        game.push(str(start + 1))
        while game.outcome() is None:
            game.push(engine.play(game).move if not game.position.black else game.position.legal_moves()[0])
        assert game.outcome().winner != "black"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--fen", "W:W1:B2", "--opening", "Cross"], 2, "--fen and --opening both say where the game begins"),
        (["--view"], 2, "--view needs --load"),
        (["--clock", "5x"], 2, "expected a time control such as 5m+3s"),
        (["--clock", "5m", "--sims", "5"], 2, "leave out --sims and --seconds"),
        (["--engine", "uniform@5", "--sims", "5"], 2, "--engine uniform@5 has a limit"),
        (["--engine", "uniform@5m", "--clock", "5m"], 2, "has a clock; leave out other limits"),
        (["--engine", "alphabeta", "--seconds", "1"], 1, "expected a limit of depth, found Limit(seconds=1"),
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
def test_a_game_without_a_move_leaves_no_file_unless_it_is_saved(here, text):
    assert invoke(["--side", "both"], text).exit_code == 0
    assert not Path("games").exists()
    assert "saved in" in invoke(["--side", "both"], "save\n" + text).output
    assert only_game("games/game-001.pdn").moves == []


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


@pytest.mark.parametrize("spec", ["uniform@100000000", "uniform@1000s"])
def test_tree_searches_stop_when_they_are_told(spec):
    game = get_game("connect4")
    engine, results, stop = Engine.load(spec, game=game), [], Stop()
    thread = threading.Thread(target=lambda: results.append(engine.play(game.game(), stop=stop)))
    thread.start()
    stop.set()
    thread.join()
    assert 1 <= results[0].sims < 100_000_000


def test_another_program_is_told_to_stop():
    game = get_game("checkers").game()
    with Engine.load(f"{HUB} patient@500s") as engine:
        for stop in (Stop(), Stop()):
            found = wait_for(lambda stop=stop: engine.play(game, stop=stop), interrupting(stop.set))
            assert str(found.move) == "10-14"
        stop = Stop()
        stop.set()  # before it has begun
        assert str(engine.play(game, stop=stop).move) == "10-14"


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


def test_clocks_run_in_turn_and_gain_their_increment():
    now = Seconds()
    clock = GameClock(TimeControl(60, 2), now)
    clock.start("black", 0)
    now.now = 10
    assert (clock.text("black"), clock.text("white")) == ("0:50", "1:00")
    clock.press("black")
    clock.start("white", 1)
    now.now = 65
    assert (clock.left("black"), clock.left("white")) == (52, 5)
    assert clock.text("white") == "5.0"
    now.now = 71
    assert clock.left("white") == -1
    assert clock.text("white") == "0.0"
    assert GameClock(TimeControl(7265)).text("black") == "2:01:05"


def test_a_move_taken_back_gives_its_time_back():
    now = Seconds()
    clock = GameClock(TimeControl(60), now)
    for ply, side in enumerate(("black", "white")):
        clock.start(side, ply)
        now.now += 10
        clock.press(side)
    clock.restore(0)
    assert (clock.left("black"), clock.left("white")) == (60, 60)
    clock.start("black", 0)
    now.now += 5
    assert clock.left("black") == 55


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
    clock = GameClock(TimeControl(60), now)

    script, shown = table("11-15\n", here, engine=Slow(now), extra={"clock": clock})
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
    clock = GameClock(TimeControl(60), now)
    script, shown = table("11-15\n22-18\nundo\n", here, side="both", extra={"clock": clock})
    push = script.push

    def slowly(move):
        now.now += 40
        push(move)

    script.push = slowly
    script.play()
    assert len(script.session.game.moves) == 1
    assert clock.left("white") == 60
    assert "Black 0:20  White 0:20" in shown.getvalue()


@pytest.mark.parametrize("words", ["draw", "resign"])
def test_time_runs_while_a_question_waits(here, words):
    now = Seconds()
    clock = GameClock(TimeControl(60), now)
    clock.start("black", 0)
    script, _ = table("", here, side="both", extra={"clock": clock})
    lines, given = iter([words]), []

    def ask(prompt, seconds=None):
        given.append(seconds)
        now.now += 61
        if seconds == 0:
            raise FlagFallError
        return next(lines)

    script.screen.ask = ask
    script._human_turn()
    assert (given, script.session.game.moves) == ([60, 0], [])
    assert str(script.session.outcome().result) == "0-1"


def test_a_draw_that_the_engine_thinks_over_for_too_long_is_none(here):
    now = Seconds()
    clock = GameClock(TimeControl(60), now)

    script, shown = table("draw\ny\n", here, engine=Slow(now), extra={"clock": clock})
    script.play()
    assert "White won: Black is out of time (0-1)" in shown.getvalue()


def test_the_engine_is_given_its_clock():
    engine, clock = FirstMove(), GameClock(TimeControl(60, 1), Seconds())
    choose_move(engine, get_game("checkers").game(), clock=clock.sides["black"])
    assert engine.asked[-1][1] == Limit(clock=60, increment=1)


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
    command = [sys.executable, "-c", RUN, "play", "--engine", "uniform", "--seconds", "500", "--pdn", "a.pdn"]
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
