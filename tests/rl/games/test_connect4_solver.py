"""The solver of Connect-4 against plain search, known values, and itself."""

import random

import pytest

from ckai.rl.games.connect4 import SPEC
from ckai.rl.games.connect4.solver import Connect4Solver, solved_value
from ckai.rl.games.solving import SolvedValue, Solver


def played(moves):
    """The position after columns 0 to 6."""
    game = SPEC.game(SPEC.position())
    for column in moves:
        game.push(str(column + 1))
    return game.position


def random_position(rng, stones):
    """A position with so many stones in which the game goes on."""
    while True:
        position = SPEC.position()
        while (moves := position.legal_moves()) and sum(map(int.bit_count, position.state)) < stones:
            position = position.push(rng.choice(moves))
        if moves:
            return position


@pytest.fixture(scope="module")
def solver():
    return Connect4Solver(8, book=False)


def test_values_are_those_of_plain_search(solver):
    rng, plain = random.Random(2), Solver()
    for _ in range(30):
        position = random_position(rng, rng.randrange(30, 42))
        assert solver.solve(position) == plain.solve(position)


def test_the_book_is_asked_instead_of_a_search():
    solver = Connect4Solver(1)
    assert solver.solve(played([3, 3, 3, 3])) == SolvedValue(1, 37)  # the first player's only win
    assert solver.visited < 500


@pytest.mark.slow
def test_the_first_position_is_solved_with_the_installed_book():
    assert Connect4Solver(64).solve(SPEC.position()) == SolvedValue(1, 41)


@pytest.mark.parametrize(
    ("score", "stones", "truth"),
    [
        (1, 0, SolvedValue(1, 41)),  # the first player wins with the 41st stone
        (0, 30, SolvedValue(0, 12)),
        (18, 6, SolvedValue(1, 1)),
        (18, 7, SolvedValue(1, 1)),
        (-17, 7, SolvedValue(-1, 2)),
        (-1, 37, SolvedValue(-1, 4)),
    ],
)
def test_scores_say_plies(score, stones, truth):
    assert solved_value(score, stones) == truth


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
        winner = game.outcome().winner
        assert (winner is not None) == (truth.value != 0)
    assert solver.solve(played([0, 1, 0, 1, 0, 1, 0])) == SolvedValue(-1, 0)
