"""A game as it is played: positions, moves and how it ends.

Draws by rule, World Checkers/Draughts Federation, *Official Rules of Checkers* (1.32): the same position
with the same side to move for the third time, or forty moves by each side (80 plies) without a capture
or a man's move. Both numbers are parameters. A side that is to move and cannot has lost, whatever the counts.
"""

from dataclasses import dataclass
from enum import StrEnum

from ckai.game.position import Move, Position

HALFMOVE_LIMIT = 80
"""Plies in a row without a capture or a man's move that make a draw."""
REPETITION_LIMIT = 3
"""Times the same position with the same side to move must stand for a draw."""


class Reason(StrEnum):
    """Why a game is over."""

    NO_PIECES = "no pieces left"
    NO_MOVES = "no legal move"
    REPETITION = "repetition of the position"
    HALFMOVE_LIMIT = "too long without a capture or a man's move"
    RESIGNED = "resigned"
    AGREED = "agreed"


@dataclass(frozen=True)
class Outcome:
    """How a game ended; `winner` is "black", "white" or None for a draw."""

    winner: str | None
    reason: StrEnum
    """A `Reason`; other games than checkers have their own."""
    detail: str = ""
    """The reason with its number: `80 plies without a capture or a man's move`."""

    def __str__(self) -> str:
        """`White won: Black has no legal move`, or `drawn: the position stands for the third time`."""
        won = "drawn" if self.winner is None else f"{self.winner.capitalize()} won"
        return f"{won}: {self.detail or self.reason}"

    @property
    def result(self) -> str:
        """PDN result of English draughts, where Black (the first mover) stands before the dash."""
        return {"black": "1-0", "white": "0-1", None: "1/2-1/2"}[self.winner]


class Game:
    """A line of moves from a first position, with both draw rules.

    Raises:
        ValueError: on construction, if a limit is below 1.
    """

    def __init__(
        self,
        start: Position | None = None,
        *,
        halfmove_limit: int = HALFMOVE_LIMIT,
        repetition_limit: int = REPETITION_LIMIT,
    ) -> None:
        if halfmove_limit < 1 or repetition_limit < 1:
            raise ValueError(
                f"expected limits >= 1, found halfmove_limit {halfmove_limit}, repetition_limit {repetition_limit}"
            )
        self.halfmove_limit = halfmove_limit
        self.repetition_limit = repetition_limit
        self.positions: list[Position] = [start or Position.start()]
        self.moves: list[Move] = []

    @property
    def position(self) -> Position:
        """The position now."""
        return self.positions[-1]

    @property
    def history(self) -> list[Position]:
        """The positions before this one, oldest first: what a search needs to see repetitions."""
        return self.positions[:-1]

    def push(self, move: Move | str) -> Move:
        """Play a move; text is resolved as in `Position.find_move`.

        Raises:
            MoveError: if it cannot be played; the game is unchanged.
        """
        found = self.position.find_move(move) if isinstance(move, str) else move
        self.positions.append(self.position.push(found))
        self.moves.append(found)
        return found

    def pop(self) -> Move:
        """Take the last move back and return it.

        Raises:
            IndexError: if no move was played.
        """
        move = self.moves.pop()
        self.positions.pop()
        return move

    def repetitions(self) -> int:
        """How often the position has stood, this time included."""
        key = self.position.key
        return sum(position.key == key for position in self.positions)

    def outcome(self) -> Outcome | None:
        """The end of the game by rule, or None while it goes on."""
        position = self.position
        if not position.legal_moves():
            loser, winner = ("Black", "white") if position.black else ("White", "black")
            if position.own:
                return Outcome(winner, Reason.NO_MOVES, f"{loser} has no legal move")
            return Outcome(winner, Reason.NO_PIECES, f"{loser} has no pieces left")
        times = self.repetitions()
        if times >= self.repetition_limit:
            return Outcome(None, Reason.REPETITION, f"the position stands for the {_ordinal(times)} time")
        if position.halfmove_clock >= self.halfmove_limit:
            detail = f"{position.halfmove_clock} plies without a capture or a man's move"
            return Outcome(None, Reason.HALFMOVE_LIMIT, detail)
        return None


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
