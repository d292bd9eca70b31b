"""The rules as Numba kernels, all in one module: a cached kernel does not notice edits to other modules.

A position is three 32-bit boards held in int64 and always in mover's view (the side to move plays
from bit 0 towards bit 31): `own` and `opp` are all pieces of the mover and of the opponent, `kings`
the kings of both. `jumper` is the index of the piece that must continue capturing, -1 if none;
`halfmove_clock` counts the plies since the last capture or man's move. When the turn passes, the boards
are rotated.

Rules: World Checkers/Draughts Federation, *Official Rules of Checkers* (English draughts).
Capturing is compulsory, any capture may be chosen and must be carried through (1.17-1.19); a man that
reaches the last row becomes a king and its turn ends (1.16); kings step one square (1.15); no legal
move loses (1.30). Here a jumped piece is lifted at once: a landing square is never a jumped square
(both coordinates differ in parity), so this equals lifting at the end and forbids jumping it twice.

Masks stay int64: mixing unsigned integers with Python literals turns them into floats in Numba.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ckai.game.jit import inner, kernel, quick_kernel
from ckai.game.squares import NUM_ACTIONS, neighbour

FULL = 0xFFFFFFFF
EVEN = 0x0F0F0F0F
ODD = 0xF0F0F0F0
NOT_LEFT = 0xEEEEEEEE
NOT_RIGHT = 0x77777777
LAST_ROW = 0xF0000000
START = 0x00000FFF
START_OPP = 0xFFF00000

MAX_HOPS = 12
"""A move captures each of twelve pieces at most once."""
MAX_MOVES = 640
"""More than a position has: twelve pieces, with 51 ways or fewer to capture from any square."""

STEP_TO = np.array([neighbour(action // 4, action % 4) for action in range(NUM_ACTIONS)], np.int8)
"""[128] int8: index one step along each action, -1 off the board."""
JUMP_TO = np.array([neighbour(action // 4, action % 4, 2) for action in range(NUM_ACTIONS)], np.int8)
"""[128] int8: index two steps along each action, -1 off the board."""
_DIRECTION = np.full((32, 32), -1, np.int8)
"""Direction 0..3 by index and the index one or two steps away from it, -1 for other pairs."""
for _action in range(NUM_ACTIONS):
    for _to in (STEP_TO[_action], JUMP_TO[_action]):
        if _to >= 0:
            _DIRECTION[_action >> 2, _to] = _action & 3


@intrinsic
def popcount(typingctx, x):
    """Number of set bits of an int64."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic
