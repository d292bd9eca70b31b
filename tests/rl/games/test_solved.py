"""The truth about small games: the solver of Connect-4, mistakes on solved positions, the perfect player."""

import json
import random

import numpy as np
import pytest
import torch

from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference.evaluator import Evaluator
from ckai.models.network import build
from ckai.rl.analysis.solved import (
    CLASSES,
    SolvedPosition,
    count_mistakes,
    mistakes_of_network,
    solved_classes,
)
from ckai.rl.engine.alphabeta import PerfectEngine, RandomEngine
from ckai.rl.games.connect4 import SPEC, Connect4Solver
from ckai.rl.games.spec import GridMove, SolvedValue, Solver


def stones_of(position):
    return sum(map(int.bit_count, position.state))


def random_position(rng, stones):
    """A position with so many stones in which the game is not over."""
    while True:
        position = SPEC.position()
        while (moves := position.legal_moves()) and stones_of(position) < stones:
            position = position.push(rng.choice(moves))
        if moves:
            return position


def played(moves):
    """The position after columns 1 to 7."""
    game = SPEC.game()
    for move in moves.split():
        game.push(move)
    return game.position


@pytest.fixture(scope="module")
def solver():
    return Connect4Solver(8, book=False)


@pytest.mark.slow
def test_values_are_those_of_plain_search(solver):
    rng, plain = random.Random(2), Solver()
    for _ in range(30):
        position = random_position(rng, rng.randrange(30, 42))
        assert solver.solve(position) == plain.solve(position)


@pytest.mark.slow
def test_the_book_is_asked_instead_of_a_search():
    assert Connect4Solver(1).solve(played("4 4 4 4")) == SolvedValue(1, 37)  # the first player's only win


@pytest.mark.slow
def test_the_plies_are_those_of_perfect_play(solver):
    rng = random.Random(7)
    for _ in range(20):
        game = SPEC.game(random_position(rng, rng.randrange(26, 40)))
        truth, plies = solver.solve(game.position), 0
        while game.outcome() is None:
            moves = solver.moves(game.position)
            assert max(moves.values(), key=lambda each: each.order) == solver.solve(game.position)
            game.push(max(moves, key=lambda move: moves[move].order))
            plies += 1
        assert plies == truth.plies
        assert (game.outcome().winner is not None) == (truth.value != 0)
    assert solver.solve(played("1 2 1 2 1 2 1")) == SolvedValue(-1, 0)


@pytest.mark.slow
def test_there_are_200_positions_in_each_class_with_the_scores_of_the_solver():
    classes, solver, rng = solved_classes(SPEC), Connect4Solver(8), random.Random(0)
    assert tuple(classes) == CLASSES
    assert set(map(len, classes.values())) == {200}
    for name, positions in classes.items():
        phase, length = name.split("-")
        for each in positions:
            stones = stones_of(each.position)
            assert phase == ("Begin" if stones < 14 else "Middle" if stones <= 28 else "End")
            plies = max(each.moves.values(), key=lambda truth: truth.order).plies
            assert length == ("Easy" if plies < 14 else "Medium" if plies <= 28 else "Hard")
            assert list(each.moves) == each.position.legal_moves()
        quick = [each for each in positions if stones_of(each.position) > 19]
        for each in rng.sample(quick, min(10, len(quick))):
            assert solver.moves(each.position) == each.moves
    assert len({each.position.state for positions in classes.values() for each in positions}) == 1200


def position_with(values):
    """The first position, with made-up values of its moves."""
    moves = {GridMove(column): SolvedValue(value, 9) for column, value in enumerate(values)}
    return SolvedPosition(SPEC.position(), moves)


class Always(Evaluator):
    """A network that likes column 3 most, then 2, and so on down, then 6, 5, 4."""

    name, num_actions = "always", 7

    def _fill(self, boards, logits, values):
        logits[:] = np.array([1, 2, 3, 4, -3, -2, -1], np.float32)
        values[:] = 0


@pytest.mark.slow
def test_a_mistake_changes_the_value_and_is_legal():
    full = SPEC.read_position("...w.../...b.../...w.../...b.../...w.../...b...")
    moves = {move: SolvedValue(0 if str(move) == "3" else -1, 9) for move in full.legal_moves()}
    classes = {
        "kept": [position_with([-1, -1, 0, 0, 0, 0, 0]), position_with([1] * 7), position_with([-1] * 7)],
        "lost": [
            position_with([1, 1, 1, 0, 1, 1, 1]),
            position_with([0, 0, 0, -1, 0, 0, 0]),
            position_with([0, 0, 1, 1, 0, 0, 0]),
        ],
        "full": [SolvedPosition(full, moves)],
    }
    found = mistakes_of_network(Always(), SPEC, [], classes)["policy"]
    assert {name: each["mistakes"] for name, each in found.items()} == {"kept": 0, "lost": 2, "full": 0}


def few(count=8, names=("Middle-Easy", "End-Easy")):
    return {name: solved_classes(SPEC)[name][:count] for name in names}


@pytest.mark.slow
def test_the_perfect_player_makes_no_mistake_and_others_do():
    classes = few(20)
    perfect = count_mistakes(PerfectEngine(SPEC), {"End-Easy": classes["End-Easy"]})
    assert perfect["End-Easy"]["mistakes"] == 0
    assert count_mistakes(RandomEngine(SPEC), classes)["Middle-Easy"]["mistakes"] > 0


def tiny(path, game="connect4"):
    torch.manual_seed(0)
    save_checkpoint(path, build("mlp", {"encoding": game, "hidden": 8}), metrics={}, info={})
    return path


@pytest.mark.slow
def test_evaluate_counts_mistakes_of_a_network(tmp_path, monkeypatch, ckai):
    monkeypatch.setenv("CKAI_EVALUATOR", "torch")
    monkeypatch.setattr("ckai.rl.analysis.solved.solved_classes", lambda spec: few())
    tiny(tmp_path / "best.ckpt")  # of a run its best network is measured
    monkeypatch.setattr("ckai.cli.evaluate.SOLVED_VISITS", (2, 30))
    status, out, err = ckai("evaluate", tmp_path, "--solved", "--json")
    assert status == 0, err
    players = json.loads(out)["players"]
    assert list(players) == ["policy", "2 visits", "30 visits"]
    for by_class in players.values():
        assert list(by_class) == ["Middle-Easy", "End-Easy"]
        assert all(each["positions"] == 8 for each in by_class.values())
    assert players["30 visits"]["End-Easy"]["mistakes"] < players["policy"]["End-Easy"]["mistakes"]
    status, text, _ = ckai("evaluate", tmp_path / "best.ckpt", "--solved")
    low, high = players["policy"]["End-Easy"]["interval"]
    assert f"({low:.1%} to {high:.1%})" in text


def test_a_game_without_solved_positions_is_named(tmp_path, ckai):
    found, out, err = ckai("evaluate", tiny(tmp_path / "net.ckpt", "tictactoe"), "--solved")
    assert (found, out) == (1, "")
    assert "expected a game with classes of solved positions, found tictactoe" in err
