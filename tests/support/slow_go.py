"""9x9 Go once more, slow and obvious: stones in a dict, chains by flood fill, every earlier board kept."""

from dataclasses import dataclass

SIZE, PASS = 9, 81
Board = dict[int, str]
"""`b` or `w` by point, 9 * row + column; empty points are left out."""


def beside(point):
    row, column = divmod(point, SIZE)
    around = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return [SIZE * r + c for r, c in around if 0 <= r < SIZE and 0 <= c < SIZE]


def region(board, point):
    """The points connected with a point that look like it, and the points beside them."""
    inside, edge, todo = {point}, set(), [point]
    while todo:
        for other in beside(todo.pop()):
            if board.get(other) != board.get(point):
                edge.add(other)
            elif other not in inside:
                inside.add(other)
                todo.append(other)
    return inside, edge


def has_liberty(board, point):
    return any(other not in board for other in region(board, point)[1])


def place(board, point, side):
    """The board after a stone, or None for a suicide."""
    after = {**board, point: side}
    for other in beside(point):
        if after.get(other, side) != side and not has_liberty(after, other):
            for stone in region(after, other)[0]:
                del after[stone]
    return after if has_liberty(after, point) else None


def area(board):
    """Black's area less White's."""
    score = 0
    for point in range(SIZE * SIZE):
        owners = {board[point]} if point in board else {board[other] for other in region(board, point)[1]}
        score += (owners == {"b"}) - (owners == {"w"})
    return score


@dataclass
class SlowGo:
    """A game from the empty board."""

    def __post_init__(self):
        self.boards, self.actions = [{}], []

    @property
    def side(self):
        return "bw"[len(self.actions) % 2]

    def legal(self):
        board = self.boards[-1]
        points = []
        for point in range(SIZE * SIZE):
            if point not in board:
                after = place(board, point, self.side)
                if after is not None and after not in self.boards:
                    points.append(point)
        return [*points, PASS]

    def play(self, action):
        board = self.boards[-1]
        self.boards.append(board if action == PASS else place(board, action, self.side))
        self.actions.append(action)

    def over(self, length=2 * SIZE * SIZE):
        return self.actions[-2:] == [PASS, PASS] or len(self.actions) >= length
