"""Solved positions, mistakes counted on them, `ckai evaluate --solved`, and the perfect player."""

import json
import random

import numpy as np
import pytest
import torch

from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.rl.engine.simple import PerfectEngine, RandomEngine
from ckai.rl.games.connect4 import SPEC
from ckai.rl.games.connect4.mistakes import Mistakes, count_mistakes, mistakes_of_network, solved_classes
from ckai.rl.games.connect4.solver import CLASSES, Connect4Solver
from ckai.rl.games.grid import GridMove
from ckai.rl.games.registry import get_game
from ckai.rl.games.solving import SolvedPosition, SolvedValue


def tiny(path, game="connect4"):
    torch.manual_seed(0)
    save_checkpoint(path, build("mlp", {"encoding": game, "hidden": 8}), metrics={}, info={})
    return path


def test_there_are_200_positions_in_each_class():
    classes = solved_classes(SPEC)
    assert tuple(classes) == CLASSES
    assert set(map(len, classes.values())) == {200}
    for name, positions in classes.items():
        phase, length = name.split("-")
        for each in positions:
            stones = sum(map(int.bit_count, each.position.state))
            assert phase == ("Begin" if stones < 14 else "Middle" if stones <= 28 else "End")
            plies = max(each.moves.values(), key=lambda truth: truth.order).plies
            assert length == ("Easy" if plies < 14 else "Medium" if plies <= 28 else "Hard")
            assert list(each.moves) == each.position.legal_moves()
    states = {each.position.state for positions in classes.values() for each in positions}
    assert len(states) == sum(map(len, classes.values()))


def test_the_positions_have_the_scores_of_the_solver():
    solver, rng = Connect4Solver(8), random.Random(0)
    for name in ("Middle-Easy", "Middle-Medium", "End-Easy"):
        quick = [
            each for each in solved_classes(SPEC)[name] if sum(map(int.bit_count, each.position.state)) > 19
        ]
        for each in rng.sample(quick, 10):
            assert solver.moves(each.position) == each.moves


def position_with(values):
    """The first position, with made-up values of its moves."""
    return SolvedPosition(
        SPEC.position(), {GridMove(c): SolvedValue(value, 9) for c, value in enumerate(values)}
    )


class Always:
    """A network that likes column 3 most, then 2, and so on down, then 6, 5, 4."""

    name = "always"

    def evaluate(self, boards, logits, values):
        logits[:] = np.array([1, 2, 3, 4, -3, -2, -1], np.float32)
        values[:] = 0
        return logits, values


def test_a_mistake_changes_the_value():
    classes = {
        "kept": [position_with([-1, -1, 0, 0, 0, 0, 0]), position_with([1] * 7), position_with([-1] * 7)],
        "lost": [
            position_with([1, 1, 1, 0, 1, 1, 1]),
            position_with([0, 0, 0, -1, 0, 0, 0]),
            position_with([0, 0, 1, 1, 0, 0, 0]),
        ],
    }
    found = mistakes_of_network(Always(), SPEC, [], classes)["policy"]
    assert found == {"kept": Mistakes(3, 0), "lost": Mistakes(3, 2)}


def test_the_policy_plays_only_what_is_legal():
    full = SPEC.read_position("...w.../...b.../...w.../...b.../...w.../...b...")
    moves = {move: SolvedValue(0 if str(move) == "3" else -1, 9) for move in full.legal_moves()}
    found = mistakes_of_network(Always(), SPEC, [], {"x": [SolvedPosition(full, moves)]})
    assert found["policy"]["x"].mistakes == 0


def few(count=8, names=("Middle-Easy", "End-Easy")):
    return {name: solved_classes(SPEC)[name][:count] for name in names}


def test_the_perfect_player_makes_no_mistake_and_others_do():
    classes = few(20)
    perfect = count_mistakes(PerfectEngine(SPEC), {"End-Easy": classes["End-Easy"]})
    assert perfect["End-Easy"].mistakes == 0
    assert count_mistakes(RandomEngine(SPEC), classes)["Middle-Easy"].mistakes > 0


def test_what_cannot_be_measured_is_said_in_a_line():
    for name in ("checkers", "tictactoe"):
        with pytest.raises(ValueError, match=f"a game with classes of solved positions, found {name}"):
            solved_classes(get_game(name))


def test_evaluate_counts_mistakes_of_a_network(tmp_path, monkeypatch, ckai):
    monkeypatch.setenv("CKAI_EVALUATOR", "torch")
    monkeypatch.setattr("ckai.rl.games.connect4.mistakes.solved_classes", lambda spec: few())
    path = tiny(tmp_path / "net.ckpt")
    options = ["--solved", "--visits", 2, "--visits", 30]
    status, out, err = ckai("evaluate", path, *options, "--json")
    assert status == 0, err
    players = json.loads(out)["players"]
    assert list(players) == ["policy", "2 visits", "30 visits"]
    for by_class in players.values():
        assert list(by_class) == ["Middle-Easy", "End-Easy"]
        assert all(each["positions"] == 8 for each in by_class.values())
    assert players["30 visits"]["End-Easy"]["mistakes"] < players["policy"]["End-Easy"]["mistakes"]
    folder = tmp_path / "run"
    folder.mkdir()
    tiny(folder / "best.ckpt")  # of a run its best network is measured
    status, text, _ = ckai("evaluate", folder, *options)
    assert "End-Easy" in text
    low, high = Mistakes(8, players["policy"]["End-Easy"]["mistakes"]).interval
    assert f"({100 * low:.1f} to {100 * high:.1f})" in text


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["tictactoe", "--solved"], 1, "expected a game with classes of solved positions, found tictactoe"),
        (["connect4", "--visits", "3"], 2, "together with --solved"),
        (["connect4", "--solved", "--visits", "0"], 2, "0 is not in the range x>=1"),
        ([".", "--solved"], 1, "best.ckpt: expected a checkpoint, found no such file"),
    ],
)
def test_what_evaluate_cannot_do_with_solved_positions(tmp_path, monkeypatch, ckai, words, status, text):
    monkeypatch.chdir(tmp_path)
    source = words[0] if words[0] == "." else tiny(tmp_path / "net.ckpt", words[0])
    found, out, err = ckai("evaluate", source, *words[1:])
    assert found == status
    assert text in err
    assert not out
    if status == 1:
        assert len(err.strip().splitlines()) == 1
