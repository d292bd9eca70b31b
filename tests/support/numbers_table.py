"""The generated parts of docs/numbers.md. `python tests/support/numbers_table.py` writes them again."""

import re
from pathlib import Path

from ckai.game import Position
from ckai.game.squares import file_of, index_of, neighbour, square_of

PAGE = Path(__file__).parents[2] / "docs" / "numbers.md"


def board(black):
    """The 8x8 board in the view of one side: square over index."""
    line = "+" + "----+" * 8
    rows = [line]
    for row in range(8):
        above, below = [], []
        for file in range(8):
            here = [i for i in range(32) if i // 4 == row and file_of(i) == file]
            above.append(f" {square_of(here[0], black):2} " if here else "    ")
            below.append(f"{f'i{here[0]}':>4}" if here else "    ")
        rows += ["|" + "|".join(above) + "|", "|" + "|".join(below) + "|", line]
    return "```text\n" + "\n".join(rows) + "\n```"


def actions_of(index):
    """The actions of the four directions, None where the step leaves the board."""
    return [index * 4 + d if neighbour(index, d) >= 0 else None for d in range(4)]


def table():
    """Every square in every system."""
    lines = [
        "| index | row, column | file | bit | actions 0 / 1 / 2 / 3 | lead to index | bytes of `legal` "
        "| square, Black to move | square, White to move |",
        "|---:|:---:|:---:|:---:|:---:|:---:|:---:|---:|---:|",
    ]
    for index in range(32):
        actions = actions_of(index)
        row, column = divmod(index, 4)
        ends = [neighbour(index, d) for d in range(4)]
        half = "low" if index % 2 == 0 else "high"
        lines.append(
            f"| {index} | {row}, {column} | {file_of(index)} | `{1 << index:#010x}` "
            f"| {' / '.join('-' if x is None else str(x) for x in actions)} "
            f"| {' / '.join('-' if x < 0 else str(x) for x in ends)} "
            f"| {index // 2}, {half} half | {square_of(index, True)} | {square_of(index, False)} |"
        )
    return "\n".join(lines)


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
    "table": table,
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
