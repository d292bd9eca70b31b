"""The rules again, slow and obvious: a dict of squares on an 8x8 board, recursion, no bit and no label.

Shares nothing with `ckai.game`, not even the numbers of the squares, so that both are wrong together only if
the rules were read wrong twice. A taken piece stays on the board, marked, until the move is over, as the
rule book has it.

The board as players print it, White at the bottom: row 0 at the top, column 0 at the left; pieces stand on
the squares where row + column is odd. Square 1 is row 0, column 1; square 32 is row 7, column 6.
"""

SQUARES = {}
for _row in range(8):
    for _column in range(8):
        if (_row + _column) % 2 == 1:
            SQUARES[_row, _column] = len(SQUARES) + 1
PLACES = {number: place for place, number in SQUARES.items()}


def read(fen):
    """A FEN without ranges, clock ignored -> (board {(row, column): one of b B w W}, side 'b' or 'w')."""
    turn, *sides = fen.partition(":H")[0].split(":")
    board = {}
    for side in sides:
        for item in filter(None, side[1:].split(",")):
            man = side[0].lower()
            board[PLACES[int(item.removeprefix("K"))]] = man.upper() if item.startswith("K") else man
    return board, turn.lower()


def write(board, side):
    """The FEN of a board: White first, squares ascending."""

    def pieces(colour):
        places = sorted((SQUARES[place], piece) for place, piece in board.items() if piece.lower() == colour)
        return ",".join(("K" if piece.isupper() else "") + str(square) for square, piece in places)

    return f"{side.upper()}:W{pieces('w')}:B{pieces('b')}"


def other(side):
    return "w" if side == "b" else "b"


def directions(piece):
    down, up = [(1, -1), (1, 1)], [(-1, -1), (-1, 1)]
    if piece.isupper():
        return down + up
    return down if piece == "b" else up


def crowns(piece, place):
    return (piece == "b" and place[0] == 7) or (piece == "w" and place[0] == 0)


def captures_from(board, place, piece, taken):
    """All ways to go on capturing from a place: lists of (landing place, place of the piece taken).

    `board` has the moving piece lifted off and the taken pieces still on.
    """
    row, column = place
    ways = []
    for down, right in directions(piece):
        over = (row + down, column + right)
        to = (row + 2 * down, column + 2 * right)
        if to not in SQUARES or to in board:
            continue
        if over not in board or board[over].lower() != other(piece.lower()) or over in taken:
            continue
        if crowns(piece, to):
            ways.append([(to, over)])
            continue
        rest = captures_from(board, to, piece, [*taken, over])
        for way in rest:
            ways.append([(to, over), *way])
        if not rest:
            ways.append([(to, over)])
    return ways


def legal_moves(board, side, jumper=None):
    """{path of squares: (squares taken, board after the move)}; `jumper` is the square that must go on."""
    places = [place for place, piece in board.items() if piece.lower() == side]
    if jumper is not None:
        places = [PLACES[jumper]]
    moves = {}
    for place in places:
        lifted = {p: piece for p, piece in board.items() if p != place}
        for way in captures_from(lifted, place, board[place], []):
            end = way[-1][0]
            after = {p: piece for p, piece in lifted.items() if p not in [over for _, over in way]}
            after[end] = board[place].upper() if crowns(board[place], end) else board[place]
            path = (SQUARES[place], *(SQUARES[to] for to, _ in way))
            moves[path] = (tuple(SQUARES[over] for _, over in way), after)
    if moves:
        return moves
    for place in places:
        piece = board[place]
        for down, right in directions(piece):
            to = (place[0] + down, place[1] + right)
            if to in SQUARES and to not in board:
                after = {p: other_piece for p, other_piece in board.items() if p != place}
                after[to] = piece.upper() if crowns(piece, to) else piece
                moves[SQUARES[place], SQUARES[to]] = ((), after)
    return moves
