"""ckai as a program of the Hub protocol: its text, its conversation, and games with a client of others."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckai.game import Game, Position
from ckai.rl.engine.base import Engine, Line, SearchResult, Value
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import (
    MAX_LINE,
    MAX_MEN,
    HubSession,
    find_move,
    hub_position,
    read_level,
    read_line,
    read_position,
    score,
    serve_lines,
    write_line,
)  # fmt: skip

START = hub_position(Position.start())
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"], exclude_characters='="'), min_size=1)


# --- the text ---------------------------------------------------------------------------------------


VALUES = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters='"'))


@given(NAMES, st.dictionaries(NAMES, VALUES))
def test_what_is_written_is_read(command, arguments):
    assert read_line(write_line(command, **arguments)) == (command, arguments)


def test_what_cannot_be_written_is_replaced():
    assert write_line("error", message='a "b"\n\x00c') == "error message=\"a 'b'  c\""


@pytest.mark.parametrize("line", ['pos pos="B', "=", "level depth=5=6", "go\x00"])
def test_lines_that_are_none(line):
    with pytest.raises(ValueError, match="expected"):
        read_line(line)


def test_positions_are_read_back():
    for fen in ("W:WK3,8:B22", "B:W32:BK1,5", Position.start().fen):
        assert read_position(hub_position(Position.from_fen(fen))) == Position.from_fen(fen)


@pytest.mark.parametrize(
    "text", ["", "B", START[:-1], START + "e", "b" + START[1:], "B" + "b" * 32, "Bw" + "e" * 31]
)
def test_positions_that_are_none(text):
    with pytest.raises(ValueError, match=r"3[23]|king|crown|row"):
        read_position(text)


@pytest.mark.parametrize("text", ["", "11xx15", "11-15 ", "²x3", "9" * 5000 + "x1"])
def test_moves_that_are_none(text):
    assert find_move(text, Position.start()) is None
    assert find_move(text, Position.from_fen("W:WK23:B18,10,9,19")) is None


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        ({"depth": "9"}, Limit(depth=9)),
        ({"nodes": "999999999999"}, Limit(nodes=2**31 - 1)),
        ({"move-time": "0.25"}, Limit(seconds=0.23)),
        ({"move-time": "-1"}, Limit(seconds=0.001)),
        ({"time": "59.5", "inc": "0.5"}, Limit(clock=60, increment=0.5)),
        ({"time": "-0.25", "inc": "1"}, Limit(clock=0.75, increment=1)),
        ({"time": "300", "moves": "9"}, Limit(clock=300, remaining_moves=9)),
        ({"infinite": ""}, Limit()),
        ({"depth": "9", "move-time": "0.04", "unheard-of": "1"}, Limit(depth=9, seconds=0.03)),
    ],
)
def test_levels(arguments, limit):
    assert read_level(arguments) == limit


def test_levels_that_are_none():
    for text in ("", "depth=0", "depth=ten", "nodes=1.5", "move-time=nan", "time=inf", "inc=1"):
        with pytest.raises(ValueError, match="expected"):
            read_level(read_line(f"level {text}")[1])


def report(value, pv=None, **figures):
    found = None if value is None else Value(value, "black")
    return SearchResult(lines=[Line(pv=pv or Position.start().legal_moves()[:1])], value=found, **figures)


def test_scores_are_in_men_for_the_side_to_move():
    assert score(report(0.0)) == 0
    assert score(report(0.5)) == -score(report(-0.5)) > 0
    assert score(report(1.0, proven="win", plies=7)) == 99.93
    assert score(report(-1.0, proven="loss", plies=8)) == -99.92
    assert score(report(1.0)) == MAX_MEN
    assert score(report(None)) is None


# --- the conversation -------------------------------------------------------------------------------


class Slow(Engine):
    """An engine that goes on until it is stopped, or for no time if it has a limit."""

    takes, endless = frozenset(("seconds", "clock", "depth", "nodes")), True

    def __init__(self):
        super().__init__()
        self.limits, self.games, self.forgotten, self.fails = [], [], 0, False

    def _search(self, task):
        self.limits.append(task.limit)
        self.games.append(task.game)
        stopped, pv = threading.Event(), task.game.position.legal_moves()[:1]
        task.stop.attach(stopped.set)
        task.tell(lambda: report(0.0, depth=1, nodes=1, pv=pv))
        if self.fails:
            raise RuntimeError("no memory")
        if task.limit == Limit():
            stopped.wait(30)
        return report(0.0, depth=2, nodes=2, pv=pv)

    def _forget(self, game=None):
        self.forgotten += 1


class Talk:
    """A session, and what it has written."""

    def __init__(self, engine=None):
        self.engine = engine or Slow()
        self.lines = queue.Queue()
        self.session = HubSession(lambda: self.engine, self.lines.put)

    def say(self, *lines):
        for line in lines:
            assert self.session.handle(line)

    def heard(self):
        """All lines so far."""
        lines = []
        while not self.lines.empty():
            lines.append(self.lines.get())
        return lines

    def until(self, start):
        """The next lines up to one that begins like this."""
        lines = [self.lines.get(timeout=30)]
        while not lines[-1].startswith(start):
            lines.append(self.lines.get(timeout=30))
        return lines

    def error(self, line):
        """The error that is the only answer to a line, besides what a search in progress says of itself."""
        self.say(line)
        (answer,) = (each for each in self.heard() if not each.startswith("info"))
        command, arguments = read_line(answer)
        assert command == "error"
        return arguments["message"]


@pytest.fixture
def talk():
    conversation = Talk()
    yield conversation
    conversation.session.close()


def test_the_beginning(talk):
    talk.say("hub")
    lines = talk.heard()
    assert lines[0] == write_line("id", name="ckai", version=version("ckai"), author="The ckai authors")
    assert lines[1:] == ["param name=variant value=english type=enum values=english", "wait"]
    talk.say("set-param name=variant value=english", "init", "init")
    assert talk.heard() == ["ready", "ready"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello", "expected one of the commands"),
        ('pos pos="', "name=value"),
        ("pos pos=B", "33 characters"),
        (f"pos pos={START} moves=11-18", "'11-18' as move 1"),
        ("level depth=x", "expected depth"),
        ("go think ponder", "found think and ponder"),
        ("go think", "expected init"),
        ("set-param name=variant value=normal", "expected set-param name=variant value=english"),
        ("set-param name=engine value=level:3", "options of ckai engine"),
    ],
)
def test_what_it_does_not_know(talk, line, message):
    assert message in talk.error(line)


def test_a_search(talk):
    talk.say("init", f'pos pos={START} moves="11-15 23-19"', "level depth=3", "go think")
    lines = talk.until("done")
    assert lines[0] == "ready"
    assert lines[1:] == [
        "info depth=1 score=0.00 nodes=1 time=0.000 nps=1.000 pv=7-11",
        "info depth=2 score=0.00 nodes=2 time=0.000 nps=2.000 pv=7-11",
        "done move=7-11",
    ]
    assert talk.engine.limits == [Limit(depth=3)]
    (game,) = talk.engine.games
    assert [str(move) for move in game.moves] == ["11-15", "23-19"]
    talk.say("go think")  # a level is for one search
    talk.say("stop")
    assert talk.engine.limits[1] == Limit()
    assert talk.until("done")[-1] == "done move=7-11"
    talk.say("stop", "ponder-hit", "new-game")
    assert not talk.heard()
    assert talk.engine.forgotten == 1


def test_during_a_search(talk):
    talk.say("init", "go analyze", "ping")
    assert talk.until("pong")
    assert "during a search" in talk.error("pos start")
    assert "go ponder" in talk.error("ponder-hit")
    assert "found 'nonsense'" in talk.error("nonsense")
    talk.say("stop", "go think", "stop")  # what follows stop may come at once
    assert [line for line in talk.heard() if line.startswith("done")] == ["done move=9-13"] * 2
    talk.say("go think")
    assert not talk.session.handle("quit")
    talk.session.close()
    assert "closed" in repr(talk.engine)


@pytest.mark.parametrize("spec", ["uniform", "alphabeta:ckai", "level:2", "level:16"])
def test_a_clock_of_zero_still_has_a_move(spec):
    talk = Talk(Engine.load(spec))
    talk.say("init")
    begun = time.monotonic()
    for level in ("time=0", "time=-5", "time=0 moves=1", "time=-1 inc=1", "move-time=0", "time=0 inc=0"):
        talk.say("pos start", f"level {level}", "go think")
        lines = talk.until("done")
        assert find_move(read_line(lines[-1])[1]["move"], Position.start())
        assert not [line for line in lines if line.startswith("error")]
    assert time.monotonic() - begun < 20
    talk.session.close()


def test_pondering(talk):
    talk.say("init", f"pos pos={START} moves=11-15", "level move-time=1", "go ponder", "ping")
    talk.until("pong")
    time.sleep(0.02)
    assert not [line for line in talk.heard() if line.startswith("done")]
    talk.say("ponder-hit")
    assert len([line for line in talk.until("done") if line.startswith("done")]) == 1
    assert talk.engine.limits == [Limit(), Limit(seconds=0.98)]
    talk.say("pos start", "level move-time=1", "go ponder", "stop")
    assert talk.until("done")
    assert talk.engine.limits[2:] == [Limit()]


def test_a_search_that_fails_still_has_a_move(talk):
    talk.engine.fails = True
    talk.say("init", "level depth=1", "go think")
    lines = talk.until("done")
    assert 'error message="the search failed: RuntimeError: no memory"' in lines
    assert lines[-1] == "done move=9-13"


# --- serving ----------------------------------------------------------------------------------------


def served(data):
    """What is answered to some bytes."""
    source, sink = os.pipe()
    answers, output = os.pipe()
    with os.fdopen(sink, "wb") as file:
        threading.Thread(target=lambda: (file.write(data), file.close()), daemon=True).start()
        with os.fdopen(source, "rb") as lines:
            serve_lines(lines, output, lambda write: HubSession(Slow, write))
    os.close(output)
    with os.fdopen(answers, "rb") as file:
        return file.read().decode().splitlines()


def test_bytes_that_are_no_text():
    lines = served(b"\xff\xfe\n" + b"x" * (MAX_LINE + 5000) + b"\nping\nping")
    assert [line.split()[0] for line in lines] == ["error", "error", "pong", "pong"]
    assert served(b"ping\nquit\nping\n") == ["pong"]


# --- engines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["uniform@200", "alphabeta:ckai@6"])
def test_earlier_positions_count_for_repetitions(spec):
    """Alone against three kings, Black draws with 1-5, which makes a position occur for the third time."""
    game = Game(Position.from_fen("W:WK10,K15,K32:BK5"))
    for text in ("32-28", "5-1", "28-32", "1-5", "32-28", "5-1", "28-32"):
        game.push(text)
    engine = Engine.load(spec)
    last = engine.play(game, engine.limit)
    assert (str(last.move), last.value) == ("1-5", 0.0)
    alone = engine.play(Game(game.position), engine.limit)
    assert alone.value < 0
    engine.close()


# --- the program ------------------------------------------------------------------------------------


def program(*arguments, **options):
    words = [sys.executable, "-m", "ckai.cli.main", "engine", "--tables", "none", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(words, text=True, bufsize=1, **pipes)


def until(process, start):
    lines = [process.stdout.readline()]
    while not lines[-1].startswith(start):
        assert lines[-1], process.stderr.read()
        lines.append(process.stdout.readline())
    return lines


@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (None, 0)])
def test_signals_and_the_end_of_its_input_end_it(number, status):
    process = program(
        "--engine", "uniform", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    )
    process.stdin.write("init\ngo analyze\n")
    until(process, "info")
    if number is not None:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.programs
def test_a_player_that_does_not_exist_is_refused_at_once():
    for spec, found in (("missing.ckpt", "no file missing.ckpt"), ("hub:x", "another program")):
        process = program("--engine", spec)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (1, "")
        assert found in err
        assert len(err.splitlines()) == 1


@pytest.mark.programs
@pytest.mark.slow
def test_nothing_else_is_on_standard_output():
    code = (
        "import ctypes, os, sys; sys.argv = ['ckai', 'engine', '--engine', 'random', '--tables', 'none']\n"
        "from ckai.rl.engine import program\n"
        "before = program.HubSession.handle\n"
        "def handle(self, line):\n"
        "    print('noise'); sys.stdout.flush(); os.write(1, b'noise'); ctypes.CDLL(None).puts(b'noise')\n"
        "    return before(self, line)\n"
        "program.HubSession.handle = handle\n"
        "from ckai.cli.main import main\nmain()\n"
    )
    lines = "ping\ninit\npos start\ngo think\nquit\n"
    done = subprocess.run(
        [sys.executable, "-c", code], input=lines, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "noise" not in done.stdout
    assert done.stderr.count("noise") >= 12
    assert {line.split()[0] for line in done.stdout.splitlines()} <= {"pong", "ready", "done"}
