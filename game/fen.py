"""FEN for draughts, as PDN 3.0 defines it: `B:W18,24,K10:B1-12`, optionally with `:H5:F20` behind it.

The reader accepts what occurs in real files and what people paste: either order of the colours, ranges
(`B1-12`, `BK1-3`), a final dot, spaces, lower case, an empty side, surrounding quotes, the whole tag
(`[FEN "W:W18:B4"]`), and the optional fields `H` and `F`. `H` is the halfmove clock: plies since the last
capture or man's move. `F`, the move number, is ignored because a position has none. The writer adds `H` where
the clock is above 0. Errors quote the text as it was typed.
"""

import re
from typing import NamedTuple, NoReturn

from ckai.game.errors import PositionError

FEN_TAG = re.compile(r'\s*\[\s*FEN\s*"([^"]*)"\s*\]', re.IGNORECASE)
"""A FEN in its tag, at the start of a text; group 1 is the FEN."""
_PIECE = re.compile(r"([Kk]?)(\d{1,2})(?:-([Kk]?)(\d{1,2}))?\Z", re.ASCII)
_GAP = re.compile(r"\d\s+\d")
_CLOCK = re.compile(r"[HF]\d+\Z", re.ASCII | re.IGNORECASE)


class Placement(NamedTuple):
    """The contents of a FEN. Boards have bit = PDN square - 1, whichever side is to move."""

    black_to_move: bool
    black: int
    """All pieces of Black."""
    white: int
    """All pieces of White."""
    kings: int
    """The kings of both."""
    halfmove_clock: int = 0
    """Plies, from the H field; 0 without one."""


def parse_fen(text: str) -> Placement:
    """Read a FEN without checking the position beyond its squares.

    Raises:
        PositionError: if the text is not a FEN or puts two pieces on a square.

    >>> parse_fen("W:WK5:B1-2:H7")
    Placement(black_to_move=False, black=3, white=16, kings=16, halfmove_clock=7)
    """

    def refuse(problem: str) -> NoReturn:
        raise PositionError(f"FEN {text[:80]!r}: {problem}")

    tag = FEN_TAG.match(text)
    inner = tag[1] if tag and not text[tag.end() :].strip() else text
    gap = _GAP.search(inner)
    if gap:  # "1 8" may be 18 or two squares: refuse rather than guess
        refuse(f"expected a comma between squares, found {gap[0]!r}")
    compact = re.sub(r"\s+", "", inner.strip().strip("\"'")).rstrip(".")
    turn, *fields = compact.split(":")
    if turn.upper() not in ("B", "W"):
        refuse(f"expected B or W (the side to move) before the first ':', found {turn[:20]!r}")
    halfmove_clock = 0
    while fields and _CLOCK.match(fields[-1]):
        clock = fields.pop()
        if clock[0] in "Hh":
            if len(clock) > 6:
                refuse(f"expected a number of plies, found {clock[:20]!r}")
            halfmove_clock = int(clock[1:])
    colors = [field[:1].upper() for field in fields]
    if len(fields) > 2 and set(colors[:2]) == {"B", "W"} and colors[2] not in ("B", "W"):
        refuse(f"expected a clock such as H12 after the two lists, found {fields[2][:20]!r}")
    if len(fields) != 2 or set(colors) - {"", "B", "W"} or colors[0] == colors[1]:
        refuse("expected one list W... and one list B..., such as B:W21-32:B1-12")
    sides = {"B": 0, "W": 0}
    kings = 0
    for color, field in zip(colors, fields, strict=True):
        for item in field[1:].split(","):
            if not item:
                continue
            piece = _PIECE.match(item)
            if not piece:
                refuse(f"expected a square such as 18, K18 or 1-12, found {item[:20]!r}")
            first = int(piece[2])
            last = int(piece[4]) if piece[4] else first
            if first > last:
                refuse(f"expected a range such as {last}-{first}, low square first, found {item!r}")
            if not (1 <= first <= last <= 32):
                refuse(f"expected squares from 1 to 32, found {item!r}")
            for square in range(first, last + 1):
                bit = 1 << (square - 1)
                if (sides["B"] | sides["W"]) & bit:
                    refuse(f"two pieces on square {square}")
                sides[color] |= bit
                if piece[1] or piece[3]:
                    kings |= bit
    return Placement(turn.upper() == "B", sides["B"], sides["W"], kings, halfmove_clock)


def format_fen(placement: Placement) -> str:
    """Write a FEN: White first, squares ascending, no ranges, and the H field if the clock is above 0.

    >>> format_fen(parse_fen("W:B1-3:WK5:H0:F1")), format_fen(parse_fen("b:wk5:bk1:h7"))
    ('W:WK5:B1,2,3', 'B:WK5:BK1:H7')
    """

    def side(pieces: int) -> str:
        return ",".join(
            ("K" if placement.kings >> i & 1 else "") + str(i + 1) for i in range(32) if pieces >> i & 1
        )

    turn = "B" if placement.black_to_move else "W"
    clock = f":H{placement.halfmove_clock}" if placement.halfmove_clock else ""
    return f"{turn}:W{side(placement.white)}:B{side(placement.black)}{clock}"
