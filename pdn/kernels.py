"""The fast reader: from the tokens of many games to rows, in Numba."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game import kernels as rules
from ckai.game.jit import inner, kernel
from ckai.game.outcome import HALFMOVE_LIMIT
from ckai.game.position import MAX_HALFMOVE_CLOCK
from ckai.game.squares import NUM_ACTIONS
from ckai.pdn.lexer import BARE, CLOSE, JUNK, MOVE, NO_RESULT, NUMBER, OPEN, RESULT, UNCLOSED
from ckai.pdn.segments import next_word

# Why a game ends early
FINE, BAD_MOVE, UNREADABLE, OPEN_BRACE, OPEN_BRACKET, REFUSED, TOO_LONG = range(7)

MAX_PLIES = 32_768
"""Most plies of a game: the `ply` column of the rows is int16."""

GAME = np.dtype(
    [
        ("first_row", np.int64),
        ("rows", np.int32),
        ("plies", np.int32),
        ("problem", np.uint8),
        ("result", np.uint8),  # of the token, else of the tag
        ("conflict", np.uint8),  # whether token and tag differ
    ],
    align=True,
)

START = np.dtype(
    [
        ("own", np.int64),
        ("opp", np.int64),
        ("kings", np.int64),
        ("halfmove_clock", np.int64),
        ("black", np.bool_),
        ("refused", np.bool_),
        ("forfeit", np.bool_),  # lost in another way than on the board: rows without z
    ],
    align=True,
)

_DIRECTION = np.full((32, 32), -1, np.int8)
"""Direction 0..3 by index and the index one or two steps away from it, -1 for other pairs."""
for _action in range(NUM_ACTIONS):
    for _to in (rules.STEP_TO[_action], rules.JUMP_TO[_action]):
        if _to >= 0:
            _DIRECTION[_action >> 2, _to] = _action & 3


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
def find_actions(own, opp, kings, black, squares, actions, lengths, path):
    """Resolve the PDN squares of a written move to the actions of its hops.

    A move whose landing squares are those written wins over longer ones; otherwise exactly one must fit.

    Args:
        own, opp, kings: int64 boards in mover's view.
        black: whether Black is to move.
        squares: `[2..13]` uint8 as written: 0..255.
        actions, lengths: filled, see `rules.legal_paths`.
        path: `[14]` int64, scratch.

    Returns:
        The row of the move in `actions`, -1 if none fits or several do.
    """
    n = len(squares)
    for i in range(n):
        square = np.int64(squares[i])
        if square < 1 or square > 32:
            return -1
        path[i] = square - 1 if black else 32 - square
    if n == 2:
        # Nearly all moves: one step, or one jump that ends the turn.
        direction = _DIRECTION[path[0], path[1]]
        if direction >= 0:
            a, b, c, d, jumps = rules.legal_hops(own, opp, kings, -1)
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            action = path[0] * 4 + direction
            lands = np.int64(rules.JUMP_TO[action] if jumps else rules.STEP_TO[action])
            if sources >> path[0] & 1 and lands == path[1]:
                _, _, _, _, _, passed = rules.apply_hop(own, opp, kings, np.int64(0), action)
                if passed:
                    actions[0, 0], lengths[0] = action, 1
                    return 0
    fits = rules.legal_paths(own, opp, kings, np.int64(-1), path[:n], actions, lengths)
    for row in range(fits):
        if lengths[row] == n - 1:
            return row
    return 0 if fits == 1 else -1


@kernel
def stops(tokens, t, last):
    """Whether token `t` cannot stand among the moves: unreadable text, or a number without a move.

    A move number may precede a remark in brackets, or a result in place of the move.
    """
    kind = tokens[t].kind
    if kind == JUNK:
        return True
    if kind == BARE:
        after = next_word(tokens, t, last)
        if tokens[t].value == 255 or after >= last:
            return True
        follows = tokens[after].kind
        return follows != MOVE and follows != NUMBER and follows != RESULT and follows != OPEN
    return False


@kernel
def replay(tokens, squares, segments, starts, games, columns, first_game, first_number):
    """Play games and write their rows, until all are done or the columns might not hold the next one.

    Args:
        tokens: `[T]` TOKEN of the chunk.
        squares: `[S]` uint8, the squares of its moves.
        segments: `[G]` SEGMENT, its games.
        starts: `[G]` START, first positions; games marked `refused` are counted but not played.
        games: `[G]` GAME, filled.
        columns: `Columns`, filled from row 0.
        first_game: index 0..G-1 of the game to start with.
        first_number: number in the source of the chunk's game 0.

    Returns:
        (index of the next game, rows written).
    """
    row = 0
    moves = np.empty((rules.MAX_MOVES, rules.MAX_HOPS), np.uint8)
    lengths = np.empty(rules.MAX_MOVES, np.int8)
    path = np.empty(14, np.int64)
    g = first_game
    while g < len(segments):
        first, last = np.int64(segments[g].first), np.int64(segments[g].last)
        if row + 2 * (last - first) + 1024 > len(columns.game) and row > 0:
            break
        game = games[g]
        game.first_row = row
        game.problem = REFUSED if starts[g].refused else FINE
        own, opp, kings, black = starts[g].own, starts[g].opp, starts[g].kings, starts[g].black
        halfmove_clock, plies, depth = min(starts[g].halfmove_clock, HALFMOVE_LIMIT), 0, 0
        token_result = NO_RESULT
        t = first
        while t < last:
            kind = tokens[t].kind
            if token_result != NO_RESULT:
                pass  # comments after the result
            elif kind == OPEN:
                depth += 1
            elif kind == CLOSE:
                depth = max(0, depth - 1)
            elif kind == RESULT:
                if depth == 0:
                    token_result = tokens[t].value
            elif game.problem != FINE:
                pass
            elif kind == UNCLOSED:
                game.problem = OPEN_BRACE
            elif depth > 0:
                pass
            elif stops(tokens, t, last):
                game.problem = UNREADABLE
            elif kind == MOVE and plies == MAX_PLIES:
                game.problem = TOO_LONG
            elif kind == MOVE:
                begin = tokens[t].first
                written = squares[begin : begin + tokens[t].value]
                chosen = find_actions(own, opp, kings, black, written, moves, lengths, path)
                if chosen < 0 or row + lengths[chosen] > len(columns.game):
                    game.problem = BAD_MOVE
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
            t += 1
        if depth > 0 and game.problem == FINE:
            game.problem = OPEN_BRACKET
        game.plies = plies
        game.rows = row - game.first_row
        tag = segments[g].result_tag
        game.result = token_result if token_result != NO_RESULT else tag
        game.conflict = token_result != NO_RESULT and tag != NO_RESULT and tag != token_result
        for r in range(game.first_row, row):
            if starts[g].forfeit:
                columns.z[r] = UNKNOWN_Z
            elif game.result == 1 or game.result == 2:
                columns.z[r] = 1 if (game.result == 1) == columns.black[r] else -1
            else:
                columns.z[r] = 0 if game.result == 3 else UNKNOWN_Z
        g += 1
    return g, row
