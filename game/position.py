"""A position of English draughts: its pieces, its legal moves, and the positions they lead to; perft."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ckai.game import kernels
from ckai.game.outcome import BLACK, HALFMOVE_LIMIT, Color, Outcome, Reason
from ckai.game.squares import SQUARES, index_of, square_of
from ckai.game.svg import board_svg
from ckai.game.text import MOVE, MoveError, PositionError, parse_fen

MAX_HALFMOVE_CLOCK: Final = 32_767
"""Upper bound of the halfmove clock, in plies: the largest int16, the type of its column in data files."""
_ANY: Final = np.empty(0, np.int64)
_LISTED: Final = 12
"""Most legal moves that an error lists."""


@dataclass(frozen=True, order=True)
class Move:
    """A whole move. `str(move)` is its PDN text with every landing square.

    Moves come from a position (`Position.legal_moves`, `Position.find_move`), sort by their squares, and can
    be used as dictionary keys.
    """

    path: tuple[int, ...]
    """PDN squares 1..32 that the piece stands on, from first to last; two or more."""
    actions: tuple[int, ...]
    """One action 0..127 per hop, in mover's view (see `ckai.game.squares`)."""
    captured: tuple[int, ...] = ()
    """PDN squares of the captured pieces, in order; empty for a step."""

    @property
    def from_square(self) -> int:
        """PDN square 1..32 where the piece starts."""
        return self.path[0]

    @property
    def to_square(self) -> int:
        """PDN square 1..32 where the piece ends; equal to `from_square` when a king captures in a circle."""
        return self.path[-1]

    @property
    def is_capture(self) -> bool:
        """Whether the move captures."""
        return bool(self.captured)

    def __str__(self) -> str:
        return ("x" if self.captured else "-").join(map(str, self.path))

    def __repr__(self) -> str:
        return f"<Move {self}>"


