"""A position, and the moves that lead from it to the next."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ckai.game import kernels
from ckai.game.errors import AmbiguousMoveError, IllegalMoveError, MoveError, MoveTextError, PositionError
from ckai.game.fen import Placement, format_fen, parse_fen
from ckai.game.squares import index_of, square_of

_MOVE_TEXT = re.compile(r"\s*([0-9]{1,2})((?:\s*[-xX:\u2013*]\s*[0-9]{1,2})+)\s*\Z")

MAX_HALFMOVE_CLOCK: Final = 32_767
"""Where the count of plies without a capture or a man's move ends; more do not fit into a row."""


@dataclass(frozen=True, order=True)
class Move:
    """A whole move: every square the piece stands on, as PDN squares 1..32, first to last."""

    path: tuple[int, ...]
    actions: tuple[int, ...]
    """The hops as move actions 0..127 in the mover's view."""
    captured: tuple[int, ...] = ()
    """PDN squares of the pieces taken, in order; empty for a step."""

    @property
    def is_capture(self) -> bool:
        """Whether the move takes a piece."""
        return bool(self.captured)

    @property
    def short(self) -> str:
        """First and last square only: `26x1` for `26x17x10x1`."""
        return f"{self.path[0]}{'x' if self.captured else '-'}{self.path[-1]}"

    def __str__(self) -> str:
        return ("x" if self.captured else "-").join(map(str, self.path))


