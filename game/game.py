"""A game: the moves played from a first position, and how it ends."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ckai.game.outcome import HALFMOVE_LIMIT, REPETITION_LIMIT, Color, Outcome, Reason
from ckai.game.position import Move, Position


class Game:
    """Moves from a first position, under both draw rules. Iterating over a game yields its moves.

    Attributes:
        positions: the first position and the one after each move; one more than there are moves.
        moves: the moves played.
        headers: PDN tags such as Event, Black and White. `push` and `pop` remove "Result", which no longer
            applies.
        halfmove_limit: plies in a row without a capture or a man's move that make a draw.
        repetition_limit: occurrences of a position that make a draw.
    """

    def __init__(
        self,
        start: Position | None = None,
        *,
        halfmove_limit: int = HALFMOVE_LIMIT,
        repetition_limit: int = REPETITION_LIMIT,
    ) -> None:
        self.halfmove_limit = halfmove_limit
        self.repetition_limit = repetition_limit
        self.positions: list[Position] = [start or Position.start()]
        self.moves: list[Move] = []
        self.headers: dict[str, str] = {}

    @staticmethod
    def from_pdn(source: str | Path) -> "Game":
        """Read the main line of the first game of PDN, with its tags as `headers`.

        A game that cannot be read to its end is an error here; `ckai.pdn.read_games` reads all games, and
        keeps what is readable, comments and variations.

        Args:
            source: PDN text, or the path of a file as a `pathlib.Path`.

        Raises:
            ValueError: if there is no game or it cannot be read (`ckai.pdn.PdnError`, with line and ply).
            OSError: if the file cannot be read.
        """
        game: Game = _pdn().read_one(source).play()
        return game

    def to_pdn(self, headers: Mapping[str, str] | None = None, result: str | None = None) -> str:
        """Write the game as PDN, see `ckai.pdn.from_game`.

        Args:
            headers: tags in order, such as {"Event": "Club"}; default: `self.headers`.
            result: "1-0" (Black won), "0-1", "1/2-1/2" or "*"; default: the Result of the headers, else
                `result()`.

        Raises:
            ValueError: for any other result.
        """
        headers = self.headers if headers is None else headers
        if result is None:
            result = headers.get("Result") or self.result()
        text: str = _pdn().write_game(_pdn().from_game(self, headers, result))
        return text

    @property
    def position(self) -> Position:
        """The current position."""
        return self.positions[-1]

    @property
    def turn(self) -> Color:
        """The side to move."""
        return self.position.turn

    @property
    def history(self) -> list[Position]:
        """The positions before the current one, oldest first: a search needs them to see repetitions."""
        return self.positions[:-1]

    def legal_moves(self) -> list[Move]:
        """See `Position.legal_moves`; draw rules do not remove any."""
        return self.position.legal_moves()

    def is_legal(self, move: Move | str) -> bool:
        """Whether `push` accepts the move; see `Position.is_legal`."""
        return self.position.is_legal(move)

    def push(self, move: Move | str) -> Move:
        """Play a move, or its text as in `Position.find_move`, and return it. Draw rules do not stop a game.

        Raises:
            MoveError: if it cannot be played; the game does not change.
        """
        if isinstance(move, str):
            move = self.position.find_move(move)
        self.positions.append(self.position.push(move))
        self.moves.append(move)
        self.headers.pop("Result", None)
        return move

    def pop(self) -> Move:
        """Take back the last move and return it; IndexError if no move was played."""
        move = self.moves.pop()
        self.positions.pop()
        self.headers.pop("Result", None)
        return move

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    def repetitions(self) -> int:
        """Occurrences of the current position in the game, this one included, whatever the halfmove clock."""
        own, key = self.position.own, self.position.key
        return sum(position.own == own and position.key == key for position in self.positions)

    def outcome(self) -> Outcome | None:
        """The end of the game by rule, None while it continues.

        A side that cannot move has lost, even where a draw rule applies too. Resignations and agreed draws
        leave no trace in the moves; the result that a PDN file gives is in `headers`.

        Source: World Checkers/Draughts Federation, *Official Rules of Checkers*, 1.30 and 1.32.
        """
        outcome = self.position.outcome(halfmove_limit=self.halfmove_limit)
        if outcome is not None and outcome.winner is not None:
            return outcome
        times = self.repetitions()
        if times >= self.repetition_limit:
            return Outcome(None, Reason.REPETITION, f"the position stands for the {_ordinal(times)} time")
        return outcome

    def is_game_over(self) -> bool:
        """Whether the rules end the game at the current position."""
        return self.outcome() is not None

    def result(self) -> str:
        """The PDN result by rule: "1-0" (Black won), "0-1", "1/2-1/2", or "*" while the game continues."""
        outcome = self.outcome()
        return "*" if outcome is None else outcome.result

    def __repr__(self) -> str:
        moves = [str(move) for move in self.moves]
        shown = moves if len(moves) <= _SHOWN else ["...", *moves[-_SHOWN:]]
        state = self.outcome() or f"{self.turn.capitalize()} to move"
        return f"<Game {' '.join([*shown, f'({state})'])}>"

    def _repr_svg_(self) -> str:
        return self.position.svg(self.moves[-1] if self.moves else None)


def _pdn() -> Any:
    """The package of PDN, imported on first use: it imports this one."""
    return importlib.import_module("ckai.pdn")


_SHOWN = 6
"""Last plies that `repr` of a game prints."""


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
