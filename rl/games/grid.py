"""Positions, moves and games of stones on a grid: what tic-tac-toe and Connect-4 share.

A move is one action; its text is the action counted from 1, a square or a column. The first player is called
Black, as in English draughts, and "1-0" means that it won.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ckai.game import MoveError, Outcome
from ckai.game.jit import quick_kernel
from ckai.pdn.game import RESULTS
from ckai.rl.games import contract
from ckai.rl.games.contract import State, as_state
from ckai.rl.games.spec import GameSpec, LoadedGame


class GridReason(StrEnum):
    """Why a game is over."""

    LINE = "a line of stones"
    FULL = "the board is full"


class GridMove(NamedTuple):
    """Placing a stone; `action` is the square or the column."""

    action: int

    @property
    def actions(self) -> tuple[int, ...]:
        """The one action of the move."""
        return (self.action,)

    def __str__(self) -> str:
        return str(self.action + 1)


@quick_kernel
def _legal_and_outcome(game, state, actions):  # type: ignore[no-untyped-def]
    """Fill `actions`; return (their number, whether the game is over, value for the side to move)."""
    count = contract.legal(game, state, actions)  # type: ignore[no-untyped-call]
    over, value = contract.outcome(game, state, count)  # type: ignore[no-untyped-call]
    return count, over, value


@quick_kernel
def _play(game, state, action):  # type: ignore[no-untyped-def]
    after, _ = contract.play(game, state, action)  # type: ignore[no-untyped-call]
    return after


@dataclass(frozen=True)
class GridPosition:
    """A position of a game of stones."""

    rules: Any
    """The rules, see `ckai.rl.games.contract`."""
    state: State = (0, 0)
    """Stones of the side to move and of the other side as bit boards, see the module of the game."""

    @property
    def black(self) -> bool:
        """Whether the first player is to move."""
        return (self.state[0] | self.state[1]).bit_count() % 2 == 0

    @property
    def key(self) -> State:
        """The state; equal for equal positions."""
        return self.state

    def legal_moves(self) -> list[GridMove]:
        """Return the legal moves, none if the game is over."""
        actions, over, _ = self._legal_and_outcome
        return [] if over else [GridMove(action) for action in actions]

    def push(self, move: Any) -> "GridPosition":
        """Return the position after a legal move."""
        return GridPosition(self.rules, as_state(_play(self.rules, self._words(), np.int64(move.action))))

    def move_of(self, hops: Sequence[int]) -> GridMove | None:
        """Return the move of these actions; see `ckai.game.Position.move_of`."""
        return GridMove(hops[0]) if len(hops) == 1 else None

    def find_move(self, text: str) -> GridMove:
        """Return the legal move with a text.

        Raises:
            MoveError: there is none.
        """
        moves = self.legal_moves()
        for move in moves:
            if str(move) == text.strip():
                return move
        names = [*map(str, moves[:9]), *["..."] * (len(moves) > 9)]
        raise MoveError(f"expected one of the moves {', '.join(names) or 'none'}, found {text[:40]!r}")

    def outcome(self) -> Outcome | None:
        """Return how the game ended, or None while it is in progress."""
        _, over, value = self._legal_and_outcome
        if not over:
            return None
        if value == 0:
            return Outcome(None, GridReason.FULL)
        return Outcome("black" if self.black == (value > 0) else "white", GridReason.LINE)

    def _words(self) -> tuple[np.int64, ...]:
        return tuple(np.int64(word) for word in self.state)

    @cached_property
    def _legal_and_outcome(self) -> tuple[list[int], bool, float]:
        actions = np.empty(self.rules.MAX_LEGAL_ACTIONS, np.uint8)
        count, over, value = _legal_and_outcome(self.rules, self._words(), actions)
        return actions[:count].tolist(), bool(over), float(value)


class GridGame:
    """A game: a starting position and the moves played."""

    def __init__(self, start: GridPosition) -> None:
        self.positions = [start]
        self.moves: list[GridMove] = []

    @property
    def position(self) -> GridPosition:
        """The current position."""
        return self.positions[-1]

    @property
    def history(self) -> list[GridPosition]:
        """The positions before the current one, oldest first."""
        return self.positions[:-1]

    def pop(self) -> GridMove:
        """Take back the last move and return it.

        Raises:
            IndexError: no move was played.
        """
        move = self.moves.pop()
        self.positions.pop()
        return move

    def push(self, move: GridMove | str) -> GridMove:
        """Play a move.

        Raises:
            MoveError: the text is not a legal move; the game is unchanged.
        """
        played = self.position.find_move(move) if isinstance(move, str) else move
        self.positions.append(self.position.push(played))
        self.moves.append(played)
        return played

    def outcome(self) -> Outcome | None:
        """Return how the game ended, see `GridPosition.outcome`."""
        return self.position.outcome()


class GridSpec(GameSpec):
    """The parts of a `GameSpec` that games of stones on a grid share; such a game has a `layout`.

    Attributes:
        bits: the bit of each square of `layout` in the state, by the number of the square.
    """

    bits: ClassVar[Mapping[int, int]] = {}

    def pieces(self, position: GridPosition) -> dict[int, str]:
        """See `GameSpec.pieces`."""
        own, other = position.state
        mine, its = ("b", "w") if position.black else ("w", "b")
        filled = own | other
        return {n: mine if own >> bit & 1 else its for n, bit in self.bits.items() if filled >> bit & 1}

    def position(self, state: State | None = None) -> GridPosition:
        """See `GameSpec.position`."""
        return GridPosition(self.rules, state or (0, 0))

    def state(self, position: GridPosition) -> State:
        """See `GameSpec.state`."""
        return position.state

    def game(self, position: GridPosition | None = None) -> GridGame:
        """See `GameSpec.game`."""
        return GridGame(position or self.position())

    def to_pdn(self, game: GridGame, headers: dict[str, str], result: str) -> str:
        """Return the game in the form of PDN: tags, numbered moves, result.

        The tag Setup has the first position where it is not the usual one.
        """
        tags, first = {**headers, "Result": result}, game.positions[0]
        if first.key != self.position().key:
            tags["Setup"] = self.position_text(first)
        words = [f"{i // 2 + 1}. {move}" if i % 2 == 0 else str(move) for i, move in enumerate(game.moves)]
        lines = [f'[{name} "{value}"]' for name, value in tags.items()]
        return "\n".join([*lines, "", " ".join([*words, result]), "", ""])

    # --- for people ---------------------------------------------------------------------------------

    def read_move(self, position: GridPosition, text: str) -> GridMove:
        """See `GameSpec.read_move`."""
        return position.find_move(text.strip().rstrip(".").removeprefix("0"))

    def read_position(self, text: str) -> GridPosition:
        """Read a board: rows from the top, `/` between them, of `b`, `w` and `.`; see `GameSpec`.

        Raises:
            ValueError: the text is no board, or no game reaches the position.
        """
        layout = self.drawn_layout()
        rows, shape = text.strip().lower().split("/"), (layout.rows, layout.columns)
        if [len(row) for row in rows] != [shape[1]] * shape[0] or set("".join(rows)) - set("bw."):
            raise ValueError(
                f"expected {shape[0]} rows of {shape[1]} squares of b, w and . with / between, "
                f"found {text[:60]!r}"
            )
        stones = {"b": 0, "w": 0, ".": 0}
        for square, (row, column) in layout.squares.items():
            stones[rows[row][column]] |= 1 << self.bits[square]
        black, white = stones["b"], stones["w"]
        if black.bit_count() - white.bit_count() not in (0, 1):
            raise ValueError(
                "expected as many stones of both sides, or one more of the first, found "
                f"{black.bit_count()} and {white.bit_count()}"
            )
        self._check_stones(black | white)
        even = black.bit_count() == white.bit_count()
        own, other = (black, white) if even else (white, black)
        before = GridPosition(self.rules, (other, own)).outcome()
        if before is not None and before.reason == GridReason.LINE:
            raise ValueError("expected no line of the side to move, which would have ended the game")
        return self.position((own, other))

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> GridPosition:
        """See `GameSpec.set_up`: the numbers of stones say who is to move."""
        return self.read_position(self._board(pieces))

    def _board(self, pieces: Mapping[int, str]) -> str:
        layout = self.drawn_layout()
        if unknown := sorted(set(pieces) - set(layout.squares)):
            raise ValueError(f"expected squares from 1 to {max(layout.squares)}, found {unknown[0]}")
        rows = [["."] * layout.columns for _ in range(layout.rows)]
        for square, letter in pieces.items():
            row, column = layout.squares[square]
            rows[row][column] = letter
        return "/".join(map("".join, rows))

    def _check_stones(self, taken: int) -> None:
        """Raise a ValueError for a set of stones that no game reaches."""

    def position_text(self, position: GridPosition) -> str:
        """Return the board as `read_position` reads it."""
        return "/".join("".join(cell.piece for cell in row) for row in self.diagram(position).rows)

    def read_game(self, path: Path, number: int) -> LoadedGame:
        """See `GameSpec.read_game`."""
        texts = re.split(r"\n\n(?=\[)", path.read_text(encoding="utf-8", errors="replace").strip())
        texts = [text for text in texts if text.strip()]
        if not 1 <= number <= len(texts):
            raise ValueError(f"{path}: expected game 1 to {len(texts)}, found {number}")
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', texts[number - 1], flags=re.MULTILINE))
        setup = tags.pop("Setup", "")
        try:
            game = self.game(self.read_position(setup) if setup else None)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        words = re.sub(r"^\[.*\]$|\d+\.", "", texts[number - 1], flags=re.MULTILINE).split()
        for word in words:
            if word in RESULTS:
                break
            try:
                game.push(word)
            except MoveError as error:
                raise ValueError(f"{path}: game {number}: ply {len(game.moves)}: {error}") from None
        return LoadedGame(game, tags, tags.get("Result", "*"))
