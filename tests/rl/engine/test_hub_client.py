"""Whole games by the Hub protocol: with pydraughts, a client that is not ours, and between two of ckai."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckai.game import Position
from ckai.rl.engine import program
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import Fault, HubEngine, ProgramError
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings

ROOT = Path(__file__).parents[3]
ENGINE = f"{sys.executable} -m ckai.cli.main engine --tables none --engine"


def client_games(*arguments):
    """What the script of the games prints; no move is late for it."""
    pytest.importorskip("draughts")
    script = [
        sys.executable,
        str(ROOT / "benchmarks" / "strength" / "hub_games.py"),
        "--grace",
        "1000",
        *arguments,
    ]
    done = subprocess.run(script, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[0])


@pytest.mark.slow
@pytest.mark.programs
def test_games_of_every_sort_with_a_client_of_others():
    result = client_games("--games", "3", "--engine", "uniform")
    assert (result["games"], result["problems"]) == (3, {})


@pytest.mark.slow
@pytest.mark.programs
def test_two_of_ckai_play_each_other():
    with HubEngine(f"{ENGINE} uniform") as engine:
        for limit in (Limit(depth=2), Limit(seconds=0.005), Limit(clock=1, increment=0.01)):
            engine.limit = limit
            result = play_match(engine, engine, draw_openings(1, 0), max_plies=24)
            assert len(result.games) == 2
            assert all(len(each.game.moves) >= 10 for each in result.games)


@pytest.mark.slow
@pytest.mark.programs
def test_a_program_that_cannot_load_its_engine_says_why():
    with pytest.raises(ProgramError, match="integers"):
        HubEngine(f"{ENGINE} alphabeta:small")


@pytest.mark.parametrize("system", ["win32", "linux"])
def test_windows_splits_a_command_itself(monkeypatch, system):
    started = []

    def start(command, **options):
        started.append(command)
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(program.subprocess, "Popen", start)
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(ProgramError, match="expected a program, found none"):
        HubEngine(r'C:\\Cake\\hub.exe "a b" ')
    windows = r'C:\\Cake\\hub.exe "a b"'
    assert started == [windows if system == "win32" else [r"C:\Cake\hub.exe", "a b"]]


SCRIPT = """
import sys, time
def say(*lines): print(*lines, sep="\\n", flush=True)
for line in sys.stdin:
    if line == "hub\\n": say("id name=x", "wait")
    if line == "init\\n": say("ready")
    if line.startswith("go"):
        HOW
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Start a program that does something after `go`."""
    monkeypatch.setattr(program, "END_SECONDS", 0.1)
    engines = []

    def start(how, spare=30.0):
        monkeypatch.setattr(program, "SPARE_SECONDS", spare)
        script = tmp_path / "engine.py"
        script.write_text(SCRIPT.replace("HOW", how))
        engines.append(HubEngine(f"{sys.executable} {script}"))
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


HOSTILE = [
    ("time.sleep(60)", Fault.SILENCE, "expected 'done move=...', found no answer in time"),
    ("while True: say('info depth=1 pv=11-15')", Fault.SILENCE, "found no answer in time"),
    (
        "sys.stdout.write('x' * 5_000_000)",
        Fault.PROTOCOL,
        "lines of less than 65,536 characters, found a longer",
    ),
    ("sys.exit('no memory\\n')", Fault.CRASH, "has ended with status 1: no memory"),
    ("import os; os.close(0); os.close(1); time.sleep(60)", Fault.CRASH, "found that it has ended"),
    ("say('done move=1-32')", Fault.ILLEGAL, "found '1-32'"),
    ("say('done')", Fault.ILLEGAL, "found 'no move'"),
    ("say('error message=\"what a \x1b[31m pity\"')", Fault.PROTOCOL, "pity"),
]


@pytest.mark.programs
@pytest.mark.parametrize(
    ("how", "fault", "words"),
    [*HOSTILE[::2], *(pytest.param(*each, marks=pytest.mark.slow) for each in HOSTILE[1::2])],
)
def test_a_hostile_program_costs_one_line(child, how, fault, words):
    engine = child(how, 0.2 if fault == Fault.SILENCE else 30.0)
    for _ in range(2):  # it is started again
        with pytest.raises(ProgramError, match=words) as failed:
            engine.play(Position.start(), Limit(seconds=0.01))
        assert failed.value.fault == fault
        assert str(failed.value).isprintable()
    assert engine._lines.qsize() <= program.MAX_LINES


@pytest.mark.programs
@pytest.mark.parametrize(
    "how", [HOSTILE[0][0], *(pytest.param(HOSTILE[i][0], marks=pytest.mark.slow) for i in (1, 4))]
)
def test_a_program_that_does_not_stop_is_ended(child, how):
    """Without a limit too, whoever asks: the analysis, the engine or its end."""
    for end in ("analysis", "stop", "close"):
        engine = child(how, 0.2)
        analysis = engine.analysis(Position.start())
        time.sleep(0.05)
        (analysis.stop if end == "analysis" else getattr(engine, end))()
        with pytest.raises(ProgramError):
            analysis.wait()


@pytest.mark.programs
def test_a_program_that_lies_of_its_search_is_not_believed(child):
    lies = "score=nan nodes=inf depth=1e99 time=-1", 'score=1e300 pv="1-32 11-15"', 'pv="11-15 11-15"'
    engine = child("say(" + ", ".join(f"'info {lie}'" for lie in lies) + ", 'done move=11-15')")
    result = engine.play(Position.start(), Limit(seconds=0.01))
    assert (" ".join(map(str, result.pv)), result.nodes, result.depth) == ("11-15", 0, 0)
    assert result.value is None


@pytest.mark.programs
def test_what_a_program_tells_is_in_the_result(child):
    told = 'info depth=9 score=0.5 nodes=1234 pv="11-15 22-18 15x22x18"'
    engine = child(f"say('{told}', 'done move=11-15')")
    result = engine.play(Position.start(), Limit(seconds=0.01))
    assert (result.depth, result.nodes) == (9, 1234)
    assert " ".join(map(str, result.pv)) == "11-15 22-18 15x22"
    assert 0 < result.value.black() < 0.5
