"""From the tokens of many games to rows, in Numba."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game import kernels as rules
from ckai.game.jit import inner, kernel
from ckai.game.outcome import HALFMOVE_LIMIT
from ckai.game.position import MAX_HALFMOVE_CLOCK
from ckai.pdn.lexer import BARE, CLOSE, JUNK, MOVE, NO_RESULT, NUMBER, OPEN, RESULT, UNCLOSED
from ckai.pdn.segments import next_word

# Why a game ends early
FINE, BAD_MOVE, UNREADABLE, OPEN_BRACE, OPEN_BRACKET, REFUSED, TOO_LONG = range(7)

MAX_PLIES = 32_768
"""Most plies of a game: the `ply` column of the rows is int16."""

GAME = np.dtype(
    [
        ("rows", np.int32),
        ("plies", np.int32),
        ("stop", np.int32),  # token after the main line: of the problem, else `end`
        ("end", np.int32),  # token of the result after the moves, or after the last token
        ("problem", np.uint8),
        ("result", np.uint8),  # of that token
    ],
    align=True,
)


class Columns(NamedTuple):
    """Columns of rows, one entry per hop; `ckai.datasets.schema` describes them."""

    game: NDArray[np.int32]
    ply: NDArray[np.int16]
    hop: NDArray[np.int8]
    black: NDArray[np.bool_]
    board: NDArray[np.int8]
    """[N, 32]."""
    jumper: NDArray[np.int8]
    quiet: NDArray[np.int16]
    legal: NDArray[np.uint8]
    """[N, 16]."""
    label: NDArray[np.uint8]
    z: NDArray[np.int8]
    """1, 0, -1 for the mover, UNKNOWN_Z without a result of play."""


UNKNOWN_Z = 2
"""Value of `Columns.z` in a game without a result, or with one that the moves did not decide."""


def make_columns(rows: int) -> Columns:
    """Allocate uninitialized columns for that many rows."""
    wide = {"board": 32, "legal": 16}
    kinds = (np.int32, np.int16, np.int8, np.bool_, np.int8, np.int8, np.int16, np.uint8, np.uint8, np.int8)
    shapes = ((rows, wide[name]) if name in wide else rows for name in Columns._fields)
    return Columns(*map(np.empty, shapes, kinds))


@inner
def stops(tokens, t, last):
    """Whether token `t` cannot stand among the moves: unreadable text, or a number without a move."""
    kind = tokens[t].kind
    if kind == BARE:
        after = next_word(tokens, t, last)
        if tokens[t].value == 255 or after >= last:
            return True
        follows = tokens[after].kind
        return follows != MOVE and follows != NUMBER and follows != RESULT and follows != OPEN
    return kind == JUNK


@kernel
def replay(tokens, squares, spans, starts, refused, first_number, games, columns):
    """Play games, and write their rows.

    Args:
        tokens: `[T]` TOKEN of the chunk.
        squares: `[S]` uint8, the squares of its moves.
        spans: `[G, 2]` int32, the tokens of its games.
        starts: `[G, 5]` int64, first positions: own, opp, kings, halfmove clock, whether Black is to move.
        refused: `[G]` bool, games that are not to be played.
        first_number: number in the source of the chunk's game 0.
        games: `[G]` GAME, filled.
        columns: `Columns`, filled from row 0, but for z; room for a row a move and 24 more a game, as many as
            there are pieces to capture.

    Returns:
        The number of rows.
    """
    row = 0
    moves = np.empty((rules.MAX_MOVES, rules.MAX_HOPS), np.uint8)
    lengths = np.empty(rules.MAX_MOVES, np.int8)
    path = np.empty(14, np.int64)
    for g in range(len(spans)):
        first, last = np.int64(spans[g, 0]), np.int64(spans[g, 1])
        own, opp, kings = starts[g, 0], starts[g, 1], starts[g, 2]
        halfmove_clock, black = min(starts[g, 3], HALFMOVE_LIMIT), starts[g, 4] != 0
        problem, stop, end = REFUSED if refused[g] else FINE, first, last
        first_row, plies, depth, bracket = row, 0, 0, first
        for t in range(first, last):
            kind = tokens[t].kind
            here = FINE
            if kind == OPEN:
                if depth == 0:
                    bracket = t
                depth += 1
            elif kind == CLOSE:
                depth = max(0, depth - 1)
            elif kind == RESULT:
                if depth == 0:
                    end = t
                    break
            elif problem != FINE:
                continue
            elif kind == UNCLOSED:
                here = OPEN_BRACE
            elif depth > 0:
                continue
            elif stops(tokens, t, last):
                here = UNREADABLE
            elif kind == MOVE and plies == MAX_PLIES:
                here = TOO_LONG
            elif kind == MOVE:
                count = np.int64(tokens[t].value)
                for i in range(count):
                    square = np.int64(squares[tokens[t].first + i])
                    path[i] = square - 1 if black else 32 - square
                chosen = rules.find_move(own, opp, kings, np.int64(-1), path[:count], moves, lengths)
                if chosen < 0:
                    here = BAD_MOVE
                else:
                    actions, jumper = moves[chosen], np.int64(-1)
                    for hop in range(lengths[chosen]):
                        columns.game[row] = first_number + g
                        columns.ply[row] = plies
                        columns.hop[row] = hop
                        columns.black[row] = black
                        rules.write_board(own, opp, kings, columns.board[row])
                        columns.jumper[row] = jumper
                        columns.quiet[row] = min(halfmove_clock, MAX_HALFMOVE_CLOCK)
                        rules.write_legal(own, opp, kings, jumper, columns.legal[row])
                        columns.label[row] = actions[hop]
                        own, opp, kings, jumper, halfmove_clock, _ = rules.apply_hop(
                            own, opp, kings, halfmove_clock, np.int64(actions[hop])
                        )
                        row += 1
                    black = not black
                    plies += 1
            if here != FINE:
                problem, stop = here, t
        if depth > 0 and problem == FINE:
            problem, stop = OPEN_BRACKET, bracket
        game = games[g]
        game.rows = row - first_row
        game.plies = plies
        game.problem = problem
        game.stop = stop if problem != FINE else end
        game.end = end
        game.result = tokens[end].value if end < last else NO_RESULT
    return row
