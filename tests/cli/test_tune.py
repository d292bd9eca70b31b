"""`ckai tune`: a study from its beginning to the command that repeats the best, and what it refuses."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from make_rows import random_games, write

from ckai.cli.strength.tune import repeat_command
from ckai.models.checkpoint import load_checkpoint
from ckai.rl.loop.run import Run
from ckai.rl.tuning.study import Study

NETWORK = ("--game", "tictactoe", "--init", "none", "--model", "mlp", "--set", "hidden=8")
TINY = ("--games", 4, "--sims", 3, "--setting", "learn.batch_size=16", "--evaluator", "torch")
TRIED = ("--try", "learn.lr=1e-4..1e-1:log", "--try", "learn.epochs=1,2")
STUDY = ("--trials", 2, "--generations", 1, "--match-games", 2)
NEW = ("tune", *NETWORK, *TINY, *TRIED, *STUDY)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def stopped(monkeypatch):
    """The study is made, and stopped with Ctrl-C before its first game."""

    def go(study, watcher, backend):
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "go", go)


def test_a_study_ends_with_the_command_of_its_best_run(ckai):
    status, out, err = ckai(*NEW)
    assert status == 0, err
    assert "tune: 2 trials to 1 generation: 2 generations of 4 games in all" in err
    assert "rung 1 of 1, trial 1 (tune/trials/001): learn.lr=" in err
    assert re.search(r"rung 1: trial \d [+-]\d+ \(.* kept: \d\n", err)
    assert out.splitlines()[0].split()[:3] == ["trial", "lr", "epochs"]
    best = re.search(r"trial (\d) is the best: (.*)", out)
    words = shlex.split(out.splitlines()[-1])
    assert words[:2] == ["ckai", "selfplay"]
    # The same run with the same results.
    assert ckai(*words[1:], "--run", "again", "--evaluator", "torch")[0] == 0
    trial = Run.open(Path("tune/trials") / f"{int(best[1]):03d}")
    assert Run.open(Path("again")).config == trial.config
    runs = (trial, Run.open(Path("again")))
    weights = [load_checkpoint(run.path(1, "network.ckpt")).weights for run in runs]
    assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())
    # Once more: nothing is left to do.
    status, again, err = ckai("tune")
    assert (status, again, err) == (0, out, "")
    data = json.loads(ckai("tune", "--json")[1])
    assert data["best"] == int(best[1])
    assert data["command"] == shlex.join(words)
    assert {"tune.csv", "tune.json", "tune.png"} <= {path.name for path in Path("tune").iterdir()}


def test_a_stopped_study_goes_on_with_the_hint_or_the_same_command(ckai, stopped):
    status, _, err = ckai(*NEW)
    assert status == 130
    assert "continue with: ckai tune -o tune --evaluator torch\n" in err
    for again in (NEW, ("tune", "-o", "tune"), ("tune", "--game", "tictactoe", "--seed", 0)):
        assert ckai(*again)[0] == 130
    for options, what in (
        (("--trials", 3), "trials = 2, not 3"),
        (("--score", "mistakes"), "score = elo, not mistakes"),
        (("--games", 5), "games = 4, not 5"),
        (("--setting", "learn.batch_size=7"), "learn.batch_size = 16, not 7"),
        (("--gate-games", 10), "gate.games = 0, not 10"),
        (("--model", "cnn2x2"), "model = mlp, not cnn2x2"),
        (("--game", "go"), "game = tictactoe, not go"),
        (
            ("--try", "learn.epochs=1,2"),
            "--try learn.lr=0.0001..0.1:log learn.epochs=1,2, not learn.epochs=1,2",
        ),
    ):
        status, out, err = ckai("tune", *options)
        assert (status, out) == (1, "")
        assert err == (
            f"ckai: error: tune: expected the settings of the study, found others ({what}); omit that "
            "option, give another -o, or --fresh to begin again\n"
        )
    assert ckai(*NEW, "--fresh", "--trials", 3)[0] == 130
    assert len(Study.open(Path("tune")).trials) == 3


def test_the_first_trial_has_what_is_given(ckai, stopped):
    ckai(*NEW, "--lr", 0.05, "--gate-games", 2)
    study = Study.open(Path("tune"))
    assert study.trials[0] == {"learn.lr": 0.05, "learn.epochs": 4}  # as tic-tac-toe has it
    assert study.run(1).config.gate.games == 2


def test_a_dry_run_says_what_would_be_tried(ckai):
    status, out, _ = ckai(*NEW, "--trials", 9, "--dry-run")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith("9 trials to 1 generation, then 3 trials to 3 generations: 15 generations of")
    assert lines[1] == "trial 0: learn.lr=0.002 learn.epochs=4 (the defaults)"
    assert len(lines) == 10
    data = json.loads(ckai(*NEW, "--dry-run", "--json")[1])
    assert data["rungs"] == [{"trials": 2, "generations": 1}]
    assert not list(Path().iterdir())


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_shares_of_expert_positions_are_tried_with_experts(ckai, dry):
    words = ("tune", "--init", "none", "--model", "mlp", "--try", "start.expert_share=0,0.5", "--trials", 2)
    status, _, err = ckai(*words, *dry)
    assert (status, "expected --experts ROWS and --expert-share together" in err) == (1, True)


def test_a_study_whose_first_trial_has_no_expert_positions_continues(ckai, stopped):
    experts = write(Path("rows.parquet"), random_games(2))
    others = write(Path("others.parquet"), random_games(4))
    new = ("tune", "--init", "none", "--model", "mlp", "--set", "hidden=8", *TINY, *STUDY)
    tried = ("--try", "start.expert_share=0,0.5", "--experts")
    assert [ckai(*new, *tried, experts)[0] for _ in range(2)] == [130, 130]
    status, _, err = ckai(*new, *tried, others)
    assert (status, "other expert positions, not those of others.parquet" in err) == (1, True)


@pytest.mark.usefixtures("stopped")
def test_the_command_leaves_out_what_would_do_nothing(ckai):
    tried = ("--try", "selfplay.full_search_prob=0.25,1", "--try", "selfplay.fast_visits=10,20")
    assert ckai("tune", *NETWORK, *TINY, *tried, "--trials", 4, *STUDY[2:])[0] == 130
    study = Study.open(Path("tune"))
    for trial in range(4):
        selfplay, words = study.run(trial).config.selfplay, repeat_command(study, trial)
        fast = selfplay.full_search_prob < 1 and selfplay.fast_visits != 20
        assert ("selfplay.fast_visits" in words) == fast


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --try NAME=VALUES"),
        (("--try", "learn.lr=0..1"), "expected learn.lr > 0, found 0"),
        (("--try", "learn.windw=1..2"), "unknown setting learn.windw; did you mean learn.window?"),
        (("--try", "learn.epochs=1,2", "--trials", 5), "give --trials 3 or more values to try"),
        (("--try", "learn.lr=1e-3..1", "--against", "nobody"), "nobody: expected a checkpoint"),
        (("--try", "learn.lr=1e-3..1", "--score", "mistakes"), "with classes of solved positions"),
        (("--try", "selfplay.tables=0,3", "--trials", 2), "expected no tablebases"),
    ],
)
def test_what_a_study_refuses_is_one_line(ckai, options, message):
    status, out, err = ckai("tune", *NETWORK, *options)
    assert (status, out) == (1, "")
    assert err.startswith("ckai: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not Path("tune").exists()
