"""GTP: our server line by line, our client with our server, and programs that fail."""

import sys
from importlib.metadata import version

import pytest

from ckai.game import Reason
from ckai.rl.engine import gtp, program
from ckai.rl.engine.alphabeta import RandomEngine
from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.gtp import GtpEngine, GtpSession
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.program import ProgramError
from ckai.rl.games.go import PASS, SPEC, GoReason
from ckai.rl.matches import match
from ckai.rl.matches.match import match_pdn, play_match, read_match_games

SERVER = f"{sys.executable} -m ckai.cli.main engine --protocol gtp --engine"


class First(Engine):
    """Plays the first legal move; resigns once that is the pass."""

    spec, takes = SPEC, frozenset(("clock",))

    def __init__(self):
        super().__init__()
        self.seen, self.limits = [], []

    def _search(self, task):
        self.seen.append(task.game.position)
        self.limits.append(task.limit)
        move = task.game.position.legal_moves()[0]
        if move.actions == (PASS,):
            raise ResignsError("no stone is left to play")
        return move


def conversation(*lines, load=RandomEngine):
    """The answers to some lines."""
    answers = []
    session = GtpSession(load, answers.append)
    assert [session.handle(line) for line in lines[:-1]] == [True] * (len(lines) - 1)
    session.handle(lines[-1])
    session.close()
    return [answer.removesuffix("\n") for answer in answers]


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ("protocol_version", "= 2"),
        ("12 name", "=12 ckai"),
        ("version", f"= {version('ckai')}"),
        ("known_command nonsense", "= false"),
        ("7 nonsense", "?7 unknown command"),
        ("play b", "? syntax error"),
        ("play green D5", "? invalid color or coordinate"),
        ("play b I5", "? invalid color or coordinate"),
        ("play b A2;play w J9;play b B1;play w A1", "? illegal move"),  # suicide
        ("boardsize 19", "? unacceptable size"),
        ("komi nan", "? syntax error"),
        ("undo", "? cannot undo"),
        ("final_score", "= W+7"),
        ("komi 6.5 # the usual;play black E5;final_score", "= B+74.5"),
        ("play b E5;play w pass;play b PASS;genmove w", "= A1"),  # who wants to may go on
        ("quit", "="),
    ],
)
def test_answers(lines, answer):
    assert conversation(*lines.split(";"), load=lambda spec: First())[-1] == answer


def test_moves_are_generated_taken_back_and_made_out_of_turn():
    player = First()
    answers = conversation(
        "genmove b", "undo", "play b A1", "play b B1", "genmove w", "undo", "genmove b", "clear_board",
        "genmove w", load=lambda spec: player,
    )  # fmt: skip
    assert answers == ["= A1", "=", "=", "=", "= C1", "=", "= C1", "=", "= A1"]
    texts = [SPEC.position_text(position).split("/")[-1] for position in player.seen]
    assert texts == ["......... b", "bb....... w", "bb....... b", "......... w"]


@pytest.mark.parametrize(
    ("lines", "limits"),
    [
        ("time_settings 100 0 0;time_left b 40 0;genmove b", [Limit(clock=40)]),
        ("time_settings 0 30 5;time_left w 20 4;genmove w", [Limit(clock=20, remaining_moves=4)]),
        ("time_settings 0 30 5;genmove b", [Limit(clock=30, remaining_moves=5)]),
        ("time_settings 0 1 0;genmove b", [Limit()]),  # a period without moves
        ("time_settings 60 10 3;time_left b 9 2;genmove b", [Limit(clock=9, remaining_moves=2)]),
        ("genmove b;time_settings 9 0 0", [Limit()]),
    ],
)
def test_a_player_with_a_clock_knows_its_time(lines, limits):
    player = First()
    conversation(*lines.split(";"), load=lambda spec: player)
    assert player.limits == limits


def test_a_resignation_ends_a_game(tmp_path):
    opening = SPEC.read_position("/".join(["b" * 8 + "."] + ["b" * 9] * 7 + ["." + "b" * 8]) + " w")
    result = play_match(First(), RandomEngine(SPEC), [opening], spec=SPEC)
    first = next(game for game in result.games if not game.a_black)
    assert first.outcome.reason == Reason.RESIGNED
    assert (first.outcome.winner, first.score) == ("black", 0.0)
    text = match_pdn(result, "a", "b", SPEC)
    assert '[Termination "resigned"]' in text
    (tmp_path / "games.pdn").write_text(text)
    again = read_match_games(tmp_path / "games.pdn", [opening], SPEC)
    outcomes = {game.a_black: game.outcome for game in again}
    assert outcomes[False] == first.outcome


@pytest.mark.slow
@pytest.mark.programs
def test_our_client_plays_our_server(monkeypatch):
    monkeypatch.setattr(gtp, "INIT_SECONDS", 600.0)  # in which it compiles, so that no move does
    monkeypatch.setattr(match, "TIME_MARGIN", 30.0)
    with GtpEngine(f"{SERVER} rollout@4", spec=SPEC) as engine:
        engine.limit = Limit(clock=2.0)
        result = play_match(engine, RandomEngine(SPEC), SPEC.openings(3)[:1], spec=SPEC)
    assert len(result.games) == 2
    assert all(isinstance(game.reason, GoReason) for game in result.games), result.games


SCRIPT = """
import sys, time
for line in sys.stdin:
    if line.startswith("genmove"):
        {then}
    print("=\\n", flush=True)
"""


@pytest.mark.programs
@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("sys.exit('out of ideas')", "has ended with status 1: out of ideas"),
        ("time.sleep(60)", "expected '= after genmove b', found no answer in time"),
        ("print('= Z99\\n', flush=True); continue", "expected a legal move in"),
        ("print('? cannot\\n', flush=True); continue", r"expected = after genmove b, found '\? cannot'"),
        ("while True: print('= x')", "an answer without end"),
    ],
)
def test_a_program_that_fails_costs_one_line(then, words, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "SPARE_SECONDS", 0.3 if "no answer" in words else 30.0)
    monkeypatch.setattr(program, "END_SECONDS", 0.1)
    script = tmp_path / "go.py"
    script.write_text(SCRIPT.replace("{then}", then))
    with GtpEngine(f"{sys.executable} {script}", spec=SPEC) as engine:
        with pytest.raises(ProgramError, match=words) as failed:
            engine.play(SPEC.game(), Limit(seconds=0.1))
        assert "\n" not in str(failed.value)


@pytest.mark.programs
def test_a_program_that_is_none_is_refused():
    with pytest.raises(ProgramError, match="can be started"):
        Engine.load("gtp:/nonexistent/program", game=SPEC)
    with pytest.raises(ProgramError, match="found that it has ended"):
        GtpEngine(f"{sys.executable} -c pass", spec=SPEC)
    code = "print('? no such command', flush=True); print(flush=True); input()"
    with pytest.raises(ProgramError, match=r"expected = after name, found '\? no such command'"):
        GtpEngine(f'{sys.executable} -c "{code}"', spec=SPEC)
