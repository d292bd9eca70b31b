"""Openings of checkers that have names, with their moves; Black begins.

The names are those of the game's literature, where each of the seven first moves has one.
"""

_LINES = {
    "Old Faithful": "11-15",
    "Bristol": "11-16",
    "Edinburgh": "9-13",
    "Double Corner": "9-14",
    "Denny": "10-14",
    "Kelso": "10-15",
    "Dundee": "12-16",
    "Single Corner": "11-15 22-18",
    "Cross": "11-15 23-18",
    "Switcher": "11-15 21-17",
    "Second Double Corner": "11-15 24-19",
    "Ayrshire Lassie": "11-15 24-20",
    "Dyke": "11-15 22-17 15-19",
    "Maid of the Mill": "11-15 22-17 8-11 17-13 15-18",
    "Will o' the Wisp": "11-15 23-19 9-13",
    "Defiance": "11-15 23-19 9-14 27-23",
    "Fife": "11-15 23-19 9-14 22-17 5-9",
    "Souter": "11-15 23-19 9-14 22-17 6-9",
    "Whilter": "11-15 23-19 9-14 22-17 7-11",
    "Old Fourteenth": "11-15 23-19 8-11 22-17 4-8",
    "Laird and Lady": "11-15 23-19 8-11 22-17 9-13 17-14",
    "Glasgow": "11-15 23-19 8-11 22-17 11-16",
    "Bristol Cross": "11-16 23-18",
    "Kelso Cross": "10-15 23-18",
}

OPENING_NAMES: dict[str, tuple[str, ...]] = {name: tuple(line.split()) for name, line in _LINES.items()}
"""Moves by name."""
