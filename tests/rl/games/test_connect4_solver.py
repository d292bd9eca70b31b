"""The solver of Connect-4 against plain search, known values, and itself."""

import random

import pytest
from plain_connect4 import plain, random_moves

from ckai.rl.games.connect4 import SPEC, kernels
from ckai.rl.games.connect4.book import INSTALLED, Book, positions_with
from ckai.rl.games.connect4.classes import solved_value
from ckai.rl.games.connect4.solver import Connect4Solver
from ckai.rl.games.solving import SolvedValue


def played(moves):
    """The position after columns 0 to 6."""
    game = SPEC.game(SPEC.position())
    for column in moves:
        game.push(str(column + 1))
    return game.position


@pytest.fixture(scope="module")
def solver():
    return Connect4Solver(8, None)


@pytest.mark.slow
def test_scores_are_those_of_plain_search(solver):
    rng = random.Random(2)
    for _ in range(250):
        moves = random_moves(rng, rng.randrange(14, 42))
        assert solver.score(played(moves)) == plain(moves), moves


@pytest.mark.slow
def test_every_move_has_the_truth_of_what_it_leads_to(solver):
    rng = random.Random(3)
    for _ in range(40):
        position = played(random_moves(rng, rng.randrange(24, 41)))
        moves = solver.moves(position)
        assert list(moves) == position.legal_moves()
        assert max(moves.values(), key=lambda truth: truth.order) == solver.solve(position)
        for move, truth in moves.items():
            after = position.push(move)
            if after.outcome() is None:
                assert (
                    truth == solved_value(solver.score(after), sum(map(int.bit_count, after.state))).before()
                )
            else:
                assert truth == SolvedValue(int(after.outcome().winner is not None), 1)


def small_book(stones, known):
    """A book that knows these positions."""
    book = Book.empty(stones)
    keys = positions_with(stones).keys.tolist()
    for moves, score in known.items():
        own, other = played(moves).state
        key = own + (own | other) + kernels.BOTTOM
        book.bounds[keys.index(min(key, int(kernels.mirrored(key))))] = score
    return book


@pytest.mark.slow
def test_a_book_is_asked_instead_of_a_search(tmp_path):
    """All replies to the first stone are in the book, and the best of them makes the score."""
    replies = {(3, column): score for column, score in enumerate([9, 8, 7, 5, 7, 8, 9])}
    small_book(2, replies).save(tmp_path / "book.npz")
    solver = Connect4Solver(1, tmp_path / "book.npz")
    assert solver.score(played([3])) == -5
    assert solver.visited < 500
    assert solver.score(played([3, 3])) == 5
    assert solver.score(played([3, 6])) == solver.score(played([3, 0])) == 9


def test_positions_of_a_book_are_all_there_are():
    states, counts = {played([]).state}, []
    for stones in range(6):
        assert len(positions_with(stones).keys) == len(states)
        counts.append(len(states))
        after = [
            SPEC.position(state).push(move).state
            for state in states
            for move in SPEC.position(state).legal_moves()
        ]
        states = {min(state, mirror(state)) for state in after}
    assert counts[:4] == [1, 4, 25, 121]


def mirror(state):
    columns = [[word >> 7 * column & 127 for column in range(7)] for word in state]
    return tuple(sum(bits << 7 * (6 - i) for i, bits in enumerate(word)) for word in columns)


def test_the_installed_book_can_be_read():
    bounds = Book.load(INSTALLED).bounds
    assert (bounds[:, 0] == bounds[:, 1]).any()
    assert INSTALLED.stat().st_size < 200_000


@pytest.mark.slow
def test_the_first_position_is_solved_with_the_installed_book():
    assert Connect4Solver(64).solve(SPEC.position()) == SolvedValue(1, 41)


def test_a_file_that_is_no_book_is_refused(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"no book")
    with pytest.raises(ValueError, match=r"bad.npz: expected a book of Connect-4"):
        Connect4Solver(1, tmp_path / "bad.npz")
    Book(3, Book.empty(2).bounds).save(tmp_path / "short.npz")
    with pytest.raises(ValueError, match=r"found none .*25.* for 3 stones"):
        Connect4Solver(1, tmp_path / "short.npz")
    with pytest.raises(ValueError, match="expected a book of 0 to 10 stones, found 11"):
        Book.empty(11)


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
        game = SPEC.game(played(random_moves(rng, rng.randrange(26, 40))))
        truth, plies = solver.solve(game.position), 0
        while game.outcome() is None:
            moves = solver.moves(game.position)
            game.push(max(moves, key=lambda move: moves[move].order))
            plies += 1
        assert plies == truth.plies
        winner = game.outcome().winner
        assert (winner is not None) == (truth.value != 0)


def test_what_cannot_be_solved_is_refused(solver):
    with pytest.raises(ValueError, match="found its end"):
        solver.score(played([0, 1, 0, 1, 0, 1, 0]))
    with pytest.raises(ValueError, match="at least 1 megabyte"):
        Connect4Solver(0)
    assert solver.solve(played([0, 1, 0, 1, 0, 1, 0])) == SolvedValue(-1, 0)
