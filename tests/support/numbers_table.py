"""The generated parts of docs/numbers.md. `python tests/support/numbers_table.py` writes them again."""

import re
from pathlib import Path

from ckai.game import Position
from ckai.game.squares import file_of, index_of, neighbour, square_of

PAGE = Path(__file__).parents[2] / "docs" / "numbers.md"


def board(black):
    """The board in the view of one side: index and square."""
    rows = []
    for row in range(8):
        cells = (f"{4 * row + column:>2}:{square_of(4 * row + column, black):<2}" for column in range(4))
        rows.append("     " * (1 - row % 2) + "     ".join(cells).rstrip())
    return "```text\n" + "\n".join(rows) + "\n```"


def actions_of(index):
    """The actions of the four directions, None where the step leaves the board."""
    return [index * 4 + d if neighbour(index, d) >= 0 else None for d in range(4)]


def examples():
    """Three squares in every system."""
    lines = [
        "| | square 1 | square 14 | square 32 |",
        "|---|---|---|---|",
    ]
    squares = (1, 14, 32)
    for black, name in ((True, "Black"), (False, "White")):
        at = [index_of(square, black) for square in squares]

        def line(what, cells, name=name):
            lines.append(f"| {name} to move: {what} | {' | '.join(map(str, cells))} |")

        line("index", at)
        line("row, column", ["{}, {}".format(*divmod(i, 4)) for i in at])
        line("file on the 8x8 board", [file_of(i) for i in at])
        line("bit", [f"`{1 << i:#010x}`" for i in at])
        line("plane `x[0, row, column]`", ["`x[0, {}, {}]`".format(*divmod(i, 4)) for i in at])
        line(
            "actions that stay on the board",
            [", ".join(str(x) for x in actions_of(i) if x is not None) for i in at],
        )
        line("bits of `legal`", [f"byte {i // 2}, bits {i % 2 * 4} to {i % 2 * 4 + 3}" for i in at])
    return "\n".join(lines)


def move():
    """One capture of two hops by each side."""
    lines = [
        "| move | FEN | hop | index | direction | action | jumper after it |",
        "|---|---|:---:|---:|---:|---:|---:|",
    ]
    for fen in ("B:W15,22:B11", "W:W22:B11,18"):
        position = Position.from_fen(fen)
        only = position.legal_moves()[0]
        for hop, action in enumerate(only.actions):
            position = position.push_action(action)
            index, direction = divmod(action, 4)
            after = position.jumper if position.jumper >= 0 else "none, the turn passes"
            lines.append(f"| `{only}` | `{fen}` | {hop} | {index} | {direction} | {action} | {after} |")
    return "\n".join(lines)


PARTS = {
    "board-black": lambda: board(True),
    "board-white": lambda: board(False),
    "examples": examples,
    "move": move,
}


def render(text):
    """The page with its generated parts as the code has them."""
    for name, make in PARTS.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, found = re.subn(pattern, lambda m, make=make: f"{m[1]}{make()}\n{m[2]}", text, flags=re.DOTALL)
        if found != 1:
            raise ValueError(f"{PAGE}: expected one place for {name}, found {found}")
    return text


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text()))
