"""`GameSpec`: a game as matches, self-play and commands use it.

The search knows a game by `ckai.rl.games.contract` alone. A `GameSpec` adds what people and files need:
positions with moves as objects, games as lines of moves, openings, PDN-like text, defaults. One object a
game; see `ckai.rl.games.registry`.

A position is immutable, such as `ckai.game.Position`: `black`, whether the player who is called Black is to
move; `key`, equal for equal positions; `legal_moves()`, none if the game is over; `push(move)`, the position
after it; `move_of(actions)`, the legal move made of these actions, or None while some are missing. A move has
`actions`, its hops in the mover's view, and its `str` is its notation. A game, such as `ckai.game.Game`, has
lists of `moves` and `positions`, the current `position` and its `history`, the positions before; `push(move)`
takes a move or its text, `pop()` takes the last one back; `outcome()` is how it ended by rule, or None.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.game import MoveError
from ckai.game.jit import quick_kernel
from ckai.game.svg import Layout
from ckai.rl.games import contract
from ckai.rl.games.contract import State
from ckai.rl.games.solving import Solver

if TYPE_CHECKING:
    import pyarrow as pa

NOT_IN_TABLES = np.int8(2)
"""In place of a result, see `GameSpec.table_results`."""


class Symmetry(NamedTuple):
    """A symmetry of the game: a rotation or reflection of the board."""

    squares: tuple[int, ...]
    """Square i of the transformed board is square `squares[i]` of the board."""
    actions: tuple[int, ...]
    """Action i on the transformed board is action `actions[i]` on the board."""


class Cell(NamedTuple):
    """A square of a drawn board."""

    piece: str
    """`b` or `w`, the first or the second player's; `B` or `W`, their kings; `.` for an empty square, and an
    empty text for a square that is not played on."""
    label: str = ""
    """Text on the square, such as its number; at most two characters."""


@dataclass(frozen=True)
class Diagram:
    """A board as it is drawn for the second player, whose side is at the bottom."""

    rows: tuple[tuple[Cell, ...], ...]
    """Squares, the top row first; all rows are of the same length."""
    column_labels: tuple[str, ...] = ()
    """Text below each column, or none."""
    row_labels: tuple[str, ...] = ()
    """Text beside each row, or none; at most two characters."""

    def turned(self) -> "Diagram":
        """Return the board turned by 180 degrees."""
        rows = tuple(row[::-1] for row in self.rows[::-1])
        return Diagram(rows, self.column_labels[::-1], self.row_labels[::-1])


@dataclass(frozen=True)
class LoadedGame:
    """A game read from a file."""

    game: Any
    """The game with its moves."""
    headers: Mapping[str, str]
    result: str
    """One of `ckai.pdn.game.RESULTS`."""
    comments: tuple[str, ...] = ()
    """A comment for every move, empty where there is none; or nothing at all."""
    problem: str = ""
    """Why the game cannot be read beyond its last move; empty if it can."""
    text: str = ""
    """The game as text with its comments and variations; empty if it has none that `to_pdn` leaves out."""


@dataclass(frozen=True)
class Shot:
    """A short line that wins material by force."""

    line: tuple[Any, ...] = field()
    """Moves of both sides, the winning side first, to the end of the exchange."""
    taken: int
    """Pieces that the side wins in it."""
    given: int
    """Pieces that it gives up in it; a shot proper gives some first."""
    wins: bool = False
    """Whether the line ends the game."""


def positions_after(first: Any, plies: int) -> list[Any]:
    """Return the distinct positions after exactly `plies` plies, in breadth-first order.

    Args:
        first: the starting position.
        plies: 0 or more.
    """
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in p.legal_moves()]
        positions = {p.key: p for p in after}
    return list(positions.values())


@quick_kernel
def _encode(game, state, out):  # type: ignore[no-untyped-def]
    contract.encode(game, state, out)  # type: ignore[no-untyped-call]


class GameSpec(ABC):
    """A game.

    Attributes:
        name: the name in commands, files and checkpoints.
        title: what people call it; empty: `name`.
        rules: its usual rules for the search, without tablebases.
        encoding: the encoding of a new network; None: the default of the network.
        plies: of an average game, for estimates.
        symmetries: of the board in the mover's view, the identity left out.
        bytes_per_square: of an encoded board, see `ckai.models.inputs.encodings.Encoding`.
        supports_tables: whether there are tablebases.
        run_defaults: settings of a self-play run that suit it better than the general ones, by dotted names.
        search_defaults: constants of `SearchConstants` for searches with a network, except in self-play.
        solver: class that solves its positions, made without arguments; None: it cannot be solved.
        layout: how its board is drawn, see `ckai.game.svg`; None: it is not.
        column_labels: text below each column of the board, or none.
        row_labels: text beside each row of the board, or none.
        side_names: what people call the first and the second player.
        piece_letters: letters for the pieces of a `Diagram` where they are not `b`, `w`, `B` and `W`.
        move_example: a move as people type it.
        turnable: whether the board looks different from the other side.
        kings: whether pieces are crowned: `B` and `W` among its `pieces`.
        named_openings: moves of the openings that have names, as texts.
        ballot: moves of the three-move openings of its tournaments, in their order; empty: it has none.
    """

    name: str
    title: str = ""
    rules: Any
    encoding: str | None
    plies: int
    symmetries: tuple[Symmetry, ...] = ()
    bytes_per_square: int = 1
    supports_tables: bool = False
    solver: ClassVar[type[Solver] | None] = None
    layout: Layout | None = None
    column_labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()
    run_defaults: ClassVar[Mapping[str, Any]] = {}
    search_defaults: ClassVar[Mapping[str, Any]] = {}
    side_names: tuple[str, str] = ("Black", "White")
    piece_letters: ClassVar[Mapping[str, str]] = {}
    move_example: str = "1"
    turnable: bool = False
    kings: bool = False
    named_openings: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    ballot: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def __repr__(self) -> str:
        return f"<GameSpec {self.name}>"

    def __eq__(self, other: object) -> bool:
        """Compare names: a copy from another process is the same game."""
        return isinstance(other, GameSpec) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    # --- constants --------------------------------------------------------------------------------------

    @property
    def num_actions(self) -> int:
        """Actions of the network and the search."""
        return int(self.rules.NUM_ACTIONS)

    @property
    def max_legal_actions(self) -> int:
        """An upper bound on the actions legal at once."""
        return int(self.rules.MAX_LEGAL_ACTIONS)

    @property
    def state_words(self) -> int:
        """int64 words of a state."""
        return int(self.rules.STATE_WORDS)

    @property
    def position_bytes(self) -> int:
        """Length of an encoded position: the board, the jumper, the halfmove clock."""
        return int(self.rules.POSITION_BYTES)

    @property
    def board_bytes(self) -> int:
        """Bytes of an encoded board, `bytes_per_square` for each of its squares."""
        return self.position_bytes - 2

    @property
    def board_size(self) -> int:
        """Number of squares of the board."""
        return self.board_bytes // self.bytes_per_square

    @property
    def legal_mask_bytes(self) -> int:
        """Bytes of the bit mask of legal actions in a row."""
        from ckai.datasets.schema import LEGAL_MASK_BYTES

        return max(LEGAL_MASK_BYTES, -(-self.num_actions // 8))

    @cached_property
    def schema(self) -> "pa.Schema":
        """The schema of its self-play rows."""
        from ckai.datasets.schema import selfplay_schema  # pyarrow, which a game needs only for rows

        return selfplay_schema(self.name, self.board_bytes, self.legal_mask_bytes)

    # --- rules and positions ----------------------------------------------------------------------------

    def make_rules(self, tables: Tables | None = None, **limits: int) -> Any:
        """Return the rules for a search.

        Args:
            tables: tablebases, if the game has any.
            **limits: draw limits, if the game has any (`halfmove_limit`).
        """
        return self.rules

    @abstractmethod
    def position(self, state: State | None = None) -> Any:
        """Return the position of a state of the search, or the first one of a game."""

    @abstractmethod
    def state(self, position: Any) -> State:
        """Return the state of a position."""

    def repetition_key(self, position: Any) -> State:
        """Return what must be equal for a repetition, as many words as a state; see `contract.key`."""
        return self.state(position)

    def encoded(self, position: Any) -> NDArray[np.int8]:
        """Return a position as networks get it, `[position_bytes]`, in the view of the side to move.

        The search encodes its positions itself.
        """
        out = np.zeros(self.position_bytes, np.int8)
        _encode(self.rules, tuple(np.int64(word) for word in self.state(position)), out)
        return out

    @abstractmethod
    def game(self, position: Any | None = None) -> Any:
        """Return a game that begins in a position, or in the usual one."""

    @abstractmethod
    def to_pdn(self, game: Any, headers: dict[str, str], result: str) -> str:
        """Return a game as PDN text, or as text in the form of PDN."""

    def halfmove_clocks(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """Return the `[N]` halfmove clocks of states `[N, STATE_WORDS]`: 0 in games without one."""
        return np.zeros(len(states), np.int16)

    def table_results(self, states: NDArray[np.int64], tables: Tables) -> NDArray[np.int8]:
        """Return Black's results of states by tablebases; a game without `supports_tables` has none.

        Args:
            states: `[N, STATE_WORDS]`.
            tables: probed without regard to draws by count.

        Returns:
            `[N]`: 1, 0 or -1; `NOT_IN_TABLES` where the tables do not have the state.
        """
        return np.full(len(states), NOT_IN_TABLES)

    def openings(self, plies: int = 3) -> tuple[Any, ...]:
        """Return the distinct positions after a few plies that matches and self-play begin from.

        Args:
            plies: 0 or more.
        """
        return tuple(p for p in positions_after(self.position(), plies) if p.legal_moves())

    # --- drawing ----------------------------------------------------------------------------------------

    def pieces(self, position: Any) -> dict[int, str]:
        """Return the pieces of a position by the squares of `layout`: `b` and `w`, kings `B` and `W`.

        Raises:
            NotImplementedError: the game has no `layout`.
        """
        raise NotImplementedError(f"{self.name} does not say how its board is drawn")

    def path(self, position: Any, move: Any) -> tuple[int, ...]:
        """Return the squares of a move in the order in which it is made; by default those that it fills."""
        before, after = self.pieces(position), self.pieces(position.push(move))
        return tuple(square for square in after if square not in before)

    def view(self, position: Any) -> tuple[int, ...]:
        """Return the squares of `layout` in the order in which networks see them, for the side to move."""
        return tuple(sorted(self.drawn_layout().squares))

    def captures(self, position: Any, move: Any) -> tuple[int, ...]:
        """Return the squares of the pieces that a move captures, in order; by default those that it empties.

        Raises:
            NotImplementedError: see `pieces`.
        """
        before, after = self.pieces(position), self.pieces(position.push(move))
        mine = "b" if position.black else "w"
        taken = [square for square, piece in before.items() if piece.lower() != mine]
        return tuple(square for square in taken if square not in after)

    # --- for people -------------------------------------------------------------------------------------

    def drawn_layout(self) -> Layout:
        """Return `layout`.

        Raises:
            NotImplementedError: the game has none, so it cannot be played in a terminal.
        """
        if self.layout is None:
            raise NotImplementedError(f"{self.name} does not say how its board is drawn (GameSpec.layout)")
        return self.layout

    def diagram(self, position: Any) -> Diagram:
        """Return the board of a position as it is drawn.

        Raises:
            NotImplementedError: see `drawn_layout`.
        """
        layout, pieces = self.drawn_layout(), self.pieces(position)
        rows = [[Cell("") for _ in range(layout.columns)] for _ in range(layout.rows)]
        for square, (row, column) in layout.squares.items():
            rows[row][column] = Cell(pieces.get(square, "."), str(square) if layout.numbers else "")
        return Diagram(tuple(map(tuple, rows)), self.column_labels, self.row_labels)

    def move_cells(self, position: Any, move: Any) -> frozenset[tuple[int, int]]:
        """Return the (row, column) of the squares of `diagram` on the path of a move in a position."""
        if self.layout is None:
            return frozenset()
        return frozenset(self.layout.squares[square] for square in self.path(position, move))

    def names_move(self, text: str) -> bool:
        """Return whether a text, not empty, is meant as a move; by default if it begins with a digit."""
        return text[0].isdigit()

    def read_move(self, position: Any, text: str) -> Any:
        """Return the legal move that a person means.

        Args:
            position: the position before the move.
            text: what was typed; read leniently.

        Raises:
            MoveError: no legal move fits, or several do; one line that says what was expected.
        """
        for move in position.legal_moves():
            if str(move) == text.strip():
                return move
        raise MoveError(f"expected one of {', '.join(map(str, position.legal_moves()))}, found {text[:40]!r}")

    def read_position(self, text: str) -> Any:
        """Return the position of a text, a FEN or a board with `/` between its rows.

        Raises:
            ValueError: the text is not a position; says what was expected.
        """
        raise ValueError(f"expected a game from the beginning: {self.name} has no text for positions")

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Any:
        """Return the position with these pieces.

        Args:
            pieces: `b`, `w`, `B` and `W` by the squares of `layout`, as `pieces` returns them.
            black: whether Black is to move; ignored where the numbers of pieces decide it.

        Raises:
            ValueError: the rules exclude the position; says what was expected.
        """
        raise ValueError(f"expected a game from the beginning: positions of {self.name} cannot be set up")

    def position_text(self, position: Any) -> str:
        """Return a position as `read_position` reads it."""
        return str(position)

    def read_game(self, path: Path, number: int) -> LoadedGame:
        """Read a game from a file that `to_pdn` wrote.

        Args:
            path: the file.
            number: which of its games, from 1.

        Raises:
            ValueError: there is no such game, or it cannot be read.
            OSError: the file cannot be read.
        """
        raise ValueError(f"{path}: expected a file that can be read, but games of {self.name} cannot")

    def opening_name(self, game: Any) -> str | None:
        """Return the name of the opening of a game, None if it has none."""
        return None

    def notices(self, game: Any) -> list[str]:
        """Return what players should know about the rules of draws at this point of a game."""
        return []

    def find_shot(self, position: Any) -> Shot | None:
        """Return the shortest line by which the side to move wins material by force; None without one."""
        return None
