"""The commands of the prompt, in one table, and the parsing of a typed line."""

import difflib
from typing import Any, Final, NamedTuple

from ckai.game.text import printable
from ckai.rl.games.spec import GameSpec

MAX_LINE = 2000
"""Characters of a line that are looked at."""


class Help(NamedTuple):
    """A command of the prompt."""

    short: str
    """Other words for it, with spaces between."""
    text: str
    """What it does."""
    playing: bool = False
    """Whether it needs a game in progress."""


COMMANDS: Final = {
    "moves": Help("m", "list the legal moves"),
    "hint": Help("i", "show a good move", True),
    "explain": Help("e why", "explain the last move, or explain MOVE"),
    "go": Help("g", "let the engine move", True),
    "undo": Help("u back", "take your move back"),
    "draw": Help("d", "offer a draw", True),
    "resign": Help("", "resign the game", True),
    "new": Help("rematch", "begin a new game"),
    "swap": Help("", "exchange colours; after a game, in a new one"),
    "opening": Help("o", "name the opening, or begin at opening NAME, ballot:N or MOVES"),
    "setup": Help("", "begin at the position of setup FEN"),
    "load": Help("", "continue the saved game of load FILE:N:PLY"),
    "board": Help("b", "draw the board again"),
    "flip": Help("f", "turn the board around"),
    "show": Help("", "show the engine's search, or hide it again"),
    "fen": Help("", "print the FEN"),
    "help": Help("h ?", "list the commands"),
    "quit": Help("q exit", "leave; the game is saved after every move"),
}
"""Every command by name."""

_NAMES: Final = {word: name for name, each in COMMANDS.items() for word in [name, *each.short.split()]}
OVER: Final = "the game is over; type new, swap, undo, explain or quit"


class Command(NamedTuple):
    """A parsed line."""

    name: str
    """`move`, or a key of `COMMANDS`."""
    argument: str = ""
    move: Any = None
    """The move for `move`, otherwise None."""


def read_command(line: str, position: Any, spec: GameSpec, *, over: bool = False) -> Command:
    """Parse a line; an empty one means `board`.

    Args:
        line: a command, or a move as people type it.
        position: the current position.
        spec: the game.
        over: whether it is over.

    Raises:
        MoveError: the move is illegal or ambiguous; says which fit.
        ValueError: the line is neither a move nor a command that can be given now.
    """
    text = line[:MAX_LINE].strip()
    word, _, argument = text.partition(" ")
    if not text:
        return Command("board")
    if (name := _NAMES.get(word.lower())) is not None:
        if over and COMMANDS[name].playing:
            raise ValueError(OVER)
        return Command(name, argument.strip())
    if spec.names_move(text) or text in map(str, position.legal_moves()):
        if over:
            raise ValueError(OVER)
        return Command("move", move=spec.read_move(position, text))
    shown = printable(" ".join(text.split()), most=24)
    close = difflib.get_close_matches(word[:20].lower(), _NAMES, n=1, cutoff=0.6)
    example = spec.move_example
    hint = f"did you mean '{_NAMES[close[0]]}'?" if close else f"type a move such as {example}, or help"
    raise ValueError(f"'{shown}' is neither a move nor a command; {hint}")
