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
_FLAGS = re.ASCII | re.IGNORECASE
_FEN = re.compile(r"([BW])\s*:\s*([BW])([^:]*):\s*([BW])([^:]*?)((?:\s*:\s*[HF]\d{1,5})*)\s*\.?", _FLAGS)
_SQUARES = re.compile(r"\s*(K?)\s*(\d{1,2})\s*(?:-\s*(K?)\s*(\d{1,2})\s*)?", _FLAGS)


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
    """Read a FEN; PositionError if the text is none or puts two pieces on a square. Rules are not checked.

    >>> parse_fen("W:WK5:B1-2:H7")
    Placement(black_to_move=False, black=3, white=16, kings=16, halfmove_clock=7)
    """

    def refuse(problem: str) -> NoReturn:
        raise PositionError(f"FEN {text[:80]!r}: {problem}")

    tag = FEN_TAG.match(text)
    inner = tag[1] if tag and not text[tag.end() :].strip() else text
    found = _FEN.fullmatch(inner.strip().strip("\"'").strip())
    if not found or found[2].upper() == found[4].upper():
        refuse("expected the side to move, one list W... and one list B..., such as B:W21-32:B1-12")
    turn, *lists, fields = found.groups()
    clocks = re.findall(r"H(\d+)", fields, re.IGNORECASE)
    sides = {"B": 0, "W": 0}
    kings = 0
    for color, squares in (lists[:2], lists[2:]):
        for item in filter(str.strip, squares.split(",")):
            piece = _SQUARES.fullmatch(item)
            if not piece:
                refuse(f"expected a square such as 18, K18 or 1-12, found {item.strip()[:20]!r}")
            first, last = int(piece[2]), int(piece[4] or piece[2])
            if not 1 <= first <= last <= 32:
                refuse(f"expected squares from 1 to 32, low square first, found {item.strip()!r}")
            for square in range(first, last + 1):
                bit = 1 << (square - 1)
                if (sides["B"] | sides["W"]) & bit:
                    refuse(f"two pieces on square {square}")
                sides[color.upper()] |= bit
                kings |= bit if piece[1] or piece[3] else 0
    clock = int(clocks[0]) if clocks else 0
    return Placement(turn.upper() == "B", sides["B"], sides["W"], kings, clock)


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