@dataclass(frozen=True)
class Position:
    """An immutable position of English draughts.

    The boards are kept in mover's view (see `ckai.game.squares`): bit i is the square with index i.
    Two positions are equal if pieces, side to move, the piece that must go on and `halfmove_clock` are.

    Raises:
        PositionError: on construction, if the position cannot be.
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
    """Index of the piece that is in the middle of a capture and must go on, -1 if none."""
    halfmove_clock: int = 0
    """Plies since the last capture or man's move, MAX_HALFMOVE_CLOCK at most."""

    def __post_init__(self) -> None:
        names = ("Black", "White") if self.black else ("White", "Black")
        if (self.own | self.opp | self.kings) >> 32 or min(self.own, self.opp, self.kings) < 0:
            raise PositionError("expected boards of 32 bits")
        if self.own & self.opp:
            raise PositionError(f"two pieces on square {self._lowest_square(self.own & self.opp)}")
        if self.kings & ~(self.own | self.opp):
            raise PositionError(
                f"a king on an empty square {self._lowest_square(self.kings & ~(self.own | self.opp))}"
            )
        for pieces, last_row, name in (
            (self.own, kernels.LAST_ROW, names[0]),
            (self.opp, 0xF, names[1]),
        ):
            if pieces.bit_count() > 12:
                raise PositionError(f"{name} has {pieces.bit_count()} pieces, at most 12 are possible")
            stuck = pieces & ~self.kings & last_row
            if stuck:
                raise PositionError(
                    f"a man of {name} on its crowning row, square {self._lowest_square(stuck)}"
                )
        if not 0 <= self.halfmove_clock <= MAX_HALFMOVE_CLOCK:
            raise PositionError(
                f"expected halfmove_clock from 0 to {MAX_HALFMOVE_CLOCK}, found {self.halfmove_clock}"
            )
        if self.jumper != -1:
            if not (0 <= self.jumper < 32 and self.own >> self.jumper & 1):
                raise PositionError(f"no piece of the side to move at jumper index {self.jumper}")
            bit = 1 << self.jumper
            if not kernels.can_jump(
                bit, bool(self.kings & bit), self.opp, ~(self.own | self.opp) & kernels.FULL
            ):
                raise PositionError(
                    f"the piece on {square_of(self.jumper, self.black)} has no capture to go on with"
                )

    def _lowest_square(self, bits: int) -> int:
        return square_of((bits & -bits).bit_length() - 1, self.black)

    # --- making positions ---------------------------------------------------------------------------

    @classmethod
    def start(cls) -> "Position":
        """The first position: Black to move."""
        return cls(kernels.START, kernels.START_OPP, 0)

    @classmethod
    def from_fen(
        cls, fen: str, *, jumper: int | None = None, halfmove_clock: int | None = None
    ) -> "Position":
        """Read a FEN.

        Args:
            fen: PDN 3.0, see `ckai.game.fen`.
            jumper: PDN square of the piece that must go on capturing.
            halfmove_clock: plies since the last capture or man's move; the FEN's H field if not given.

        Raises:
            PositionError: if the text is no FEN or the position cannot be.
        """
        p = parse_fen(fen)
        own, opp, kings = (p.black, p.white, p.kings)
        if not p.black_to_move:
            own, opp, kings = _turn(p.white), _turn(p.black), _turn(p.kings)
        if jumper is not None and not 1 <= jumper <= 32:
            raise PositionError(f"expected a jumper from 1 to 32, found {jumper}")
        at = -1 if jumper is None else index_of(jumper, p.black_to_move)
        try:
            return cls(
                own,
                opp,
                kings,
                p.black_to_move,
                at,
                p.halfmove_clock if halfmove_clock is None else halfmove_clock,
            )
        except PositionError as error:
            raise PositionError(f"FEN {fen!r}: {error}") from None

    # --- looking at it ------------------------------------------------------------------------------

    @property
    def fen(self) -> str:
        """The position as FEN (the jumper and the halfmove clock are not part of it)."""
        if self.black:
            return format_fen(Placement(True, self.own, self.opp, self.kings))
        return format_fen(Placement(False, _turn(self.opp), _turn(self.own), _turn(self.kings)))

    @property
    def key(self) -> tuple[int, int, int, bool, int]:
        """What must be equal for a repetition: all but `halfmove_clock`."""
        return (self.own, self.opp, self.kings, self.black, self.jumper)

    @property
    def board(self) -> NDArray[np.int8]:
        """`[32]` int8 in mover's view: 1 own man, 3 own king, -1 / -3 the other's, 0 empty."""
        out = np.empty(32, np.int8)
        kernels.write_board(self.own, self.opp, self.kings, out)
        return out

    def piece(self, square: int) -> str:
        """`b`, `B` (Black's man, king), `w`, `W`, or `.` on a PDN square 1..32.

        Raises:
            ValueError: if there is no such square.
        """
        if not 1 <= square <= 32:
            raise ValueError(f"expected a square from 1 to 32, found {square}")
        bit = 1 << index_of(square, self.black)
        if not (self.own | self.opp) & bit:
            return "."
        letter = "b" if bool(self.own & bit) == self.black else "w"
        return letter.upper() if self.kings & bit else letter

    def __str__(self) -> str:
        """The board as text, White at the bottom as players print it, square 1 at the top."""
        rows = []
        for row in range(8):
            cells = [self.piece(row * 4 + column + 1) for column in range(4)]
            rows.append(("  " if row % 2 == 0 else "") + "   ".join(cells))
        return "\n".join([*rows, f"{'Black' if self.black else 'White'} to move"])

    def __repr__(self) -> str:
        extra = "" if self.jumper < 0 else f", jumper={square_of(self.jumper, self.black)}"
        if self.halfmove_clock:
            extra += f", halfmove_clock={self.halfmove_clock}"
        return f"Position.from_fen({self.fen!r}{extra})"

    def rotated(self) -> "Position":
        """The same position with the colours exchanged and the board turned: same moves in mover's view."""
        return Position(self.own, self.opp, self.kings, not self.black, self.jumper, self.halfmove_clock)

    # --- hops ---------------------------------------------------------------------------------------

    def legal_actions(self) -> list[int]:
        """The legal hops as actions 0..127, ascending; empty if the side to move has lost."""
        out = np.empty(128, np.int64)
        n = kernels.legal_actions(self.own, self.opp, self.kings, self.jumper, out)
        return [int(action) for action in out[:n]]

    def push_action(self, action: int) -> "Position":
        """The position after one hop.

        Raises:
            IllegalMoveError: if the hop is not legal here.
        """
        if action not in self.legal_actions():
            raise IllegalMoveError(f"hop {action} is illegal here (legal: {self.legal_actions()})")
        return self._after(action)

    def _after(self, action: int) -> "Position":
        own, opp, kings, jumper, halfmove_clock, passed = kernels.apply_hop(
            self.own, self.opp, self.kings, self.halfmove_clock, action
        )
        return Position(own, opp, kings, self.black ^ passed, jumper, min(halfmove_clock, MAX_HALFMOVE_CLOCK))

    # --- whole moves --------------------------------------------------------------------------------

    @cached_property
    def _moves(self) -> tuple[Move, ...]:
        room = 64
        while True:
            actions = np.empty((room, kernels.MAX_HOPS), np.uint8)
            lengths = np.empty(room, np.int8)
            n = kernels.legal_paths(self.own, self.opp, self.kings, self.jumper, actions, lengths)
            if n <= room:
                break
            room = n
        return tuple(self._move(actions[i, : lengths[i]].tolist()) for i in range(n))

    def _move(self, actions: Sequence[int]) -> Move:
        """The move made of legal hops."""
        path = [actions[0] >> 2]
        captured = []
        for action in actions:
            middle = int(kernels.STEP_TO[action])
            if self.opp >> middle & 1:
                captured.append(square_of(middle, self.black))
                path.append(int(kernels.JUMP_TO[action]))
            else:
                path.append(middle)
        return Move(tuple(square_of(i, self.black) for i in path), tuple(actions), tuple(captured))

    def legal_moves(self) -> list[Move]:
        """Every whole move, sorted by squares; from the middle of a capture, the ways to end it.

        Two routes over different squares are two moves even if they take the same pieces.
        """
        return sorted(self._moves)

    def push(self, move: "Move | str") -> "Position":
        """The position after a whole move.

        Args:
            move: a `Move` of this position, or text such as `11-15` or `26x1`.

        Raises:
            MoveError: see `find_move`.
        """
        found = self.find_move(move) if isinstance(move, str) else move
        if isinstance(move, Move) and move not in self._moves:
            raise IllegalMoveError(self._refusal(str(move), "is illegal"))
        position = self
        for action in found.actions:
            position = position._after(action)
        return position

    def move_of(self, actions: Sequence[int]) -> Move | None:
        """The legal move of these hops, or None while hops are missing or if there is no such move."""
        wanted = tuple(actions)
        return next((move for move in self.legal_moves() if move.actions == wanted), None)

    def find_move(self, text: str) -> Move:
        """The legal move that text names.

        `-`, `x`, `X`, `:` and the en dash all join squares, and landing squares between the first and the
        last may be left out where one move fits.

        Raises:
            MoveTextError: the text is no move.
            IllegalMoveError: no legal move fits.
            AmbiguousMoveError: two or more fit; never guessed.
        """
        found = _MOVE_TEXT.match(text)
        squares = [int(s) for s in re.findall(r"\d+", text)] if found else []
        if not squares or not all(1 <= s <= 32 for s in squares):
            raise MoveTextError(self._refusal(text.strip(), "is not a move such as 11-15 or 26x17x10"))
        return self.find_path(squares, text.strip())

    def find_path(self, squares: Sequence[int], text: str | None = None) -> Move:
        """The legal move from the first to the last of `squares` that visits the others in order.

        Raises:
            IllegalMoveError, AmbiguousMoveError: none or several fit; `text` is what the message quotes.
        """
        actions = np.empty(kernels.MAX_HOPS, np.uint8)
        path = np.array([index_of(s, self.black) for s in squares], np.int64)
        status, hops = kernels.resolve(self.own, self.opp, self.kings, self.jumper, path, len(path), actions)
        if status == kernels.RESOLVED:
            return self._move(actions[:hops].tolist())
        text = text or "-".join(map(str, squares))
        if status == kernels.AMBIGUOUS:
            raise AmbiguousMoveError(self._refusal(text, "is ambiguous"))
        raise IllegalMoveError(self._refusal(text, "is illegal"))

    def _refusal(self, text: str, problem: str) -> str:
        moves = self.legal_moves()
        where = (
            f"legal: {', '.join(map(str, moves))}" if moves else "no legal move: the side to move has lost"
        )
        return f"'{text}' {problem} here ({where})"


def perft(position: Position, depth: int) -> int:
    """Number of paths of `depth` whole moves from a position; draws by rule do not end them.

    Raises:
        ValueError: if depth is negative.
    """
    if depth < 0:
        raise ValueError(f"expected depth >= 0, found {depth}")
    return _perft(position, depth, 3)


def divide(position: Position, depth: int) -> dict[Move, int]:
    """The paths of `depth` >= 1 whole moves counted by their first move, in the order of `legal_moves`.

    Raises:
        ValueError: if depth is below 1.
    """
    if depth < 1:
        raise ValueError(f"expected depth >= 1, found {depth}")
    return {move: _perft(position.push(move), depth - 1, 2) for move in position.legal_moves()}


def _perft(position: Position, depth: int, split: int) -> int:
    """Deep counts are split by their first `split` moves: a kernel cannot be interrupted, this can."""
    if depth == 0:
        return 1
    if split and depth > 6:
        return sum(_perft(position.push(move), depth - 1, split - 1) for move in position.legal_moves())
    return int(kernels.perft(position.own, position.opp, position.kings, position.jumper, depth))


def _turn(bits: int) -> int:
    return int(f"{bits:032b}"[::-1], 2)


__all__ = ["Move", "MoveError", "Position", "divide", "perft"]
