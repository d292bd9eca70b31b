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

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.game import MoveError
from ckai.game.jit import quick_kernel
from ckai.game.svg import Layout
from ckai.pdn.game import RESULTS
from ckai.rl.games import contract
from ckai.rl.games.contract import State
from ckai.rl.games.grid import GridGame, GridPosition, GridReason
from ckai.rl.games.solving import Solver

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


@dataclass(frozen=True)
class LoadedGame:
    """A game read from a file."""

    game: Any
    """The game with its moves."""
    headers: Mapping[str, str]
    result: str
    """One of `ckai.pdn.game.RESULTS`."""
    problem: str = ""
    """Why the game cannot be read beyond its last move; empty if it can."""


@dataclass(frozen=True)
class Shot:
    """A short line that wins material by force."""

    line: tuple[Any, ...]
    """Moves of both sides, the winning side first, to the end of the exchange."""
    taken: int
    """Pieces that the side wins in it."""
    given: int
    """Pieces that it gives up in it; a shot proper gives some first."""
    wins: bool = False
    """Whether the line ends the game."""


def positions_after(
    first: Any, plies: int, moves: Callable[[Any], Iterable[Any]] = lambda position: position.legal_moves()
) -> list[Any]:
    """Return the distinct positions after exactly `plies` plies of these moves, in breadth-first order."""
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in moves(p)]
        positions = {p.key: p for p in after}
    return list(positions.values())


@quick_kernel
def _encode(game, state, out):  # type: ignore[no-untyped-def]
    contract.encode(game, state, out)  # type: ignore[no-untyped-call]


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
    def state_words(self) -> int:
        """int64 words of a state."""
        return int(self.rules.STATE_WORDS)

    @property
    def position_bytes(self) -> int:
        """Length of an encoded position: the board, the jumper, the halfmove clock."""
        return int(self.rules.POSITION_BYTES)

    @property
    def board_bytes(self) -> int:
        """Bytes of an encoded board."""
        return self.position_bytes - 2

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
        """Return the rules for a search, with tablebases and draw limits (`halfmove_limit`) if it has any."""
        return self.rules

    def position(self, state: State | None = None) -> Any:
        """Return the position of a state of the search, or the first one of a game."""
        return GridPosition(self.rules, state or (0, 0))

    def state(self, position: Any) -> State:
        """Return the state of a position."""
        return position.state  # type: ignore[no-any-return]

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

    def halfmove_clocks(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """Return the `[N]` halfmove clocks of states `[N, STATE_WORDS]`: 0 in games without one."""
        return np.zeros(len(states), np.int16)

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

    def captures(self, position: Any, move: Any) -> tuple[int, ...]:
        """Return the squares of the pieces that a move captures, in order."""
        before, after = self.pieces(position), self.pieces(position.push(move))
        mine = "b" if position.black else "w"
        taken = [square for square, piece in before.items() if piece.lower() != mine]
        return tuple(square for square in taken if square not in after)

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
        return self.read_position(self.board_text(pieces))

    def board_text(self, pieces: Mapping[int, str]) -> str:
        """Return pieces as rows from the top, `/` between them, of `b`, `w` and `.`.

        Raises:
            ValueError: a piece is on a square that the board does not have.
        """
        layout = self.layout
        if unknown := sorted(set(pieces) - set(layout.squares)):
            raise ValueError(f"expected squares from 1 to {max(layout.squares)}, found {unknown[0]}")
        rows = [["."] * layout.columns for _ in range(layout.rows)]
        for square, letter in pieces.items():
            row, column = layout.squares[square]
            rows[row][column] = letter
        return "/".join(map("".join, rows))

    # --- text -------------------------------------------------------------------------------------------

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
        return position.find_move(text.strip().rstrip(".").removeprefix("0"))

    def read_position(self, text: str) -> Any:
        """Return the position of a text, as `position_text` writes it.

        Raises:
            ValueError: the text is none, or no game reaches the position; says what was expected.
        """
        layout = self.layout
        rows, shape = text.strip().lower().split("/"), (layout.rows, layout.columns)
        if [len(row) for row in rows] != [shape[1]] * shape[0] or set("".join(rows)) - set("bw."):
            raise ValueError(
                f"expected {shape[0]} rows of {shape[1]} squares of b, w and . with / between, "
                f"found {text[:60]!r}"
            )
        stones = {"b": 0, "w": 0, ".": 0}
        for square, (row, column) in layout.squares.items():
            stones[rows[row][column]] |= 1 << self.rules.BITS[square - 1]
        black, white = stones["b"], stones["w"]
        if black.bit_count() - white.bit_count() not in (0, 1):
            raise ValueError(
                "expected as many stones of both sides, or one more of the first, found "
                f"{black.bit_count()} and {white.bit_count()}"
            )
        self.check_stones(black | white)
        even = black.bit_count() == white.bit_count()
        own, other = (black, white) if even else (white, black)
        before = GridPosition(self.rules, (other, own)).outcome()
        if before is not None and before.reason == GridReason.LINE:
            raise ValueError("expected no line of the side to move, which would have ended the game")
        return self.position((own, other))

    def check_stones(self, taken: int) -> None:
        """Raise a ValueError for a set of stones that no game reaches."""

    def position_text(self, position: Any) -> str:
        """Return a position as `read_position` reads it."""
        return self.board_text(self.pieces(position))

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

    def read_game(self, path: Path, number: int) -> LoadedGame:
        """Read game `number`, from 1, from a file that `to_pdn` wrote.

        Raises:
            ValueError: there is no such game, or it cannot be read.
            OSError: the file cannot be read.
        """
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

    # --- for players ------------------------------------------------------------------------------------

    def opening_name(self, game: Any) -> str | None:
        """Return the name of the opening of a game, None if it has none."""
        return None

    def notices(self, game: Any) -> list[str]:
        """Return what players should know about the rules of draws at this point of a game."""
        return []

    def find_shot(self, position: Any) -> Shot | None:
        """Return the shortest line by which the side to move wins material by force; None without one."""
        return None