def lowest(typingctx, x):
    """Index of the lowest set bit of a non-zero int64."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@intrinsic
def rotate(typingctx, x):
    """A board rotated by 180 degrees: its 32 low bits in reverse order."""

    def codegen(context, builder, signature, args):
        low = builder.trunc(args[0], ir.IntType(32))
        return builder.zext(builder.bitreverse(low), ir.IntType(64))

    return types.int64(types.int64), codegen


# --- steps -----------------------------------------------------


@inner
def up_right(x):
    """All squares of a set, one step up and right; squares that leave the board drop out."""
    return ((x & (EVEN & NOT_RIGHT)) >> 3) | ((x & ODD) >> 4)


@inner
def down_right(x):
    """All squares of a set, one step down and right; squares that leave the board drop out."""
    return (((x & (EVEN & NOT_RIGHT)) << 5) | ((x & ODD) << 4)) & FULL


@inner
def down_left(x):
    """All squares of a set, one step down and left; squares that leave the board drop out."""
    return (((x & EVEN) << 4) | ((x & (ODD & NOT_LEFT)) << 3)) & FULL


@inner
def up_left(x):
    """All squares of a set, one step up and left; squares that leave the board drop out."""
    return ((x & EVEN) >> 4) | ((x & (ODD & NOT_LEFT)) >> 5)


# --- hops ------------------------------------------------------------------------------------------


@inner
def jump_sources(movers, kings, opp, empty):
    """The `movers` that can jump, one set per direction: (up-right, down-right, down-left, up-left)."""
    crowned = movers & kings
    return (
        crowned & down_left(opp & down_left(empty)),
        movers & up_left(opp & up_left(empty)),
        movers & up_right(opp & up_right(empty)),
        crowned & down_right(opp & down_right(empty)),
    )


@inner
def step_sources(own, kings, empty):
    """The `own` pieces that can step, one set per direction: (up-right, down-right, down-left, up-left)."""
    crowned = own & kings
    return (
        crowned & down_left(empty),
        own & up_left(empty),
        own & up_right(empty),
        crowned & down_right(empty),
    )


@inner
def legal_hops(own, opp, kings, jumper):
    """The legal hops, as sets of source squares.

    Returns:
        (up-right, down-right, down-left, up-left, jumps): four sets, and whether they are jumps. Bit i of
        set d is action i * 4 + d. All zero: the side to move has lost.
    """
    empty = ~(own | opp) & FULL
    movers = own if jumper < 0 else np.int64(1) << jumper
    a, b, c, d = jump_sources(movers, kings, opp, empty)
    if a | b | c | d:
        return a, b, c, d, True
    a, b, c, d = step_sources(own, kings, empty)
    return a, b, c, d, False


@inner
def spread(x):
    """The 16 low bits of a set, bit i moved to bit 4 i."""
    x &= 0xFFFF
    x = (x | x << 24) & 0x000000FF000000FF
    x = (x | x << 12) & 0x000F000F000F000F
    x = (x | x << 6) & 0x0303030303030303
    return (x | x << 3) & 0x1111111111111111


@quick_kernel
def legal_actions(own, opp, kings, jumper, out):
    """Write the legal actions, ascending, into `out` (int array, room for all); return their number."""
    a, b, c, d, _ = legal_hops(own, opp, kings, jumper)
    n = 0
    for half in range(0, 32, 16):  # a branch per direction and square would often be mispredicted
        rest = spread(a >> half) | spread(b >> half) << 1 | spread(c >> half) << 2 | spread(d >> half) << 3
        while rest:
            action = lowest(rest)
            rest ^= np.int64(1) << action
            out[n] = 4 * half + action
            n += 1
    return n


@quick_kernel
def can_jump(bit, king, opp, empty):
    """Whether the piece on `bit` has a jump."""
    forward = (down_right(down_right(bit) & opp) | down_left(down_left(bit) & opp)) & empty
    if forward or not king:
        return forward != 0
    return ((up_right(up_right(bit) & opp) | up_left(up_left(bit) & opp)) & empty) != 0


@quick_kernel
def apply_hop(own, opp, kings, halfmove_clock, action):
    """Play one legal hop.

    Returns:
        (own, opp, kings, jumper, halfmove_clock, passed). If `passed`, the opponent is to move and the
        boards are in *its* view; else the same side continues with the piece on `jumper`.
    """
    start = np.int64(1) << (action >> 2)
    middle = np.int64(1) << STEP_TO[action]
    king = (kings & start) != 0
    jumper = np.int64(-1)
    if opp & middle:
        landing = np.int64(JUMP_TO[action])
        end = np.int64(1) << landing
        opp ^= middle
        kings &= ~middle
        own ^= start | end
        halfmove_clock = np.int64(0)
        if king:
            kings ^= start | end
            if can_jump(end, king, opp, ~(own | opp) & FULL):
                jumper = landing
        elif end & LAST_ROW:
            kings |= end
        elif can_jump(end, king, opp, ~(own | opp) & FULL):
            jumper = landing
    else:
        own ^= start | middle
        if king:
            kings ^= start | middle
            halfmove_clock = np.int64(halfmove_clock) + 1
        else:
            kings |= middle & LAST_ROW
            halfmove_clock = np.int64(0)
    if jumper >= 0:
        return own, opp, kings, jumper, halfmove_clock, False
    return rotate(opp), rotate(own), rotate(kings), jumper, halfmove_clock, True


# --- whole moves -----------------------------------------------------------------------------------


@kernel
def perft(own, opp, kings, jumper, depth):
    """Number of paths of `depth` whole moves (depth >= 1), draws by rule ignored."""
    a, b, c, d, jumps = legal_hops(own, opp, kings, jumper)
    if depth == 1 and not jumps:
        return popcount(a) + popcount(b) + popcount(c) + popcount(d)
    n = 0
    for direction in range(4):
        sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
        while sources:
            action = lowest(sources) * 4 + direction
            sources &= sources - 1
            o, p, k, j, _, passed = apply_hop(own, opp, kings, np.int64(0), action)
            if passed and depth == 1:
                n += 1
            else:
                n += perft(o, p, k, j, depth - 1 if passed else depth)
    return n


@quick_kernel
def legal_paths(own, opp, kings, jumper, path, actions, lengths):
    """Write whole moves as the actions of their hops, sorted by actions; return their number.

    Args:
        own, opp, kings, jumper: int64, mover's view.
        path: int array of mover's-view indices: write only the moves from the first to the last of them that
            visit the others in order, and other squares between; empty: all moves.
        actions: `[MAX_MOVES, MAX_HOPS]` uint8, filled with the actions of each move's hops.
        lengths: `[MAX_MOVES]` int8, filled with the number of hops.
    """
    n = 0
    # One frame per hop: the position before it, the actions to try, and the squares of the path visited.
    boards = np.empty((MAX_HOPS + 1, 4), np.int64)
    todo = np.empty((MAX_HOPS + 1, NUM_ACTIONS), np.uint8)
    count = np.empty(MAX_HOPS + 1, np.int64)
    taken = np.empty(MAX_HOPS + 1, np.int64)
    met = np.empty(MAX_HOPS + 1, np.int64)
    boards[0, 0], boards[0, 1], boards[0, 2], boards[0, 3] = own, opp, kings, jumper
    count[0] = legal_actions(own, opp, kings, jumper, todo[0])
    taken[0] = 0
    met[0] = 1
    level = 0
    while level >= 0:
        if taken[level] == count[level]:
            level -= 1
            continue
        action = np.int64(todo[level, taken[level]])
        taken[level] += 1
        if level == 0 and len(path) and (action >> 2) != path[0]:
            continue
        jumps = boards[level, 1] >> STEP_TO[action] & 1
        landing = np.int64(JUMP_TO[action] if jumps else STEP_TO[action])
        o, p, k, j, _, passed = apply_hop(
            boards[level, 0], boards[level, 1], boards[level, 2], np.int64(0), action
        )
        if passed:
            if len(path) == 0 or (landing == path[-1] and met[level] == len(path) - 1):
                for i in range(level + 1):
                    actions[n, i] = todo[i, taken[i] - 1]
                lengths[n] = level + 1
                n += 1
        else:
            seen = met[level]
            if seen < len(path) - 1 and landing == path[seen]:
                seen += 1
            level += 1
            boards[level, 0], boards[level, 1], boards[level, 2], boards[level, 3] = o, p, k, j
            count[level] = legal_actions(o, p, k, j, todo[level])
            taken[level] = 0
            met[level] = seen
    return n


@quick_kernel
def find_move(own, opp, kings, jumper, path, actions, lengths):
    """Find the one legal move along some squares; one that lands on exactly these wins over longer ones.

    Args:
        own, opp, kings, jumper: int64, mover's view.
        path: `[n]` int64 indices in mover's view; landing squares between the first and the last may be
            missing. No move fits numbers that are no indices.
        actions, lengths: filled, see `legal_paths`.

    Returns:
        The row of the move in `actions`; -1 if none fits, -2 if several do.
    """
    n = len(path)
    for i in range(n):
        if path[i] < 0 or path[i] > 31:
            return -1
    if n < 2:
        return -1
    if n == 2:
        # Nearly all moves: one step, or one jump that ends the turn.
        direction = _DIRECTION[path[0], path[1]]
        if direction >= 0:
            a, b, c, d, jumps = legal_hops(own, opp, kings, jumper)
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            action = path[0] * 4 + direction
            lands = np.int64(JUMP_TO[action] if jumps else STEP_TO[action])
            if sources >> path[0] & 1 and lands == path[1]:
                _, _, _, _, _, passed = apply_hop(own, opp, kings, np.int64(0), action)
                if passed:
                    actions[0, 0], lengths[0] = action, 1
                    return 0
    fits = legal_paths(own, opp, kings, jumper, path, actions, lengths)
    for row in range(fits):
        if lengths[row] == n - 1:
            return row
    if fits > 1:
        return -2
    return fits - 1


# --- network inputs and rows -----------------------------------------------------------------------


@quick_kernel
def write_board(own, opp, kings, out):
    """Fill `out` (`[32]` int8, mover's view): 1 own man, 3 own king, -1 / -3 the opponent's, 0 empty."""
    for i in range(32):  # branchless: the CPU would mispredict too many
        side = np.int32(own >> i & 1) - np.int32(opp >> i & 1)
        out[i] = side * (1 + 2 * np.int32(kings >> i & 1))


@inner
def read_board(board):
    """Return (own, opp, kings) of a board as `write_board` fills it; what comes after it is not read."""
    own, opp, kings = np.int64(0), np.int64(0), np.int64(0)
    for i in range(32):
        piece, bit = board[i], np.int64(1) << i
        own |= bit if piece > 0 else 0
        opp |= bit if piece < 0 else 0
        kings |= bit if abs(piece) == 3 else 0
    return own, opp, kings


@quick_kernel
def write_legal(own, opp, kings, jumper, out):
    """Fill `out` (`[16]` uint8) with the legal actions as little-endian bits."""
    a, b, c, d, _ = legal_hops(own, opp, kings, jumper)
    for byte in range(16):
        value = 0
        for half in range(2):
            at = byte * 2 + half
            bits = (a >> at & 1) | (b >> at & 1) << 1 | (c >> at & 1) << 2 | (d >> at & 1) << 3
            value |= bits << (4 * half)
        out[byte] = value
