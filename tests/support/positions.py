"""Positions for property tests: every position of a random game, and boards set up at random."""

from dataclasses import replace

from hypothesis import strategies as st

from ckai.game import Position
from ckai.game.kernels import read_board

LATTICE = (6, 7, 8, 14, 15, 16, 22, 23, 24)
CIRCLES = (
    ((2, 9, 18, 11), (6, 7, 14, 15)),
    ((3, 10, 19, 12), (7, 8, 15, 16)),
    ((10, 17, 26, 19), (14, 15, 22, 23)),
    ((11, 18, 27, 20), (15, 16, 23, 24)),
)
"""Squares that a king passes on its way round, and the pieces of the other side that it takes."""


def unpack_position(board, jumper, halfmove_clock, *, black):
    """The position of a row or of packed bytes."""
    return Position(*map(int, read_board(board)), black, jumper, halfmove_clock)


def short(move):
    """First and last square only: `26x1` for `26x17x10x1`. Two moves may share it."""
    return f"{move.from_square}{'x' if move.captured else '-'}{move.to_square}"


def rotated(position):
    """The position with colours swapped and the board turned: the same moves in mover's view."""
    return replace(position, black=not position.black)


@st.composite
def games(draw, max_plies=120):
    """Every position of a game of random moves; failures shrink to short games."""
    position = draw(st.one_of(st.just(Position.start()), setups()))
    positions = [position]
    for pick in draw(st.lists(st.integers(0, 30), min_size=max_plies // 2, max_size=max_plies)):
        moves = position.legal_moves()
        if not moves:
            break
        position = position.push(moves[pick % len(moves)])
        positions.append(position)
    return positions


@st.composite
def setups(draw):
    """A board set up at random: any pieces, or pieces for kings to jump in circles."""
    black = draw(st.booleans())
    circles = draw(st.booleans())
    if circles:
        # A king on a circle round four pieces, and more pieces with gaps between them.
        round_, circle = draw(st.sampled_from(CIRCLES))
        victims = {*circle, *draw(st.lists(st.sampled_from(LATTICE), unique=True, max_size=6))}
        king = draw(st.sampled_from(round_))
        jumpers = {king, *draw(st.lists(st.sampled_from([1, 2, 3, 9, 10, 11, 17, 18]), max_size=3))}
        kings = draw(st.integers(0, 2**32 - 1)) | 1 << (king - 1)
        own = sum(1 << (square - 1) for square in jumpers)
        opp = sum(1 << (square - 1) for square in victims)
    else:
        pieces = draw(st.lists(st.integers(0, 4), min_size=32, max_size=32))
        own = sum(1 << i for i, piece in enumerate(pieces) if piece in (1, 2))
        opp = sum(1 << i for i, piece in enumerate(pieces) if piece in (3, 4))
        kings = sum(1 << i for i, piece in enumerate(pieces) if piece in (2, 4))
    own, opp = _at_most_12(own), _at_most_12(opp)
    kings = (kings | (own & 0xF0000000) | (opp & 0xF)) & (own | opp)
    return Position(own, opp, kings, black)


def _at_most_12(pieces):
    while pieces.bit_count() > 12:
        pieces &= pieces - 1
    return pieces
