"""Checkers as a game of the registry."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ckai.datasets.tables import Tables
from ckai.game import Game, Move, Position, PositionError
from ckai.game.openings import BALLOT, OPENING_NAMES, opening_name
from ckai.game.svg import DRAUGHTS
from ckai.pdn import from_game, read_games, write_game
from ckai.rl.games.checkers.openings import balanced_openings
from ckai.rl.games.checkers.rules import Checkers, pack, unpack
from ckai.rl.games.checkers.typed_moves import read_typed_move
from ckai.rl.games.contract import State
from ckai.rl.games.spec import GameSpec, LoadedGame

CLOCK_NOTICE = 40
"""Halfmove clock from which players are reminded of it."""


class CheckersSpec(GameSpec):
    """English draughts. In the mover's view the board has no symmetry but the identity."""

    name = "checkers"
    title = "Checkers"
    rules = Checkers()
    encoding = None
    plies = 90
    supports_tables = True
    layout = DRAUGHTS
    move_example = "11-15"
    turnable = True
    kings = True
    run_defaults: ClassVar[Mapping[str, Any]] = {}
    named_openings = OPENING_NAMES
    ballot = BALLOT

    def make_rules(self, tables: Tables | None = None) -> Any:
        """See `GameSpec.make_rules`."""
        return self.rules if tables is None else self.rules.with_tables(tables)

    def position(self, state: State | None = None) -> Position:
        """See `GameSpec.position`."""
        return Position.start() if state is None else unpack(state)

    def state(self, position: Position) -> State:
        """See `GameSpec.state`."""
        return pack(position)

    def game(self, position: Position | None = None) -> Game:
        """See `GameSpec.game`."""
        return Game(position)

    def to_pdn(self, game: Game, headers: dict[str, str], result: str) -> str:
        """Return the game as PDN; a FEN tag gives the first position where it is not the usual one."""
        return write_game(from_game(game, headers, result))

    def pieces(self, position: Position) -> dict[int, str]:
        """See `GameSpec.pieces`."""
        return position.pieces()

    def path(self, position: Position, move: Move) -> tuple[int, ...]:
        """See `GameSpec.path`."""
        return tuple(move.path)

    def view(self, position: Position) -> tuple[int, ...]:
        """See `GameSpec.view`: the board is turned for White."""
        squares = super().view(position)
        return squares if position.black else squares[::-1]

    def openings(self, plies: int = 3) -> tuple[Position, ...]:
        """Return the positions in which no side loses a man by force, see `balanced_openings`."""
        return balanced_openings(plies)

    def opening_name(self, game: Game) -> str | None:
        """See `GameSpec.opening_name`."""
        return opening_name(game.positions)

    # --- for people -------------------------------------------------------------------------------------

    def read_move(self, position: Position, text: str) -> Move:
        """See `GameSpec.read_move`."""
        return read_typed_move(position, text)

    def read_position(self, text: str) -> Position:
        """Read a FEN, or a board: eight rows from the top with `/` between them, then the side to move.

        A row has its four dark squares or all eight, as `b`, `B`, `w`, `W` and `.` (or `-`, `_`); what stands
        on light squares does not count.

        Raises:
            PositionError: the text is neither, or the rules exclude the position.
        """
        if "/" not in text:
            return Position.from_fen(text)
        *rows, last = text.split("/")
        turn = {"b": "black", "w": "white", "black": "black", "white": "white"}.get(last.strip().lower())
        if turn is None or len(rows) != 8:
            raise PositionError(
                f"expected 8 rows and the side to move, black or white, with / between, found {text[:60]!r}"
            )
        pieces = {}
        for number, row in enumerate(rows):
            for column, piece in enumerate(_dark_squares(row, number)):
                if piece != ".":
                    pieces[number * 4 + column + 1] = piece
        return Position.from_pieces(pieces, turn=turn)

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Position:
        """See `GameSpec.set_up`."""
        return Position.from_pieces(dict(pieces), turn="black" if black else "white")

    def position_text(self, position: Position) -> str:
        """Return the FEN."""
        return position.fen

    def read_game(self, path: Path, number: int) -> LoadedGame:
        """See `GameSpec.read_game`: a game of a PDN file, as far as it can be read."""
        count = 0
        for count, pdn in enumerate(read_games(path), 1):
            if count == number:
                if pdn.rejected and pdn.problem is not None:
                    raise pdn.problem
                problem = "" if pdn.problem is None else pdn.problem.named("")
                game = pdn.play()
                result = pdn.result or "*"
                return LoadedGame(game, dict(game.headers), result, problem)
        if not count:
            raise ValueError(f"{path}: expected games, found none")
        raise ValueError(f"{path}: expected game 1 to {count}, found {number}")

    def notices(self, game: Game) -> list[str]:
        """See `GameSpec.notices`: a halfmove clock of `CLOCK_NOTICE` or more, a repetition."""
        clock = game.position.halfmove_clock
        lines = []
        if clock >= CLOCK_NOTICE:
            lines.append(f"{clock} plies without a capture or a man's move; drawn at {game.halfmove_limit}")
        if game.repetitions() == game.repetition_limit - 1:
            lines.append("this position is repeated")
        return lines


def _dark_squares(row: str, number: int) -> str:
    """Return the four dark squares of a row of a board as text, the top row being number 0."""
    letters = re.sub(r"[-_]", ".", row.replace(" ", ""))
    if len(letters) == 8:
        letters = letters[1 - number % 2 :: 2]
    if len(letters) != 4 or set(letters) - set("bBwW."):
        raise PositionError(
            f"row {number + 1}: expected 4 dark squares or 8 squares of b, B, w, W and ., found {row[:40]!r}"
        )
    return letters


SPEC = CheckersSpec()
