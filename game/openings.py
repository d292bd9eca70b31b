"""The openings of checkers that have names, and the three-move ballot of tournaments.

A name belongs to a position, however it was reached. The names are as in the game's literature: R. Fortman's
books, startcheckers.com and the list in the program CheckerBoard.

The ballot is the American Checker Federation's, by its numbers: 174 openings, which are all positions after
three plies in which no man is lost by force. One without a name of its own is called by the first moves that
have one and the moves after them: `Edinburgh, 21-17 5-9`.
"""

from collections.abc import Iterable
from functools import cache

from ckai.game.position import Position

_LINES = """\
Edinburgh: 9-13; Double Corner: 9-14; Denny: 10-14; Kelso: 10-15; Old Faithful: 11-15; Bristol: 11-16; Dundee: 12-16
Single Corner: 11-15 22-18; Cross: 11-15 23-18; Switcher: 11-15 21-17; Second Double Corner: 11-15 24-19
Ayrshire Lassie: 11-15 24-20; Dyke: 11-15 22-17 15-19; White Dyke: 11-15 22-17 8-11 17-14
Pioneer: 11-15 22-17 8-11 25-22; Maid of the Mill: 11-15 22-17 8-11 17-13 15-18
Douglas: 11-15 22-17 8-11 17-13 4-8 25-22; Wagram: 11-15 22-17 9-13 24-20; Boston: 11-15 22-17 9-13 17-14
Waterloo: 11-15 23-18 8-11 18-14; Slip Cross: 11-15 23-18 8-11 27-23 11-16
Will o' the Wisp: 11-15 23-19 9-13; Defiance: 11-15 23-19 9-14 27-23; Fife: 11-15 23-19 9-14 22-17 5-9
Souter: 11-15 23-19 9-14 22-17 6-9; Whilter: 11-15 23-19 9-14 22-17 7-11
Nailor: 11-15 23-19 8-11 26-23; Tillicoultry: 11-15 23-19 8-11 22-18; Alma: 11-15 23-19 8-11 22-17 3-8
Old Fourteenth: 11-15 23-19 8-11 22-17 4-8; Glasgow: 11-15 23-19 8-11 22-17 11-16
Centre: 11-15 23-19 8-11 22-17 15-18; Laird and Lady: 11-15 23-19 8-11 22-17 9-13
Laird and Lady Refused: 11-15 23-19 8-11 22-17 9-13 25-22
Black Doctor: 11-15 23-19 8-11 22-17 9-13 17-14 10x17 19x10 7x14
Bristol Cross: 11-16 23-18; Paisley: 11-16 24-19; Black Widow: 11-16 23-19; Shark: 11-16 21-17 10-14
Cheetah: 11-16 22-18 10-15; Oliver's Twister: 11-16 21-17 8-11 17-14
Kelso Cross: 10-15 23-18; Tyne: 10-15 21-17 9-13; Nutcracker: 10-15 22-17 9-14; Skull-Cracker: 10-15 22-17 15-19
Gemini II: 10-15 23-19 11-16; Gemini I: 10-14 22-17 11-16; Black Hole: 10-14 22-17 9-13
Fraser's Inferno: 10-14 22-18 7-10; White Doctor: 10-14 22-18 12-16; Diabolical Denny: 10-14 23-19 7-10
Double Cross: 9-14 23-18; Rattlesnake: 9-14 23-19 10-15; Edinburgh Single: 9-13 22-18
Dreaded Edinburgh: 9-13 22-18 6-9; Inferno: 9-13 22-18 10-14; Wilderness I: 9-13 22-18 11-16
Wilderness II: 9-13 23-18 11-16; Twilight Zone: 9-13 24-20 11-16
Minotaur: 12-16 21-17 9-14; Bonnie Dundee: 12-16 24-20 8-12; Skunk: 12-16 24-20 10-15
"""  # noqa: E501
OPENING_NAMES: dict[str, tuple[str, ...]] = {
    name: tuple(line.split())
    for name, line in (each.split(": ") for each in _LINES.strip().replace("\n", "; ").split("; "))
}
"""Moves by name."""

