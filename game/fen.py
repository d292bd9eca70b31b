"""FEN for draughts, as PDN 3.0 defines it: `B:W18,24,K10:B1-12`.

Reading forgives what is in the wild: either order of the colours, ranges (`B1-12`, `BK1-3`), a final
dot, spaces, lower case, an empty side, surrounding quotes, and the optional half-move fields (`H0:F1`),
of which `H` (plies since the last capture or man's move) is kept.
"""

import re
from dataclasses import dataclass

from ckai.game.errors import PositionError

_PIECE = re.compile(r"(K?)(\d{1,2})(?:-(K?)(\d{1,2}))?\Z", re.ASCII)
_GAP = re.compile(r"\d\s+\d")
_CLOCK = re.compile(r"[HF]\d+\Z", re.ASCII)


@dataclass(frozen=True)
class Placement:
    """Pieces of a FEN on squares 1..32, as bit sets (bit = square - 1), and who moves."""

    black_to_move: bool
    black: int
    white: int
    kings: int
    halfmove_clock: int = 0


def parse_fen(text: str) -> Placement:
    """Read a FEN.

    Raises:
        PositionError: if it is not a FEN or two pieces share a square.
    """
    gap = _GAP.search(text)
    if gap:  # 1 8 may be 18 or two squares: never guessed
        raise PositionError(f"FEN {text!r}: expected a comma between squares, found {gap[0]!r}")
    compact = re.sub(r"\s+", "", text.strip().strip("\"'")).upper().rstrip(".")
    turn, *fields = compact.split(":")
    if turn not in ("B", "W"):
        raise PositionError(
            f"FEN {text!r}: expected B or W (the side to move) before the first ':', found {turn!r}"
        )
    halfmove_clock = 0
    while fields and _CLOCK.match(fields[-1]):
        clock = fields.pop()
        if clock[0] == "H":
            if len(clock) > 6:
                raise PositionError(f"FEN {text[:80]!r}: expected a number of plies, found {clock[:20]!r}")
            halfmove_clock = int(clock[1:])
    if len(fields) != 2 or {f[:1] for f in fields} - {""} - {"B", "W"} or fields[0][:1] == fields[1][:1]:
        raise PositionError(f"FEN {text!r}: expected one list W... and one list B..., such as B:W21-32:B1-12")
    sides = {"B": 0, "W": 0}
    kings = 0
    for field in fields:
        for item in field[1:].split(","):
            if not item:
                continue
            found = _PIECE.match(item)
            if not found:
                raise PositionError(
                    f"FEN {text!r}: expected a square such as 18, K18 or 1-12, found {item!r}"
                )
            first = int(found[2])
            last = int(found[4]) if found[4] else first
            if not (1 <= first <= last <= 32):
                raise PositionError(f"FEN {text!r}: expected squares from 1 to 32, found {item!r}")
            for square in range(first, last + 1):
                bit = 1 << (square - 1)
                if (sides["B"] | sides["W"]) & bit:
                    raise PositionError(f"FEN {text!r}: two pieces on square {square}")
                sides[field[0]] |= bit
                if found[1] or found[3]:
                    kings |= bit
    return Placement(turn == "B", sides["B"], sides["W"], kings, halfmove_clock)


def format_fen(placement: Placement) -> str:
    """Write a FEN: White's pieces first, squares ascending, no ranges, no half-move fields."""

    def side(pieces: int) -> str:
        return ",".join(
            ("K" if placement.kings >> i & 1 else "") + str(i + 1) for i in range(32) if pieces >> i & 1
        )

    turn = "B" if placement.black_to_move else "W"
    return f"{turn}:W{side(placement.white)}:B{side(placement.black)}"
