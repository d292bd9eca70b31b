"""A game at the terminal, without the terminal: who plays, what a typed line means, what it does."""

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
"""Sides that people play, by the word of `--side`."""

WORDS: Final[dict[str, tuple[str, str]]] = {
    # name: (short forms, help)
    "help": ("h ?", "this list"),
    "moves": ("m", "the legal moves"),
    "hint": ("i", "what the engine would play"),
    "go": ("g", "let the engine make this move"),
    "undo": ("u back", "take your last move back"),
    "draw": ("d", "offer a draw"),
    "resign": ("", "give the game up"),
    "board": ("b", "draw the board again"),
    "flip": ("f", "turn the board round"),
    "fen": ("", "the position as FEN"),
    "save": ("s", "write the game; save FILE: there"),
    "quit": ("q exit", "leave; the game is saved"),
}

_NAMES: Final = {short: name for name, (shorts, _) in WORDS.items() for short in [name, *shorts.split()]}
_GAP: Final = re.compile(r"(?<=\d)\s+(?=\d)")


class CommandError(ValueError):
    """A line that is neither a move nor a command."""


@dataclass(frozen=True)
class Command:
    """What a typed line asks for."""

    name: str
    """`move`, or a name of WORDS."""
    argument: str = ""
    move: Move | None = None
    """The move of `move`, None for all others."""


def read_command(line: str, position: Position) -> Command:
    """What a line means in a position. An empty line draws the board again.

    Moves are written as in PDN (`11-15`, `26x1`), or as numbers with blanks between (`11 15`).

    Raises:
        MoveError: a move that cannot be played; says which can.
        CommandError: neither a move nor a command.
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
    """A game between people and an engine, in any mixture.

    Attributes:
        game: the moves.
        humans: the sides that people play; the engine plays the others.
        ended: how it ended if not by rule.
        max_plies: half-moves after which a game without people is broken off; None: never.
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
        """The position now."""
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
        """The move played last, None before the first."""
        return self.game.moves[-1] if self.game.moves else None

    def outcome(self) -> Outcome | None:
        """How the game ended, by rule or otherwise; None while it goes on."""
        return self.ended or self.game.outcome()

    @property
    def broken_off(self) -> bool:
        """Whether a game without people has reached its limit of plies with no end."""
        full = self.max_plies is not None and len(self.game.moves) >= self.max_plies
        return full and not self.humans and self.outcome() is None

    @property
    def result(self) -> str:
        """The PDN result, `*` while the game goes on."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.result

    def play(self, move: Move | str) -> Move:
        """Play a move for the side to move.

        Raises:
            MoveError: if it cannot be played; nothing is changed.
        """
        return self.game.push(move)

    def undo(self) -> list[Move]:
        """Take moves back up to the last one a person made, that one included; what was taken, in order."""
        sides = [side_of(position) for position in self.game.history]
        mine = [ply for ply, side in enumerate(sides) if side in self.humans]
        if not mine:
            return []
        taken = [self.game.pop() for _ in range(len(self.game.moves) - mine[-1])]
        self.ended = None
        return taken[::-1]

    def resign(self) -> Outcome:
        """The side to move gives up."""
        winner = "white" if self.side == "black" else "black"
        self.ended = Outcome(winner, Reason.RESIGNED, f"{self.side.capitalize()} resigned")
        return self.ended

    def agree_draw(self) -> Outcome:
        """Both sides agree on a draw."""
        self.ended = Outcome(None, Reason.AGREED, "agreed")
        return self.ended

    def numbered(self, last: int | None = None) -> list[str]:
        """The moves as lines of a score: `3. 8-11 22-18`; only the last lines if a number is given."""
        lines: list[str] = []
        for position, move in zip(self.game.history, self.game.moves, strict=True):
            if position.black or not lines:
                lines.append(f"{len(lines) + 1}. " + ("" if position.black else "... ") + str(move))
            else:
                lines[-1] += f" {move}"
        return lines if last is None else lines[-last:]


def side_of(position: Position) -> Side:
    """The side to move."""
    return "black" if position.black else "white"
