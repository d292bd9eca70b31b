"""The solver of Connect-4 against plain search, known values, and itself."""

import random

import pytest
from plain_connect4 import plain

from ckai.rl.games.connect4 import SPEC
from ckai.rl.solved import connect4_kernels as kernels
from ckai.rl.solved.connect4 import Book, Connect4Solver, Truth, truth_of


def played(moves):
    """The position after columns 0 to 6."""
    game = SPEC.game(SPEC.position())
    for column in moves:
        game.push(str(column + 1))
    return game.position


def random_moves(rng, stones):
    """Random moves to a position with so many stones in which the game goes on."""
    while True:
        game = SPEC.game(SPEC.position())
        moves = []
        while len(moves) < stones and game.outcome() is None:
            move = rng.choice(game.position.legal_moves())
            moves.append(int(str(move)) - 1)
            game.push(move)
        if len(moves) == stones and game.outcome() is None:
            return moves


@pytest.fixture(scope="module")
def solver():
    return Connect4Solver(megabytes=8)


def compare(solver, rng, stones):
    moves = random_moves(rng, stones)
    assert solver.score(played(moves)) == plain(moves), moves


def test_scores_are_those_of_plain_search(solver):
    rng = random.Random(1)
    for _ in range(200):
        compare(solver, rng, rng.randrange(27, 42))


@pytest.mark.slow
def test_a_thousand_positions_from_20_stones_on(solver):
    rng = random.Random(2)
    for _ in range(1000):
        compare(solver, rng, rng.randrange(20, 42))


def test_every_move_has_the_score_of_what_it_leads_to(solver):
    rng = random.Random(3)
    for _ in range(40):
        position = played(random_moves(rng, rng.randrange(24, 41)))
        scores = solver.move_scores(position)
        game = SPEC.game(position)
        assert sorted(scores) == sorted(int(str(move)) - 1 for move in game.position.legal_moves())
        assert max(scores.values()) == solver.score(position)
        for column, score in scores.items():
            game = SPEC.game(position)
            game.push(str(column + 1))
            if game.outcome() is None:
                assert score == -solver.score(game.position)
            else:
                assert (score > 0) == (game.outcome().winner is not None)


def test_mirrored_positions_have_the_same_score():
    rng = random.Random(4)
    for _ in range(30):
        moves = random_moves(rng, rng.randrange(26, 41))
        mirrored = [6 - column for column in moves]
        assert Connect4Solver(1).score(played(moves)) == Connect4Solver(1).score(played(mirrored))


def hard_position(seed):
    """A position that takes a thousand nodes."""
    rng = random.Random(seed)
    while True:
        position, solver = played(random_moves(rng, 24)), Connect4Solver(1)
        solver.score(position)
        if solver.visited > 1000:
            return position


def test_the_book_changes_no_score_and_saves_work():
    position, without = hard_position(5), Connect4Solver(4)
    solver = Connect4Solver(4, book_stones=28)
    assert solver.score(position) == without.score(position)
    again = Connect4Solver(4, book=solver.book())
    assert again.score(position) == without.score(position)
    assert again.visited < solver.visited / 4


def test_a_book_is_kept_in_a_file(tmp_path):
    position, solver = hard_position(9), Connect4Solver(4, book_stones=28)
    score = solver.score(position)
    solver.book().save(tmp_path / "book.npz")
    again = Connect4Solver(4, book=Book.load(tmp_path / "book.npz"))
    assert again.score(position) == score
    assert again.visited < solver.visited
    (tmp_path / "bad.npz").write_bytes(b"no book")
    with pytest.raises(ValueError, match=r"bad.npz: expected a book of Connect-4"):
        Book.load(tmp_path / "bad.npz")


def test_a_small_table_changes_no_score():
    rng = random.Random(6)
    for _ in range(20):
        moves = random_moves(rng, rng.randrange(24, 30))
        assert Connect4Solver(1).score(played(moves)) == Connect4Solver(16).score(played(moves))


@pytest.mark.parametrize(
    ("score", "stones", "truth"),
    [
        (1, 0, Truth(1, 41)),  # the first player wins with the 41st stone
        (0, 30, Truth(0, 12)),
        (18, 6, Truth(1, 1)),
        (18, 7, Truth(1, 1)),
        (-17, 7, Truth(-1, 2)),
        (-1, 37, Truth(-1, 4)),
    ],
)
def test_scores_say_plies(score, stones, truth):
    assert truth_of(score, stones) == truth


def test_the_plies_are_those_of_perfect_play(solver):
    rng = random.Random(7)
    for _ in range(20):
        game = SPEC.game(played(random_moves(rng, rng.randrange(26, 40))))
        truth, plies = solver.solve(game.position), 0
        while game.outcome() is None:
            scores = solver.move_scores(game.position)
            game.push(str(max(scores, key=scores.get) + 1))
            plies += 1
        assert plies == truth.plies
        winner = game.outcome().winner
        assert (winner is not None) == (truth.value != 0)


def test_winning_squares_are_those_of_the_rules():
    rng = random.Random(8)
    for _ in range(200):
        own, other = played(random_moves(rng, rng.randrange(0, 40))).state
        found = kernels.winning_squares(own, own | other)
        for column in range(7):
            for row in range(6):
                square = 1 << 7 * column + row
                if not (own | other) & square:
                    four = has_four(own | square)
                    assert bool(found & square) == four


def has_four(stones):
    return any(stones & stones >> shift & stones >> 2 * shift & stones >> 3 * shift for shift in (1, 6, 7, 8))


def test_what_cannot_be_solved_is_refused(solver):
    with pytest.raises(ValueError, match="found its end"):
        solver.score(played([0, 1, 0, 1, 0, 1, 0]))
    with pytest.raises(ValueError, match="at least 1 megabyte"):
        Connect4Solver(0)