_BALLOTS = """\
9-13 21-17: 5-9 6-9 10-14; 9-13 22-17: 13x22; 9-13 22-18: 6-9 10-14 10-15 11-15 11-16 12-16
9-13 23-18: 5-9 6-9 10-14 10-15 11-15 11-16 12-16; 9-13 23-19: 5-9 6-9 10-14 10-15 11-16
9-13 24-19: 5-9 6-9 10-14 10-15 11-15 11-16; 9-13 24-20: 5-9 6-9 10-14 10-15 11-15 11-16 12-16
9-14 22-17: 5-9 6-9 11-15 11-16; 9-14 22-18: 5-9 10-15 11-15 11-16 12-16 14-17; 9-14 23-18: 14x23
9-14 23-19: 5-9 10-15 11-16 14-18; 9-14 24-19: 5-9 10-15 11-15 11-16; 9-14 24-20: 5-9 10-15 11-15 11-16
10-14 22-17: 7-10 9-13 11-15 11-16 14-18; 10-14 22-18: 6-10 7-10 11-15 11-16 12-16; 10-14 23-18: 14x23
10-14 23-19: 6-10 7-10 11-15 11-16 14-18; 10-14 24-19: 6-10 7-10 11-15 11-16 14-18
10-14 24-20: 6-10 7-10 11-15 11-16 14-18; 10-15 21-17: 6-10 7-10 9-13 9-14 11-16 15-18
10-15 22-17: 6-10 7-10 9-13 9-14 11-16 15-19; 10-15 22-18: 15x22; 10-15 23-18: 6-10 7-10 9-14 11-16 12-16
10-15 23-19: 6-10 7-10 11-16; 10-15 24-19: 15x24; 10-15 24-20: 6-10 7-10 11-16 15-19
11-15 21-17: 8-11 9-13 9-14 10-14 15-19; 11-15 22-17: 8-11 9-13 15-18 15-19; 11-15 22-18: 15x22
11-15 23-18: 8-11 9-14 10-14 12-16 15-19; 11-15 23-19: 8-11 9-13 9-14; 11-15 24-19: 15x24
11-15 24-20: 8-11 12-16 15-18; 11-16 21-17: 7-11 8-11 9-13 9-14 10-14 16-20
11-16 22-17: 7-11 8-11 9-13 16-20; 11-16 22-18: 7-11 8-11 10-15 16-19 16-20
11-16 23-18: 7-11 8-11 9-14 10-14 16-20; 11-16 23-19: 16x23; 11-16 24-19: 7-11 8-11 10-15 16-20
11-16 24-20: 7-11 16-19; 12-16 21-17: 9-13 9-14 16-19 16-20; 12-16 22-17: 16-19 16-20
12-16 22-18: 16-19 16-20; 12-16 23-18: 9-14 16-19 16-20; 12-16 23-19: 16x23; 12-16 24-19: 16-20
12-16 24-20: 8-12 10-15
"""
BALLOT: tuple[tuple[str, ...], ...] = tuple(
    (*first.split(), third)
    for first, thirds in (each.split(": ") for each in _BALLOTS.strip().replace("\n", "; ").split("; "))
    for third in thirds.split()
)
"""Moves of the ballots; number 1 is the first."""
POSITIONS = max(map(len, OPENING_NAMES.values())) + 4
"""Positions of a game, from the first, among which its opening is looked for: others may come there later."""


@cache
def openings_by_position() -> dict[tuple[int, int, bool], str]:
    """Return the names of the positions that have one, ballots included: (own, opp, black) of `Position`."""
    names = {}
    for line in BALLOT:  # before those with a name of their own
        plies, known = max((len(own), name) for name, own in OPENING_NAMES.items() if line[: len(own)] == own)
        rest = [move for move in line[plies:] if "x" not in move]  # a capture there is the only move
        names[_key(_after(line))] = f"{known}, {' '.join(rest)}" if rest else known
    return names | {_key(_after(line)): name for name, line in OPENING_NAMES.items()}


def opening_name(positions: Iterable[Position]) -> str | None:
    """Return the name of the opening of a game: of the last of its first positions that has one."""
    found = None
    for position, _ in zip(positions, range(POSITIONS), strict=False):
        found = openings_by_position().get(_key(position), found)
    return found


@cache
def _book() -> frozenset[tuple[int, int, bool]]:
    lines = (*OPENING_NAMES.values(), *BALLOT)
    return frozenset(_key(_after(line[:plies])) for line in lines for plies in range(1, len(line) + 1))


def is_book(position: Position) -> bool:
    """Return whether a position is on the way to one that has a name, or to a ballot."""
    return _key(position) in _book()


def _key(position: Position) -> tuple[int, int, bool]:
    return position.own, position.opp, position.black


@cache
def _after(line: tuple[str, ...]) -> Position:
    if not line:
        return Position.start()
    before = _after(line[:-1])
    return before.push(before.find_move(line[-1]))
