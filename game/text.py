"""Text that people write: FEN, moves, and what may be printed of it.

FEN for draughts is as PDN 3.0 defines it: `B:W18,24,K10:B1-12`, optionally with `:H5:F20` behind it. The
reader accepts what occurs in real files and what people paste: either order of the colours, ranges (`B1-12`,
`BK1-3`), a final dot, spaces, lower case, an empty side, surrounding quotes, the whole tag
(`[FEN "W:W18:B4"]`), and the optional fields `H` and `F`. `H` is the halfmove clock: plies since the last
capture or man's move. `F`, the move number, is ignored because a position has none. Errors quote the text as
it was typed.
"""

import re
import unicodedata
from typing import NoReturn

from ckai.game.squares import SQUARES

FEN_TAG = re.compile(r'\s*\[\s*FEN\s*"([^"]*)"\s*\]', re.IGNORECASE)
"""A FEN in its tag, at the start of a text; group 1 is the FEN."""
_FLAGS = re.ASCII | re.IGNORECASE
_FEN = re.compile(r"([BW])\s*:\s*([BW])([^:]*):\s*([BW])([^:]*?)((?:\s*:\s*[HF]\d{1,5})*)\s*\.?", _FLAGS)
_PIECES = re.compile(r"\s*(K?)\s*(\d{1,2})\s*(?:-\s*(K?)\s*(\d{1,2})\s*)?", _FLAGS)
MOVE = re.compile(r"\s*([0-9]{1,2})((?:\s*[-xX:\u2013*]\s*[0-9]{1,2})+)\s*\Z")
"""A move such as `11-15` or `26x17x10`."""


class PositionError(ValueError):
    """A position that the rules exclude, or text that is not a FEN."""


class MoveError(ValueError):
    """A text that is no move, is illegal or fits several moves; quotes it and lists the legal ones."""


def parse_fen(text: str) -> tuple[str, dict[int, str], int]:
    """Read a FEN; PositionError if the text is none or puts two pieces on a square. Rules are not checked.

    Returns:
        The side to move, the pieces as of `Position.pieces`, and the halfmove clock, 0 without one.
    """

    def refuse(problem: str) -> NoReturn:
        raise PositionError(f"FEN {text[:80]!r}: {problem}")

    tag = FEN_TAG.match(text)
    inner = tag[1] if tag and not text[tag.end() :].strip() else text
    found = _FEN.fullmatch(inner.strip().strip("\"'").strip())
    if not found or found[2].upper() == found[4].upper():
        refuse("expected the side to move, one list W... and one list B..., such as B:W21-32:B1-12")
    turn, *lists, fields = found.groups()
    pieces: dict[int, str] = {}
    for color, squares in (lists[:2], lists[2:]):
        for item in filter(str.strip, squares.split(",")):
            piece = _PIECES.fullmatch(item)
            if not piece:
                refuse(f"expected a square such as 18, K18 or 1-12, found {item.strip()[:20]!r}")
            first, last = int(piece[2]), int(piece[4] or piece[2])
            if not 1 <= first <= last <= SQUARES:
                refuse(f"expected squares from 1 to 32, low square first, found {item.strip()!r}")
            letter = color.upper() if piece[1] or piece[3] else color.lower()
            for square in range(first, last + 1):
                if square in pieces:
                    refuse(f"two pieces on square {square}")
                pieces[square] = letter
    clock = re.search(r"H(\d+)", fields, re.IGNORECASE)
    return "black" if turn.upper() == "B" else "white", pieces, int(clock[1]) if clock else 0


def printable(text: str, most: int | None = None) -> str:
    """Return text in which `?` stands for each character that a terminal may obey instead of showing it.

    These are control characters (C0, C1 and DEL), marks of the direction of writing, and surrogates, of file
    names that are no UTF-8. Line ends stay, a tab becomes a space.

    Args:
        text: any text.
        most: characters after which it is cut, and ends with `...`; None: it is not.

    >>> printable("a\\x1b[31mb\\x9b0m"), printable("11-15" * 9, most=12)
    ('a?[31mb?0m', '11-1511-1...')
    """
    if most is not None and len(text) > most:
        text = text[: most - 3] + "..."
    return "".join(
        c if c == "\n" or unicodedata.category(c)[0] != "C" else " " if c == "\t" else "?" for c in text
    )
