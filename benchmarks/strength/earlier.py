"""The search of an earlier commit as a Hub program, so that `ckai match` plays today's search against it.

    git worktree add --detach ../earlier 3114909
    python -m venv ../earlier/.venv
    ../earlier/.venv/bin/pip install -c ../earlier/constraints.txt ../earlier
    ckai match --games 400 --tables none --adjudicate 5 --max-plies 150 --save search.json default.ckpt@1s \\
        "hub:../earlier/.venv/bin/python benchmarks/strength/earlier.py default.ckpt@1s"

Commits since `ckai engine` need no such help: `hub:` starts theirs. Before it there were only the players of
matches, and this is one of them, in the words that ckai had at 3114909. The limit of its argument counts, and
what the other side says of time does not.
"""

import sys

from ckai.game import Position
from ckai.rl.contestants import load_contestant
from ckai.rl.hub import find_move, hub_move, read_line


class Board:
    """The board of one player, which keeps its tree from move to move."""

    def __init__(self, player: str) -> None:
        """Load a player, such as `default.ckpt@1s`."""
        self.side = load_contestant(player).sit(1)
        self.position: Position | None = None

    def new_game(self) -> None:
        """Drop the tree."""
        self.position = None

    def go_to(self, position: Position) -> None:
        """Follow the other side's move, or begin a game here."""
        if self.position is not None:
            for move in self.position.legal_moves():
                if self.position.push(move).key == position.key:
                    for hop in move.labels:
                        self.side.play(0, hop)
                    self.position = position
                    return
        self.side.start(0, position, 0)
        self.position = position

    def play(self) -> str:
        """Search, play the best move, and return it in the protocol's form."""
        assert self.position is not None
        hops: list[int] = []
        while (move := self.position.move_of(hops) if hops else None) is None:
            hops += self.side.labels([0])
            self.side.play(0, hops[-1])
        self.position = self.position.push(move)
        return hub_move(move)


def read_position(text: str, moves: str) -> Position:
    """Read the side to move and squares 1 to 32, and play moves."""
    squares = list(enumerate(text[1:], 1))
    black, white = (
        ",".join(f"{'K' * piece.isupper()}{square}" for square, piece in squares if piece.lower() == colour)
        for colour in "bw"
    )
    position = Position.from_fen(f"{text[0]}:W{white}:B{black}")
    for one in moves.split():
        move = find_move(one, position)
        if move is None:
            raise ValueError(f"expected a legal move in {position.fen}, found {one}")
        position = position.push(move)
    return position


def main() -> None:
    """Answer until `quit` or the end of the input."""
    board: Board | None = None
    for line in sys.stdin:
        command, arguments = read_line(line)
        answer = ""
        if command == "hub":
            answer = "id name=earlier\nparam name=variant value=english type=enum values=english\nwait"
        elif command == "init":
            board = Board(sys.argv[1])
            board.go_to(Position.start())
            board.play()  # compiles
            answer = "ready"
        elif command == "quit":
            return
        elif board is not None and command == "new-game":
            board.new_game()
        elif board is not None and command == "pos":
            board.go_to(read_position(arguments["pos"], arguments.get("moves", "")))
        elif board is not None and command == "go":
            answer = f"done move={board.play()}"
        if answer:
            print(answer, flush=True)


if __name__ == "__main__":
    main()