@dataclass(frozen=True)
class Position:
    """An immutable position of English draughts.

    Make one with `start`, `from_fen` or `from_pieces`. Two positions are equal if their
    pieces, side to move, capturing piece and halfmove clock are; `key` leaves the clock out. Squares are
    PDN's 1..32.

    The fields are for code that needs speed: bitboards in *mover's view* (`ckai.game.squares`), where bit i
    is the square with index i and the board is rotated when White is to move. `pieces`, `turn` and
    `jumper_square` say the same in PDN squares.

    Raises:
        PositionError: on construction, if the rules exclude the position: two pieces on a square, more than
            12 of a side, a man on its crowning row, a clock out of range, or a jumper that cannot capture.

    >>> from ckai.game import Position
    >>> position = Position.start()
    >>> [str(move) for move in position.legal_moves()]
    ['9-13', '9-14', '10-14', '10-15', '11-15', '11-16', '12-16']
    >>> position = position.push("11-15").push("22-18")
    >>> position.fen
    'B:W18,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,12,15'
    >>> position.legal_moves()
    [<Move 15x22>]
    """

    own: int
    """All pieces of the side to move."""
    opp: int
    """All pieces of the other side."""
    kings: int
    """The kings of both."""
    black: bool = True
    """Whether Black is to move."""
    jumper: int = -1
    """Mover's-view index of the piece that must continue a capture, -1 if none."""
    halfmove_clock: int = 0
    """Plies since the last capture or man's move, 0..MAX_HALFMOVE_CLOCK."""

    def __post_init__(self) -> None:
        own, opp, kings = self.own, self.opp, self.kings

        def square(bits: int) -> int:
            """PDN square of the lowest bit."""
            return square_of((bits & -bits).bit_length() - 1, self.black)

        if (own | opp | kings) >> 32 or min(own, opp, kings) < 0:
            raise PositionError("expected boards of 32 bits")
        if own & opp:
            raise PositionError(f"two pieces on square {square(own & opp)}")
        if kings & ~(own | opp):
            raise PositionError(f"a king on an empty square {square(kings & ~(own | opp))}")
        names = ("Black", "White") if self.black else ("White", "Black")
        for pieces, last_row, name in ((own, kernels.LAST_ROW, names[0]), (opp, 0xF, names[1])):
            if pieces.bit_count() > 12:
                raise PositionError(f"{name} has {pieces.bit_count()} pieces, at most 12 are possible")
            if stuck := pieces & ~kings & last_row:
                raise PositionError(f"a man of {name} on its crowning row, square {square(stuck)}")
        if not 0 <= self.halfmove_clock <= MAX_HALFMOVE_CLOCK:
            raise PositionError(
                f"expected halfmove_clock from 0 to {MAX_HALFMOVE_CLOCK}, found {self.halfmove_clock}"
            )
        if self.jumper == -1:
            return
        bit = 1 << self.jumper
        if not own & bit:
            raise PositionError(f"no piece of the side to move on jumper square {square(bit)}")
        if not kernels.can_jump(bit, bool(kings & bit), opp, ~(own | opp) & kernels.FULL):
            raise PositionError(f"the piece on {square(bit)} has no capture to continue")

    @classmethod
    def start(cls) -> "Position":
        """The initial position: twelve men a side, Black to move."""
        return cls(kernels.START, kernels.START_OPP, 0)

    @classmethod
    def from_fen(cls, fen: str, *, jumper: int | None = None) -> "Position":
        """Read a FEN.

        Args:
            fen: PDN 3.0, such as `B:W18,24,K10:B1-12` or `W:WK18:BK1:H17`; see `ckai.game.text`.
            jumper: PDN square of the piece that must continue a capture; a FEN cannot express it.

        Raises:
            PositionError: the text is not a FEN, or the rules exclude the position.
        """
        turn, pieces, clock = parse_fen(fen)
        try:
            return cls.from_pieces(pieces, turn=turn, halfmove_clock=clock, jumper=jumper)
        except PositionError as error:
            raise PositionError(f"FEN {fen[:80]!r}: {error}") from None

    @classmethod
    def from_pieces(
        cls,
        pieces: Mapping[int, str],
        *,
        turn: Color | str = BLACK,
        halfmove_clock: int = 0,
        jumper: int | None = None,
    ) -> "Position":
        """Set up a position from pieces by square, see `pieces`; `turn` is "black" or "white".

        Raises:
            PositionError: for an unknown piece or square, or if the rules exclude the position.
        """
        if turn not in tuple(Color):
            raise PositionError(f"expected turn black or white, found {turn!r}")
        black = turn == BLACK
        sides, kings = {"b": 0, "w": 0}, 0
        for square, letter in pieces.items():
            if letter not in ("b", "B", "w", "W"):
                raise PositionError(f"expected one of b, B, w, W on square {square}, found {letter!r}")
            if not 1 <= square <= SQUARES:
                raise PositionError(f"expected squares from 1 to {SQUARES}, found {square}")
            bit = 1 << index_of(square, black)
            sides[letter.lower()] |= bit
            kings |= bit if letter.isupper() else 0
        if jumper is not None and not 1 <= jumper <= SQUARES:
            raise PositionError(f"expected a jumper from 1 to {SQUARES}, found {jumper}")
        own, opp = (sides["b"], sides["w"]) if black else (sides["w"], sides["b"])
        return cls(own, opp, kings, black, -1 if jumper is None else index_of(jumper, black), halfmove_clock)

    @property
    def turn(self) -> Color:
        """The side to move."""
        return Color.BLACK if self.black else Color.WHITE

    @property
    def jumper_square(self) -> int | None:
        """PDN square of the piece that must continue a capture, between two hops of one move; else None."""
        return None if self.jumper < 0 else square_of(self.jumper, self.black)

    @property
    def fen(self) -> str:
        """The position as a PDN 3.0 FEN, which cannot express `jumper_square`.

        White comes first, squares ascend without ranges, and the H field is there if the clock is above 0.
        """
        sides: dict[str, list[str]] = {"W": [], "B": []}
        for square, letter in self.pieces().items():
            sides[letter.upper()].append(f"K{square}" if letter.isupper() else str(square))
        clock = f":H{self.halfmove_clock}" if self.halfmove_clock else ""
        return f"{'B' if self.black else 'W'}:W{','.join(sides['W'])}:B{','.join(sides['B'])}{clock}"

    @property
    def key(self) -> tuple[int, int, int, bool, int]:
        """What must be equal for a repetition: everything but `halfmove_clock`."""
        return (self.own, self.opp, self.kings, self.black, self.jumper)

    @property
    def board(self) -> NDArray[np.int8]:
        """`[32]` int8 in mover's view: 1 own man, 3 own king, -1 / -3 the opponent's, 0 empty."""
        out = np.empty(32, np.int8)
        kernels.write_board(self.own, self.opp, self.kings, out)
        return out

    def piece(self, square: int) -> str:
        """The piece on a PDN square 1..32: `b` or `w` for a man, `B` or `W` for a king, `.` for none."""
        if not 1 <= square <= SQUARES:
            raise ValueError(f"expected a square from 1 to {SQUARES}, found {square}")
        bit = 1 << index_of(square, self.black)
        if not (self.own | self.opp) & bit:
            return "."
        letter = "b" if bool(self.own & bit) == self.black else "w"
        return letter.upper() if self.kings & bit else letter

    def pieces(self) -> dict[int, str]:
        """The occupied PDN squares, ascending, each with its piece as in `piece`."""
        return {square: letter for square in range(1, SQUARES + 1) if (letter := self.piece(square)) != "."}

    def __str__(self) -> str:
        """The board as text, White at the bottom as players print it, square 1 at the top."""
        rows = []
        for row in range(8):
            cells = [self.piece(row * 4 + column + 1) for column in range(4)]
            rows.append(("  " if row % 2 == 0 else "") + "   ".join(cells))
        return "\n".join([*rows, f"{'Black' if self.black else 'White'} to move"])

    def __repr__(self) -> str:
        jumper = "" if self.jumper_square is None else f", jumper={self.jumper_square}"
        return f"Position.from_fen({self.fen!r}{jumper})"

    def svg(self, last_move: Move | None = None) -> str:
        """The board as an SVG image, one `<svg>` element. Notebooks draw a position by themselves.

        The squares of the move that led here are shaded, with an arrow along them.
        """
        return board_svg(self.pieces(), self.fen, last_move.path if last_move else ())

    def _repr_svg_(self) -> str:
        return self.svg()

    def outcome(self, *, halfmove_limit: int = HALFMOVE_LIMIT) -> Outcome | None:
        """How the game ended, as far as the position alone decides: None while it continues.

        A side that cannot move has lost, even if `halfmove_limit` plies without a capture or a man's move
        make a draw. Repetitions need the moves before: see `Game.outcome`.
        """
        if not self._moves:
            loser, winner = self.turn.capitalize(), self.turn.other
            if self.own:
                return Outcome(winner, Reason.NO_MOVES, f"{loser} has no legal move")
            return Outcome(winner, Reason.NO_PIECES, f"{loser} has no pieces left")
        if self.halfmove_clock >= halfmove_limit:
            detail = f"{self.halfmove_clock} plies without a capture or a man's move"
            return Outcome(None, Reason.HALFMOVE_LIMIT, detail)
        return None

    def is_game_over(self) -> bool:
        """Whether `outcome` has one."""
        return self.outcome() is not None

    def legal_actions(self) -> list[int]:
        """The legal hops as actions 0..127 in mover's view, ascending; empty if the mover has lost."""
        out = np.empty(128, np.int64)
        n = kernels.legal_actions(self.own, self.opp, self.kings, self.jumper, out)
        return [int(action) for action in out[:n]]

    def push_action(self, action: int) -> "Position":
        """The position after one hop, 0..127; the same side stays to move while its piece must continue.

        Raises:
            MoveError: if the hop is illegal.
        """
        if action not in self.legal_actions():
            raise MoveError(f"hop {action} is illegal here (legal: {self.legal_actions()})")
        return self._after(action)

    def _after(self, action: int) -> "Position":
        own, opp, kings, jumper, halfmove_clock, passed = kernels.apply_hop(
            self.own, self.opp, self.kings, self.halfmove_clock, action
        )
        return Position(own, opp, kings, self.black ^ passed, jumper, min(halfmove_clock, MAX_HALFMOVE_CLOCK))

    @cached_property
    def _moves(self) -> tuple[Move, ...]:
        actions, lengths = _room()
        found = kernels.legal_paths(self.own, self.opp, self.kings, self.jumper, _ANY, actions, lengths)
        return tuple(self._move(actions[i, : lengths[i]].tolist()) for i in range(found))

    def _move(self, actions: Sequence[int]) -> Move:
        """The move made of legal hops."""
        path, captured = [actions[0] >> 2], []
        for action in actions:
            middle = int(kernels.STEP_TO[action])
            jumps = self.opp >> middle & 1
            path.append(int(kernels.JUMP_TO[action]) if jumps else middle)
            captured += [square_of(middle, self.black)] * jumps
        return Move(tuple(square_of(i, self.black) for i in path), tuple(actions), tuple(captured))

    def legal_moves(self) -> list[Move]:
        """Every whole move, sorted by squares; between two hops, the ways to complete the capture.

        Two routes over different squares are two moves even if they capture the same pieces.
        """
        return sorted(self._moves)

    def is_legal(self, move: Move | str) -> bool:
        """Whether `push` accepts a move or text such as `11-15`; False for ambiguous text and other words."""
        if isinstance(move, Move):
            return move in self._moves
        try:
            self.find_move(move)
        except MoveError:
            return False
        return True

    def push(self, move: Move | str) -> "Position":
        """The position after a whole move, or one in text such as `11-15`.

        Raises:
            MoveError: see `find_move`.
        """
        if isinstance(move, str):
            move = self.find_move(move)
        elif move not in self._moves:
            raise MoveError(self._refusal(str(move), "is illegal"))
        position = self
        for action in move.actions:
            position = position._after(action)
        return position

    def move_of(self, actions: Sequence[int]) -> Move | None:
        """The legal move made of these hops, 0..127 each; None if there is none or hops are missing."""
        wanted = tuple(actions)
        return next((move for move in self._moves if move.actions == wanted), None)

    def find_move(self, text: str) -> Move:
        """The legal move that text names: squares joined by `-`, `x`, `X`, `:`, `*` or the en dash.

        Raises:
            MoveError: the text is not a move, or see `find_path`.
        """
        squares = [int(square) for square in re.findall(r"\d+", text)] if MOVE.match(text) else []
        if not squares or not all(1 <= square <= SQUARES for square in squares):
            raise MoveError(self._refusal(text.strip(), "is not a move such as 11-15 or 26x17x10"))
        return self.find_path(squares, text.strip())

    def find_path(self, squares: Sequence[int], text: str | None = None) -> Move:
        """The legal move from the first to the last of some PDN squares that visits the others in order.

        Landing squares between may be missing. `text` is what an error quotes; default: the squares.

        Raises:
            MoveError: no legal move fits, or several do.
        """
        path = np.array([index_of(square, self.black) for square in squares], np.int64)
        actions, lengths = _room()
        row = kernels.find_move(self.own, self.opp, self.kings, self.jumper, path, actions, lengths)
        if row >= 0:
            return self._move(actions[row, : lengths[row]].tolist())
        text = text or "-".join(map(str, squares))
        raise MoveError(self._refusal(text, "is illegal" if row == -1 else "is ambiguous"))

    def _refusal(self, text: str, problem: str) -> str:
        moves = [str(move) for move in self.legal_moves()]
        more = ", ..." if len(moves) > _LISTED else ""
        legal = f"legal: {', '.join(moves[:_LISTED])}{more}"
        return f"'{text}' {problem} here ({legal if moves else 'no legal move: the side to move has lost'})"


