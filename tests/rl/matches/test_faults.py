"""Programs that crash, fall silent or play illegal moves in a match, and the games that they lose by it."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ckai.game import Reason
from ckai.pdn import read_games
from ckai.rl.engine import program
from ckai.rl.engine.alphabeta import RandomEngine
from ckai.rl.engine.base import Engine
from ckai.rl.engine.program import Fault, ProgramError
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.matches import match as matches
from ckai.rl.matches.match import match_pdn, play_match, read_match_games
from ckai.rl.matches.openings import draw_openings

PROGRAM = f"{sys.executable} {Path(__file__).parents[2] / 'support' / 'hub_program.py'}"


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """The programs that were started; none may be left running."""
    processes = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            processes.append(self)

    monkeypatch.setattr(program.subprocess, "Popen", Recorded)
    monkeypatch.setattr(matches, "INTERRUPT_SECONDS", 0.0)
    yield processes
    assert all(process.poll() is not None for process in processes)


@pytest.mark.parametrize(
    ("how", "fault", "words"),
    [
        ("illegal@3", Fault.ILLEGAL, "found '1-32'"),
        ("crash@3", Fault.CRASH, "has ended with status 0"),
        pytest.param("slow@0.1s", Fault.SILENCE, "no answer in time", marks=pytest.mark.slow),
    ],
)
def test_a_fault_loses_the_game_and_the_program_is_started_again(
    how, fault, words, monkeypatch, started, tmp_path
):
    monkeypatch.setattr(program, "SPARE_SECONDS", 0.2 if "slow" in how else 30.0)
    openings = draw_openings(2, 0)
    with Engine.load(f"hub:{PROGRAM} {how}") as engine:
        result = play_match(engine, RandomEngine(), openings, threads=1)
    assert [game.reason for game in result.games] == [fault] * 4
    assert (result.losses, result.pairs.score, len(started)) == (4, 0.0, 4)
    assert all(words in game.outcome.detail for game in result.games)
    text = match_pdn(result, "a", "b", DEFAULT_GAME)
    assert text.count(f'[Termination "{fault}"]') == 4
    (tmp_path / "games.pdn").write_text(text)
    again = read_match_games(tmp_path / "games.pdn", openings, DEFAULT_GAME)
    assert [(game.score, game.reason) for game in again] == [(0.0, fault)] * 4


def test_a_program_that_is_never_ready_is_an_error(monkeypatch):
    monkeypatch.setattr(program, "START_SECONDS", 0.5)
    with pytest.raises(ProgramError, match="'wait'"):
        Engine.load(f"hub:{PROGRAM} mute")


def test_a_program_ended_with_the_match_has_not_lost(monkeypatch):
    """Ctrl-C in a terminal reaches the programs as well."""
    stop = threading.Event()

    class Ended(Engine):
        def _search(self, task):
            stop.set()
            raise ProgramError("ended", Fault.CRASH)

    assert play_match(Ended(), RandomEngine(), draw_openings(2, 0), threads=1, stop=stop).games == []


def test_a_tournament_survives_its_programs(ckai, tmp_path):
    path, crashing = tmp_path / "t.pdn", f"hub:{PROGRAM} crash@1"
    arguments = ("match", "random", crashing, "alphabeta@1", "--games", 4, "-o", path)
    status, out, err = ckai(*arguments, "--json")
    players = {each["name"]: each for each in json.loads(out)["players"]}
    assert (status, players[crashing]["points"], players[crashing]["games"]) == (0, 0, 8)
    assert [game.header("Termination") for game in read_games(path)].count("program crashed") == 8
    assert err.count(f"{crashing} loses game") == 8
    before = path.read_bytes()
    assert ckai(*arguments)[0] == 0
    assert path.read_bytes() == before, "no game is played again"
    status, out, _ = ckai("match", crashing, "random", "--games", 4)
    assert (status, "lost 4 games by faults of the program" in out) == (0, True)
    assert "below " in out
    assert "above " in out


def test_a_game_stopped_by_its_length_is_drawn_everywhere():
    short = play_match(RandomEngine(), RandomEngine(), draw_openings(2, 0), max_plies=6)
    text = match_pdn(short, "a", "b", DEFAULT_GAME)
    assert (short.draws, text.count('[Termination "limit of plies"]')) == (4, 4)
    long = play_match(RandomEngine(), RandomEngine(), draw_openings(2, 0))
    assert {game.reason for game in long.games} <= set(Reason)
