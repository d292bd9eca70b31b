"""Whole games by the Hub protocol: with pydraughts, a client that is not ours, and between two of ckai."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ckai.game import Position
from ckai.rl.engine.hub import HubError, HubPlayer, HubProgram
from ckai.rl.games.clock import TimeControl
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.players import hub, program

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
    result = client_games("--games", "10", "--engine", "uniform")
    assert (result["games"], result["problems"]) == (10, {})


@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.parametrize(
    "level",
    [
        {"depth": 2},
        {"seconds": 0.005},
        {"control": TimeControl(1, 0.01)},
        {"control": TimeControl(1, 0, 10)},
    ],
)
def test_two_of_ckai_play_each_other(level):
    player = HubPlayer(f"{ENGINE} uniform", **level)
    result = play_match(player, player, draw_openings(1, 0), max_plies=24)
    assert len(result.games) == 2
    assert all(len(each.game.moves) >= 10 for each in result.games)


@pytest.mark.slow
@pytest.mark.programs
def test_a_program_that_cannot_load_its_engine_says_why():
    with pytest.raises(HubError, match=r"has ended with status 1: ckai: error: missing\.ckpt"):
        HubPlayer(f"{ENGINE} missing.ckpt").sit(1)
    with pytest.raises(HubError, match="integers"):
        HubPlayer(f"{ENGINE} alphabeta:small").sit(1)


def test_the_last_words_of_a_program_that_ends_are_in_the_message(tmp_path):
    script = tmp_path / "engine.py"
    script.write_text("import sys; print('loading'); sys.stderr.write('no such network\\n\\n'); sys.exit(3)")
    with pytest.raises(HubError, match=r"found that it has ended with status 3: no such network$"):
        HubProgram(f"{sys.executable} {script}")


def test_a_program_that_never_stops_talking_times_out(tmp_path, monkeypatch):
    """Neither many lines nor one without an end keep it from that, nor fill the memory."""
    monkeypatch.setattr(hub, "SPARE_SECONDS", 0.3)
    for words in ("'info depth=1\\n'", "'x' * 10000"):
        script = tmp_path / "engine.py"
        script.write_text(
            "import sys\n"
            "for line in sys.stdin:\n"
            "    if line == 'hub\\n': print('wait', flush=True)\n"
            "    if line == 'init\\n': print('ready', flush=True)\n"
            f"    while line == 'go think\\n': sys.stdout.write({words})\n"
        )
        side = HubPlayer(f"{sys.executable} {script}", seconds=0.01).sit(1)
        side.start(0, Position.start(), 0)
        with pytest.raises(HubError, match="found no answer in time"):
            side.actions([0])
        assert side.program._lines.qsize() <= program.MAX_LINES
        side.close()