def _room() -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Room for the actions of all moves of a position, and their numbers; see `kernels.legal_paths`."""
    return np.empty((kernels.MAX_MOVES, kernels.MAX_HOPS), np.uint8), np.empty(kernels.MAX_MOVES, np.int8)


def perft(position: Position, depth: int) -> int:
    """Count the paths of `depth` whole moves, 0 or more. Draw rules do not end a path.

    Two routes of a capture over different squares are two moves, even if they capture the same pieces.

    Raises:
        ValueError: if depth is negative.
    """
    if depth < 0:
        raise ValueError(f"expected depth >= 0, found {depth}")
    return _perft(position, depth, 3)


def _perft(position: Position, depth: int, split: int) -> int:
    """Split deep counts by their first moves: Ctrl-C cannot interrupt a kernel, but it stops this loop."""
    if depth == 0:
        return 1
    if split and depth > 6:
        return sum(_perft(position.push(move), depth - 1, split - 1) for move in position.legal_moves())
    return int(kernels.perft(position.own, position.opp, position.kings, position.jumper, depth))


@cache
def compile_rules() -> None:
    """Compile the kernels of the rules, or load them from the cache, by calling each."""
    start = Position.start()
    assert start.legal_moves()
    start.find_path((9, 13))
    start.push_action(start.legal_actions()[0])
    assert start.board.any()
    Position.from_fen("B:W18,25,26:B14", jumper=14)
