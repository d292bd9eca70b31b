"""The commands of the prompt, in one table, and the parsing of a typed line."""

import difflib
from dataclasses import dataclass
from typing import Any, Final

from ckai.game.text import printable
from ckai.rl.games.spec import GameSpec

PLAY, OVER, VIEW = "play", "over", "view"
"""Modes of the prompt: a game in progress, a game that has ended, stepping through a game."""
ANY: Final = (PLAY, OVER, VIEW)
MAX_LINE = 2000
"""Characters of a line that are looked at."""


@dataclass(frozen=True)
class CommandHelp:
    """A command of the prompt."""

    short: str
    """Other words for it, with spaces between."""
    text: str
    """What it does, for the list."""
    modes: tuple[str, ...] = ANY
    """Modes in which it may be used."""
    argument: str = ""
    """Its argument, for the list."""
    more: str = ""
    """More, for `help COMMAND`."""


SECTIONS: Final[dict[str, dict[str, CommandHelp]]] = {
    "Play": {
        "moves": CommandHelp("m", "list the legal moves"),
        "hint": CommandHelp("i", "show a good move", (PLAY, VIEW)),
        "go": CommandHelp("g", "let the engine move", (PLAY,)),
        "undo": CommandHelp("u", "take your move back", (PLAY, OVER)),
        "redo": CommandHelp("r", "play the move again", (PLAY, OVER)),
        "draw": CommandHelp(
            "d", "offer a draw", (PLAY,), more="Asks first; the engine declines if it is better."
        ),
        "resign": CommandHelp("", "resign the game", (PLAY,), more="Asks first."),
        "forced": CommandHelp("", "auto-play forced moves", argument="on|off"),
        "explain": CommandHelp(
            "e why",
            "explain the last move",
            argument="MOVE",
            more="With a move, that one instead of the last. Says what it costs, what is better, what it "
            "threatens, forces or allows, how often it was played in the data set, and the opening.",
        ),
    },
    "Games": {
        "rematch": CommandHelp("new", "begin a new game"),
        "swap": CommandHelp(
            "", "exchange colours", more="After a game, a new one begins with the colours exchanged."
        ),
        "opening": CommandHelp(
            "o",
            "show or start one",
            argument="NAME",
            more="opening list: all names. opening NAME, opening ballot, opening ballot:N or opening 11-15 "
            "23-19: a new game from there. A ballot is one of the 174 three-move openings that "
            "tournaments draw from.",
        ),
        "setup": CommandHelp(
            "",
            "set up a position",
            argument="FEN",
            more="Without a FEN it asks for the board, row by row from the top, and the side to move. A row "
            "is `. b . b . . . B`, or only its four dark squares, `bb.B`.",
        ),
        "load": CommandHelp("", "open a saved game", argument="FILE:N:PLY"),
        "save": CommandHelp("s", "save the game, to FILE", argument="FILE"),
        "quit": CommandHelp("q exit", "save the game and leave"),
    },
    "Board": {
        "board": CommandHelp("b", "draw the board again"),
        "flip": CommandHelp("f", "turn the board around"),
        "pieces": CommandHelp("", "use figures or letters", argument="figures|letters"),
        "show": CommandHelp("", "show the search"),
        "hide": CommandHelp("", "hide the search"),
        "fen": CommandHelp("", "print the FEN"),
        "help": CommandHelp("h ?", "list the commands", argument="COMMAND"),
    },
    "Step through": {
        "view": CommandHelp("", "step through this game"),
        "next": CommandHelp("n", "go a ply forward, or N", argument="N"),
        "back": CommandHelp("p previous", "go a ply back, or N", argument="N"),
        "first": CommandHelp("", "go to the beginning"),
        "last": CommandHelp("", "go to the end"),
        "goto": CommandHelp("go_to", "go to ply N", argument="N"),
        "play": CommandHelp(
            "",
            "play on from here",
            (VIEW, OVER),
            "SIDE",
            "As black, white or both; none: the engine plays itself.",
        ),
    },
}
"""Every command, by the section of the list that it stands in."""

COMMANDS: Final = {name: each for section in SECTIONS.values() for name, each in section.items()}
"""Every command by name."""

_NAMES: Final = {word: name for name, each in COMMANDS.items() for word in [name, *each.short.split()]}


@dataclass(frozen=True)
class Command:
    """A parsed line."""

    name: str
    """`move`, or a key of `COMMANDS`."""
    argument: str = ""
    move: Any = None
    """The move for `move`, otherwise None."""


def read_command(line: str, position: Any, spec: GameSpec, mode: str = PLAY) -> Command:
    """Parse a line; an empty one means `board`, or `next` while viewing.

    Args:
        line: a command, or a move as people type it.
        position: the current position.
        spec: the game.
        mode: the mode of the prompt.

    Raises:
        MoveError: the move is illegal or ambiguous; says which fit.
        ValueError: the line is neither a move nor a command of this mode.
    """
    text = line[:MAX_LINE].strip()
    word, _, argument = text.partition(" ")
    argument = argument.strip()
    if not text:
        return Command("next" if mode == VIEW else "board")
    if word.lower() == "go" and argument.lower().startswith("to "):
        word, argument = "goto", argument[3:].strip()
    if word.lower() in _NAMES:
        name = _NAMES[word.lower()]
        if mode not in COMMANDS[name].modes:
            raise ValueError(f"{name}: {_WRONG_MODE[mode]}")
        return Command(name, argument)
    if spec.names_move(text) or text in map(str, position.legal_moves()):
        if mode == OVER:
            raise ValueError(_WRONG_MODE[mode])
        return Command("move", move=spec.read_move(position, text))
    shown = printable(" ".join(text.split()), most=24)
    close = difflib.get_close_matches(word[:20].lower(), _NAMES, n=1, cutoff=0.6)
    example = spec.move_example
    hint = f"did you mean '{_NAMES[close[0]]}'?" if close else f"type a move such as {example}, or help"
    raise ValueError(f"'{shown}' is neither a move nor a command; {hint}")


_WRONG_MODE: Final = {
    PLAY: "not during a game; type view to step through it",
    OVER: "the game is over; type rematch, swap, undo, explain, view or quit",
    VIEW: "not while stepping through a game; type play to go on from here",
}


def help_lines(width: int, name: str = "") -> list[str]:
    """Return the help: the whole list, in two columns where they fit, or one command.

    Args:
        width: columns of the screen.
        name: a command or a short form; empty: all.

    Raises:
        ValueError: there is no such command.
    """
    if name:
        full = _NAMES.get(name.lower())
        if full is None:
            raise ValueError(f"no command '{printable(name)[:24]}'; type help for all")
        each = COMMANDS[full]
        words = ", ".join([full, *each.short.replace("_", " ").split()])
        text = f"{words}{' ' + each.argument if each.argument else ''}: {each.text}."
        return [text, *([each.more] if each.more else [])]
    lines = []
    for title, section in SECTIONS.items():
        lines.append(f"{title}:")
        cells = [_cell(name, each) for name, each in section.items()]
        if width >= 2 * CELL:
            cells = [
                "".join(f"{cell:<{CELL}}" for cell in cells[i : i + 2]).rstrip()
                for i in range(0, len(cells), 2)
            ]
        lines += cells
    return lines


CELL = 38
"""Columns of an entry in the list."""


def _cell(name: str, each: CommandHelp) -> str:
    short = f", {each.short.split()[0]}" if each.short and "_" not in each.short else ""
    return f"  {name + short:<13} {each.text}"
