"""`GameSpec`: a game as matches, self-play and commands use it.

The search knows a game by `ckai.rl.games.contract` alone. A `GameSpec` adds what people and files need:
positions with moves as objects, games as lines of moves, openings, PDN-like text, defaults. One object a
game; see `ckai.rl.games.registry`.

A position is immutable, such as `ckai.game.Position`: `black`, whether the player who is called Black is to
move; `key`, equal for equal positions; `legal_moves()`, none if the game is over; `push(move)`, the position
after it; `find_move(text)`, the legal move that a person means; `move_of(actions)`, the legal move made of
these actions, or None while some are missing. A move has `actions`, its hops in the mover's view, and its
`str` is its notation. A game, such as `ckai.game.Game`, has lists of `moves` and `positions`, the current
`position` and its `history`, the positions before; `push(move)` takes a move or its text, `pop()` takes the
last one back; `outcome()` is how it ended by rule, or None.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.game import Game, MoveError, Outcome
from ckai.game.jit import quick_kernel
from ckai.game.outcome import Color
from ckai.game.svg import Layout
from ckai.pdn.game import RESULTS
from ckai.rl.games import contract
from ckai.rl.games.contract import State

if TYPE_CHECKING:
    import pyarrow as pa


class Symmetry(NamedTuple):
    """A symmetry of the game: a rotation or reflection of the board."""

    squares: tuple[int, ...]
    """Square i of the transformed board is square `squares[i]` of the board."""
    actions: tuple[int, ...]
    """Action i on the transformed board is action `actions[i]` on the board."""


def square_symmetries(size: int, layers: int = 1, others: int = 0) -> tuple[Symmetry, ...]:
    """Return the seven ways to turn and mirror a square board whose action i is square i, row by row.

    Args:
        size: rows and columns.
        layers: encoded bytes of a square.
        others: actions beyond the squares, which stay as they are.
    """
    board = np.arange(size * size).reshape(size, size)
    turned = [np.rot90(way, n).ravel() for way in (board, board.T) for n in range(4)][1:]
    at = board.size * np.arange(layers)[:, None]
    rest = range(board.size, board.size + others)
    return tuple(Symmetry(tuple((way + at).ravel().tolist()), (*way.tolist(), *rest)) for way in turned)


def positions_after(
    first: Any, plies: int, moves: Callable[[Any], Iterable[Any]] = lambda position: position.legal_moves()
) -> list[Any]:
    """Return the distinct positions after exactly `plies` plies of these moves, in breadth-first order."""
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in moves(p)]
        positions = {p.key: p for p in after}
    return list(positions.values())


def parse_games(text: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the tags and the words of each game that `GameSpec.to_pdn` wrote: the moves, then the result."""
    for block in re.split(r"\n\n(?=\[)", text):
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', block, flags=re.MULTILINE))
        words = re.sub(r"^\[.*\]$|\d+\.|\.\.\.", "", block, flags=re.MULTILINE).split()
        if tags or words:
            yield tags, words


# --- solved games -------------------------------------------------------------------------------------


class SolvedValue(NamedTuple):
    """What best play of both sides leads to."""

    value: int
    """1 if the side to move wins, -1 if it loses, 0 for a draw."""
    plies: int
    """Moves until the end, if the winner hurries and the loser delays."""

    @property
    def order(self) -> tuple[int, int]:
        """Higher for better results: for faster wins, and for slower losses."""
        return self.value, -self.value * self.plies

    def before(self) -> "SolvedValue":
        """Return what this is for the other side, one move earlier."""
        return SolvedValue(-self.value, self.plies + 1)


class Solver:
    """Solves positions; this one tries every game, once, of games in which only the last mover can win.

    What it has seen may make later ones faster. For one thread at a time. A position can be hashed.
    """

    def solve(self, position: Any) -> SolvedValue:
        """Return the truth about a position for its side to move; `plies` is 0 where the game is over."""
        return _solved(position)

    def moves(self, position: Any) -> dict[Any, SolvedValue]:
        """Return every legal move and what it leads to, for the side to move."""
        return {move: self.solve(position.push(move)).before() for move in position.legal_moves()}


@cache
def _solved(position: Any) -> SolvedValue:
    outcome = position.outcome()
    if outcome is not None:
        return SolvedValue(0 if outcome.winner is None else -1, 0)  # who is to move did not make the line
    after = (_solved(position.push(move)).before() for move in position.legal_moves())
    return max(after, key=lambda truth: truth.order)


# --- stones on a grid ---------------------------------------------------------------------------------


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
    def turn(self) -> Color:
        """The side to move."""
        return Color.BLACK if self.black else Color.WHITE

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
        return GridPosition(self.rules, _play(self.rules, self.state, move.action))

    def move_of(self, hops: Sequence[int]) -> GridMove | None:
        """Return the move of these actions; see `ckai.game.Position.move_of`."""
        return GridMove(hops[0]) if len(hops) == 1 else None

    def find_move(self, text: str) -> GridMove:
        """Return the legal move with a text, which a dot may follow and zeros may precede.

        Raises:
            MoveError: there is none.
        """
        moves = self.legal_moves()
        for move in moves:
            if str(move) == text.strip().rstrip(".").lstrip("0"):
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

    @cached_property
    def _legal_and_outcome(self) -> tuple[list[int], bool, float]:
        actions = np.empty(self.rules.MAX_LEGAL_ACTIONS, np.uint8)
        count, over, value = _legal_and_outcome(self.rules, self.state, actions)
        return actions[:count].tolist(), bool(over), float(value)


