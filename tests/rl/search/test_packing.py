"""The bytes of a position are the same from Python, from rows and from the search's compiled rules."""

import numpy as np
from numba import njit
from positions import rotated, unpack_position

from ckai.game import Position
from ckai.models.inference.evaluator import pack_positions
from ckai.rl.games import contract
from ckai.rl.games.checkers import Checkers, pack


@njit(cache=True)
def _encode(game, state, out):
    contract.encode(game, state, out)


def encoded(position):
    """What the search writes of a position."""
    out = np.full(34, 99, np.int8)
    _encode(Checkers(), tuple(np.int64(word) for word in pack(position)), out)
    return out


def positions(count, seed=0):
    """Positions of random games, those between two hops of a capture included, and long halfmove clocks."""
    rng = np.random.default_rng(seed)
    position = Position.start()
    for _ in range(count):
        yield position
        actions = position.legal_actions()
        position = position.push_action(rng.choice(actions)) if actions else Position.start()
    for clock in (79, 126, 127, 128, 300):
        yield Position.from_fen(f"W:WK32,5:BK1:H{clock}")


def test_python_and_the_search_pack_alike():
    sample = list(positions(2000))
    assert any(position.jumper >= 0 for position in sample)
    packed = pack_positions(sample)
    assert packed.dtype == np.int8
    assert packed.tolist() == [encoded(position).tolist() for position in sample]
    assert packed.tolist() == pack_positions([rotated(position) for position in sample]).tolist()


def test_a_packed_position_is_unpacked_again():
    for position in positions(500, seed=1):
        (row,) = pack_positions([position])
        again = unpack_position(row[:32], int(row[32]), int(row[33]), black=position.black)
        assert again.key == position.key
        assert again.halfmove_clock == min(position.halfmove_clock, 127)
