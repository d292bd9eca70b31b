"""Shots of checkers: short lines that win men by force, found by alpha-beta on material."""

from dataclasses import dataclass

from ckai.game import Move, Position
from ckai.rl.games.checkers import material_value

DEPTH = 7
"""Plies searched for a shot, captures at the end not counted."""
LEAST = 70
"""Least gain of a shot, in hundredths of a man: a man, but not a crown."""
LATER = (2, 4)
"""Plies beyond the depth after which a gain must still stand: a man may be won back after the exchange."""


@dataclass(frozen=True)
class Shot:
    """A short line that wins material by force."""

    line: tuple[Move, ...]
    """Moves of both sides, the winning side first, to the end of the exchange."""
    taken: int
    """Pieces that the side wins in it."""
    given: int
    """Pieces that it gives up in it; a shot proper gives some first."""
    wins: bool = False
    """Whether the line ends the game."""


def find_shot(position: Position) -> Shot | None:
    """Return the shortest line by which the side to move wins a man or more by force.

    What pending captures win at once is no shot.

    >>> shot = find_shot(Position.from_fen("W:W14,22,26,29,30,31,32:B3,4,5,6,7,12,15,24"))
    >>> " ".join(map(str, shot.line)), shot.taken, shot.given
    ('14-10 7x14 22-18 14x23 26x19x10x1', 3, 2)
    >>> find_shot(Position.start()) is None
    True

    No shot: 24-20 15x24 20x11 7x16 27x20x11 wins three men for two, but 3-7 wins one back.

    >>> find_shot(Position.from_fen("W:W17,19,21,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,9,10,12,15,16"))
    """
    if not position.legal_moves():
        return None
    at_once = material_value(position, 0)
    for plies in range(1, DEPTH + 1):
        if material_value(position, plies) - at_once >= LEAST:
            shot = _shot(position, plies)
            # In the middle of an exchange a gain may only make up for what was given before.
            if shot.wins or shot.taken > shot.given:
                stands = (material_value(position, DEPTH + more) - at_once >= LEAST for more in LATER)
                return shot if all(stands) else None
    return None


def find_threat(position: Position) -> Shot | None:
    """Return the shot that the other side would have if the side to move passed; None if it must capture."""
    legal = position.legal_moves()
    if not legal or legal[0].is_capture:
        return None
    return find_shot(Position.from_pieces(position.pieces(), turn="white" if position.black else "black"))


def _shot(position: Position, plies: int) -> Shot:
    """Follow the best moves of both sides until the gain is on the board."""
    line: list[Move] = []
    counts = [0, 0]
    here, turn = position, 0
    while here.legal_moves():
        best = max(
            here.legal_moves(), key=lambda move: -material_value(here.push(move), plies - len(line) - 1)
        )
        line.append(best)
        counts[turn] += len(best.captured)
        here, turn = here.push(best), 1 - turn
        still = here.legal_moves() and (here.legal_moves()[0].is_capture or len(line) < plies)
        if not still or len(line) > 4 * DEPTH:
            break
    return Shot(tuple(line), counts[0], counts[1], wins=turn == 1 and not here.legal_moves())