class GridGame(Game):
    """A game of stones: its rules end it, no draw rule does."""

    _repr_svg_ = None  # type: ignore[assignment]  # a notebook shows its `repr`

    def outcome(self) -> Outcome | None:
        """Return how the game ended, see `GridPosition.outcome`."""
        return self.position.outcome()


# --- the game -----------------------------------------------------------------------------------------


@quick_kernel
def _encode(game, state, out):  # type: ignore[no-untyped-def]
    contract.encode(game, state, out)  # type: ignore[no-untyped-call]


@quick_kernel
def key_of(game, state):  # type: ignore[no-untyped-def]
    """Return what must be equal for a repetition, see `contract.key`."""
    return contract.key(game, state)  # type: ignore[no-untyped-call]


class GameSpec:
    """A game; as it stands here one in which the sides place one stone each in turn.

    The rules of such a game have `bits`, see `ckai.rl.games.contract.game`; `layout` numbers their squares
    from 1 on. A game of another form supplies the methods itself.

    Attributes:
        name: the name in commands, files and checkpoints.
        title: what people call it; empty: `name`.
        rules: its usual rules for the search, without tablebases.
        encoding: the encoding of a new network; None: the default of the network.
        plies: of an average game, for estimates.
        layout: how its board is drawn, see `ckai.game.svg`.
        symmetries: of the board in the mover's view, the identity left out.
        supports_tables: whether there are tablebases.
        run_defaults: settings of a self-play run that suit it better than the general ones, by dotted names.
        search_defaults: constants of `SearchConstants` for searches with a network, except in self-play.
        solver: class that solves its positions, made without arguments; None: it cannot be solved.
        column_labels: text below each column of the board, or none.
        row_labels: text next to each row of the board, or none; at most two characters.
        side_names: what people call the first and the second player.
        piece_letters: letters for the pieces where they are not `b` and `w`, and `B` and `W` for kings.
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
    layout: Layout
    symmetries: tuple[Symmetry, ...] = ()
    supports_tables: bool = False
    run_defaults: ClassVar[Mapping[str, Any]] = {
        "selfplay.tables": 0,
        "selfplay.temperature_plies": 8,
        "learn.batch_size": 128,
        "learn.lr": 2e-3,
        "learn.epochs": 1,
    }
    search_defaults: ClassVar[Mapping[str, Any]] = {}
    solver: ClassVar[type[Solver] | None] = None
    column_labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()
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
    def board_bytes(self) -> int:
        """Bytes of an encoded board."""
        return int(self.rules.POSITION_BYTES) - 2

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

    def make_rules(self, tables: Tables | None = None) -> Any:
        """Return the rules for a search, with tablebases if there are any."""
        return self.rules

    def position(self, state: State | None = None) -> Any:
        """Return the position of a state of the search, or the first one of a game."""
        return GridPosition(self.rules, state or (0, 0))

    def state(self, position: Any) -> State:
        """Return the state of a position."""
        return position.state  # type: ignore[no-any-return]

    def repetition_key(self, position: Any) -> State:
        """Return what must be equal for a repetition, as many words as a state; see `contract.key`."""
        return key_of(self.rules, self.state(position))  # type: ignore[no-any-return]

    def encoded(self, position: Any) -> NDArray[np.int8]:
        """Return a position as networks get it, `[POSITION_BYTES]`, in the view of the side to move.

        The search encodes its positions itself.
        """
        out = np.zeros(self.rules.POSITION_BYTES, np.int8)
        _encode(self.rules, self.state(position), out)
        return out

    def openings(self, plies: int = 3) -> tuple[Any, ...]:
        """Return the distinct positions after a few plies that matches and self-play begin from."""
        return tuple(p for p in positions_after(self.position(), plies) if p.legal_moves())

    # --- the board --------------------------------------------------------------------------------------

    def pieces(self, position: Any) -> dict[int, str]:
        """Return the pieces of a position by the squares of `layout`: `b` and `w`, kings `B` and `W`."""
        own, other = position.state
        mine, its = ("b", "w") if position.black else ("w", "b")
        stones = ((n, own >> bit & 1, other >> bit & 1) for n, bit in enumerate(self.rules.BITS, 1))
        return {n: mine if owned else its for n, owned, others in stones if owned or others}

    def path(self, position: Any, move: Any) -> tuple[int, ...]:
        """Return the squares of a move in the order in which it is made; by default those that it fills."""
        before, after = self.pieces(position), self.pieces(position.push(move))
        return tuple(square for square in after if square not in before)

    def view(self, position: Any) -> tuple[int, ...]:
        """Return the squares of `layout` in the order in which networks see them, for the side to move."""
        return tuple(sorted(self.layout.squares))

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Any:
        """Return the position with these pieces.

        Args:
            pieces: `b`, `w`, `B` and `W` by the squares of `layout`, as `pieces` returns them.
            black: whether Black is to move; ignored where the numbers of pieces decide it.

        Raises:
            ValueError: the rules exclude the position; says what was expected.
        """
        sides = first, second = self.sides(pieces)
        if len(first) - len(second) not in (0, 1):
            raise ValueError(
                "expected as many stones of both sides, or one more of the first, found "
                f"{len(first)} and {len(second)}"
            )
        own, other = (sum(1 << self.rules.BITS[n - 1] for n in side) for side in sides)
        if len(first) > len(second):
            own, other = other, own
        before = GridPosition(self.rules, (other, own)).outcome()
        if before is not None and before.reason == GridReason.LINE:
            raise ValueError("expected no line of the side to move, which would have ended the game")
        return self.position((own, other))

    def sides(self, pieces: Mapping[int, str]) -> tuple[list[int], list[int]]:
        """Return the squares of Black's and of White's stones; a ValueError names what is no stone."""
        last = max(self.layout.squares)
        for square, letter in pieces.items():
            if square not in self.layout.squares or letter not in ("b", "w"):
                raise ValueError(f"expected b or w on squares 1 to {last}, found {letter!r} on {square}")
        black, white = ([n for n, each in pieces.items() if each == letter] for letter in "bw")
        return black, white

    # --- text -------------------------------------------------------------------------------------------

    def read_move(self, position: Any, text: str) -> Any:
        """Return the legal move that a person means; what was typed is read leniently.

        Raises:
            MoveError: no legal move fits, or several do; one line that says what was expected.
        """
        return position.find_move(text)

    def read_position(self, text: str) -> Any:
        """Return the position of a text, as `position_text` writes it.

        Raises:
            ValueError: the text is none, or no game reaches the position; says what was expected.
        """
        return self.set_up(self.read_board(text), black=True)

    def position_text(self, position: Any) -> str:
        """Return a position as rows from the top, `/` between them, of `b`, `w` and `.`."""
        layout, pieces = self.layout, self.pieces(position)
        rows = [["."] * layout.columns for _ in range(layout.rows)]
        for square, (row, column) in layout.squares.items():
            rows[row][column] = pieces.get(square, ".")
        return "/".join(map("".join, rows))

    def read_board(self, text: str) -> dict[int, str]:
        """Return the pieces of such rows; a ValueError says what was expected."""
        layout, rows = self.layout, text.strip().lower().split("/")
        if [len(row) for row in rows] != [layout.columns] * layout.rows or set("".join(rows)) - set("bw."):
            raise ValueError(
                f"expected {layout.rows} rows of {layout.columns} squares of b, w and . with / between, "
                f"found {text[:60]!r}"
            )
        letters = {square: rows[row][column] for square, (row, column) in layout.squares.items()}
        return {square: letter for square, letter in letters.items() if letter != "."}

    def game(self, position: Any | None = None) -> Any:
        """Return a game that begins in a position, or in the usual one."""
        return GridGame(position or self.position())

    def to_pdn(self, game: Any, headers: dict[str, str], result: str) -> str:
        """Return a game in the form of PDN: tags, numbered moves, result.

        The tag Setup has the first position where it is not the usual one.
        """
        tags, first = {**headers, "Result": result}, game.positions[0]
        if first.key != self.position().key:
            tags["Setup"] = self.position_text(first)
        words = [f"{i // 2 + 1}. {move}" if i % 2 == 0 else str(move) for i, move in enumerate(game.moves)]
        lines = [f'[{name} "{value}"]' for name, value in tags.items()]
        return "\n".join([*lines, "", " ".join([*words, result]), "", ""])

    def read_game(self, path: Path, number: int) -> tuple[Any, str]:
        """Read game `number`, from 1, with its tags, from a file that `to_pdn` wrote.

        Returns the game, and why it cannot be read beyond its last move; empty if it can.

        Raises:
            ValueError: there is no such game, or it cannot be read.
            OSError: the file cannot be read.
        """
        games = list(parse_games(path.read_text(encoding="utf-8", errors="replace")))
        if not 1 <= number <= len(games):
            raise ValueError(f"{path}: expected game 1 to {len(games)}, found {number}")
        tags, words = games[number - 1]
        setup, ply = tags.pop("Setup", ""), 0
        try:
            game = self.game(self.read_position(setup) if setup else None)
            for word in takewhile(lambda word: word not in RESULTS, words):
                game.push(word)
                ply += 1
        except ValueError as error:
            raise ValueError(f"{path}: game {number}: ply {ply}: {error}") from None
        game.headers = tags
        return game, ""

    # --- for players ------------------------------------------------------------------------------------

    def opening_name(self, game: Any) -> str | None:
        """Return the name of the opening of a game, None if it has none."""
        return None
