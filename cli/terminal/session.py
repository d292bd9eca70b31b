"""A game between people and an engine, and the commands they type; independent of the terminal."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ckai.game import Game, Move, Outcome, Position, Reason

Side: TypeAlias = Literal["black", "white"]

SIDES: Final[dict[str, frozenset[Side]]] = {
    "black": frozenset({"black"}),
    "white": frozenset({"white"}),
    "both": frozenset({"black", "white"}),
    "none": frozenset(),
}
"""Sides that people play, by the value of `--side`."""

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    # name: (short forms, help)
    "help": ("h ?", "show this list"),
    "moves": ("m", "list the legal moves"),
    "hint": ("i", "show what the engine would play"),
    "go": ("g", "let the engine make this move"),
    "undo": ("u back", "take your last move back"),
    "draw": ("d", "offer a draw"),
    "resign": ("", "resign the game"),
    "board": ("b", "draw the board again"),
    "flip": ("f", "turn the board around"),
    "fen": ("", "print the position as FEN"),
    "save": ("s", "save the game; save FILE: to that file"),
    "quit": ("q exit", "save the game and leave"),
}

_NAMES: Final = {short: name for name, (shorts, _) in COMMANDS.items() for short in [name, *shorts.split()]}
_GAP: Final = re.compile(r"(?<=\d)\s+(?=\d)")


class CommandError(ValueError):
    """A line is neither a move nor a command."""


@dataclass(frozen=True)
class Command:
    """A parsed line."""

    name: str
    """`move`, or a key of `COMMANDS`."""
    argument: str = ""
    move: Move | None = None
    """The move for `move`, otherwise None."""


def read_command(line: str, position: Position) -> Command:
    """Parse a line; an empty one means `board`.

    Args:
        line: a command, or a move as in PDN (`11-15`, `26x1`) or with spaces (`11 15`).
        position: the current position.

    Raises:
        MoveError: the move is illegal or ambiguous; lists the legal ones.
        CommandError: the line is neither a move nor a command.
    """
    text = line.strip()
    word, _, argument = text.partition(" ")
    if not text:
        return Command("board")
    if word.lower() in _NAMES:
        return Command(_NAMES[word.lower()], argument.strip())
    if text[0].isdigit():
        return Command("move", move=position.find_move(_GAP.sub("-", text)))
    close = difflib.get_close_matches(word.lower(), _NAMES, n=1, cutoff=0.6)
    hint = f"did you mean '{_NAMES[close[0]]}'?" if close else "type a move such as 11-15, or help"
    raise CommandError(f"'{text}' is neither a move nor a command; {hint}")


class Session:
    """A game between people and an engine.

    Attributes:
        game: the game.
        humans: sides that people play; the engine plays the others.
        ended: outcome by resignation or agreement, otherwise None.
        max_plies: length in plies at which a game without people stops; None: no limit.
    """

    def __init__(
        self,
        game: Game | None = None,
        humans: Iterable[Side] = ("black",),
        *,
        max_plies: int | None = None,
    ) -> None:
        self.game = game or Game()
        self.humans: frozenset[Side] = frozenset(humans)
        self.ended: Outcome | None = None
        self.max_plies = max_plies

    @property
    def position(self) -> Position:
        """The current position."""
        return self.game.position

    @property
    def side(self) -> Side:
        """The side to move."""
        return side_of(self.position)

    @property
    def human_to_move(self) -> bool:
        """Whether a person is to move."""
        return self.side in self.humans

    @property
    def last_move(self) -> Move | None:
        """The last move, None before the first."""
        return self.game.moves[-1] if self.game.moves else None

    def outcome(self) -> Outcome | None:
        """Return the outcome, by rule, resignation or agreement; None while the game is in progress."""
        return self.ended or self.game.outcome()

    @property
    def stopped(self) -> bool:
        """Whether a game without people has reached `max_plies` undecided."""
        full = self.max_plies is not None and len(self.game.moves) >= self.max_plies
        return full and not self.humans and self.outcome() is None

    @property
    def result(self) -> str:
        """The PDN result, `*` while the game is in progress."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.result

    def play(self, move: Move | str) -> Move:
        """Play a move for the side to move.

        Raises:
            MoveError: the move is illegal; the game is unchanged.
        """
        return self.game.push(move)

    def undo(self) -> list[Move]:
        """Take back all moves from the last one a person made; return them in order."""
        sides = [side_of(position) for position in self.game.history]
        mine = [ply for ply, side in enumerate(sides) if side in self.humans]
        if not mine:
            return []
        undone = [self.game.pop() for _ in range(len(self.game.moves) - mine[-1])]
        self.ended = None
        return undone[::-1]

    def resign(self) -> Outcome:
        """Resign for the side to move."""
        winner = "white" if self.side == "black" else "black"
        self.ended = Outcome(winner, Reason.RESIGNED, f"{self.side.capitalize()} resigned")
        return self.ended

    def agree_draw(self) -> Outcome:
        """End the game as a draw by agreement."""
        self.ended = Outcome(None, Reason.AGREED, "agreed")
        return self.ended

    def numbered(self, last: int | None = None) -> list[str]:
        """Return the moves as numbered lines, `3. 8-11 22-18`.

        Args:
            last: return this many lines from the end; None: all.
        """
        lines: list[str] = []
        for position, move in zip(self.game.history, self.game.moves, strict=True):
            if position.black or not lines:
                lines.append(f"{len(lines) + 1}. " + ("" if position.black else "... ") + str(move))
            else:
                lines[-1] += f" {move}"
        return lines if last is None else lines[-last:]


def side_of(position: Position) -> Side:
    """Return the side to move."""
    return "black" if position.black else "white"
