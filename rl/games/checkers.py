"""English draughts: the rules for the search, moves as people type them, openings, the `GameSpec`.

One action is one hop; the state carries the jumper. A state is two words: own pieces and the other side's (32
bits each); kings, jumper, halfmove clock, who is Black.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.split import below
from ckai.datasets.tables import Tables
from ckai.datasets.tables.probe import tablebase_value
from ckai.datasets.tables.solve import DRAWN, UNKNOWN
from ckai.game import HALFMOVE_LIMIT, REPETITION_LIMIT, Game, Move, MoveError, Position, kernels
from ckai.game.jit import hot, inner
from ckai.game.material import UNBOUNDED, MaterialValues, alpha_beta
from ckai.game.openings import BALLOT, OPENING_NAMES, opening_name
from ckai.game.squares import NUM_ACTIONS, SQUARES
from ckai.game.svg import DRAUGHTS
from ckai.game.text import printable
from ckai.pdn import from_game, read_games, write_game
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN, State, game, implements
from ckai.rl.games.spec import GameSpec, positions_after

_JUMPER, _CLOCK, _BLACK = 32, 40, 62  # bit offsets in the second word, above the kings
_CLOCK_MASK = 0xFFFF
VALUES = MaterialValues(man=100, king=130, loss=1_000_000, loss_per_ply=1, halfmove_limit=HALFMOVE_LIMIT)
"""Values of pieces, here and for the alpha-beta player."""
MAX_TEXT = 60
"""Characters of the longest text that is looked at; the longest move has 9 jumps."""
SHOWN = 8
"""Most legal moves in a message."""

_BETWEEN = r"(?:\s*(?:[-xX:*,./>\u2010-\u2015\u2192\u2212\u00d7]|to)+\s*|\s+)"
_SQUARES = re.compile(rf"\d+(?:{_BETWEEN}\d+)*\s*[-xX:,./]?")


@game(num_actions=NUM_ACTIONS, position_bytes=SQUARES + 2, max_legal_actions=64)
class Checkers(NamedTuple):
    """The rules of checkers: draw limits (see `ckai.game.game`) and tablebases."""

    halfmove_limit: int = HALFMOVE_LIMIT
    """Halfmove clock at which a game is drawn, in plies."""
    repetition_limit: int = REPETITION_LIMIT
    """Occurrences of a position at which a game is drawn."""
    pieces: int = 0
    """The tables have the positions of up to this many pieces; 0: there are none."""
    values: Any = np.zeros(0, np.uint8)
    """[positions] uint8, see `ckai.datasets.tables.solve`."""
    lookup: Any = np.zeros(0, np.int64)
    """int64, see `ckai.datasets.tables.index`."""

    @property
    def history(self) -> int:
        """Most earlier states that can be repeated: those since the last capture or move of a man."""
        return self.halfmove_limit + 2


def pack(position: Position) -> State:
    """Return the state of a position."""
    first = position.own | position.opp << 32
    second = (
        position.kings
        | (position.jumper + 1) << _JUMPER
        | position.halfmove_clock << _CLOCK
        | position.black << _BLACK
    )
    return (first - (1 << 64) if first >> 63 else first), second


def unpack(state: State) -> Position:
    """Return the position of a state."""
    first, second = state[0] & (1 << 64) - 1, state[1]
    return Position(
        first & kernels.FULL,
        first >> 32,
        second & kernels.FULL,
        bool(second >> _BLACK & 1),
        (second >> _JUMPER & 0xFF) - 1,
        second >> _CLOCK & _CLOCK_MASK,
    )


def states_of(boards: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the states, `[N, 2]`, of encoded positions `[N, 34]`, as if White were to move."""
    bits, squares = np.int64(1) << np.arange(SQUARES), boards[:, :SQUARES]
    own, opp, kings = (chosen @ bits for chosen in (squares > 0, squares < 0, abs(squares) == 3))
    jumper, clock = boards[:, SQUARES:].astype(np.int64).T
    return np.stack([own | opp << 32, kings | jumper + 1 << _JUMPER | clock << _CLOCK], 1)


@hot
def _parts(state):
    """Return (own pieces, the other side's, kings, jumper or -1, halfmove clock)."""
    first, second = state
    own, opp, kings = first & kernels.FULL, first >> 32 & kernels.FULL, second & kernels.FULL
    return own, opp, kings, (second >> _JUMPER & 0xFF) - 1, second >> _CLOCK & _CLOCK_MASK


@implements(contract.legal, Checkers)
def _legal(game, state, out):
    own, opp, kings, jumper, _ = _parts(state)
    return kernels.legal_actions(own, opp, kings, jumper, out)


@implements(contract.play, Checkers)
def _play(game, state, action):
    own, opp, kings, _, clock = _parts(state)
    own, opp, kings, jumper, clock, passed = kernels.apply_hop(own, opp, kings, clock, np.int64(action))
    black = state[1] >> _BLACK & 1
    if passed:
        black = 1 - black
    return (own | opp << 32, kings | (jumper + 1) << _JUMPER | clock << _CLOCK | black << _BLACK), passed


@implements(contract.outcome, Checkers)
def _outcome(game, state, count):
    if count == 0:
        return True, -1.0
    return _repetition_window(game, state) >= game.halfmove_limit, 0.0


@implements(contract.key, Checkers)
def _key(game, state):
    return state[0], state[1] & ~(np.int64(_CLOCK_MASK) << _CLOCK)


@implements(contract.repetition_window, Checkers)
@inner
def _repetition_window(game, state):
    return state[1] >> _CLOCK & _CLOCK_MASK


@implements(contract.plies_left, Checkers)
def _plies_left(game, state):
    return game.halfmove_limit - _repetition_window(game, state)


@implements(contract.repetitions, Checkers)
def _repetitions(game):
    return game.repetition_limit


@implements(contract.quiet, Checkers)
def _quiet(game, state):
    own, opp, kings, jumper, _ = _parts(state)
    return not kernels.legal_hops(own, opp, kings, jumper)[4]


@implements(contract.encode, Checkers)
def _encode(game, state, out):
    own, opp, kings, jumper, clock = _parts(state)
    kernels.write_board(own, opp, kings, out)
    out[32], out[33] = jumper, min(clock, 127)


@implements(contract.tablebase_value, Checkers)
def _tablebase_value(game, state):
    own, opp, kings, jumper, clock = _parts(state)
    if kernels.popcount(own | opp) > game.pieces:
        return NONE, 0
    limit, values, lookup = game.halfmove_limit, game.values, game.lookup
    value = tablebase_value(own, opp, kings, jumper, clock, limit, values, lookup)
    if value == UNKNOWN:
        return NONE, 0
    if value == DRAWN:
        return DRAW, 0
    return (WIN if value & 1 else LOSS), value


@implements(contract.playout, Checkers)
def _playout(game, state, stream):
    # As the general playout, twice as fast: hops are drawn from the sets of their squares, two a word.
    own, opp, kings, jumper, clock = _parts(state)
    sign = 1.0
    while True:
        up_right, down_right, down_left, up_left, _ = kernels.legal_hops(own, opp, kings, jumper)
        right, left = up_right | down_right << 32, down_left | up_left << 32
        if not right | left:
            return -sign, stream
        if clock >= game.halfmove_limit:
            return 0.0, stream
        rights = kernels.popcount(right)
        stream, k = below(stream, rights + kernels.popcount(left))
        hops, direction = (right, 0) if k < rights else (left, 2)
        for _ in range(k if k < rights else k - rights):
            hops &= hops - 1
        at = kernels.lowest(hops)
        action = (at & 31) * 4 + direction + (at >> 5)
        own, opp, kings, jumper, clock, passed = kernels.apply_hop(own, opp, kings, clock, action)
        if passed:
            sign = -sign


# --- openings ---------------------------------------------------------------------------------------


@cache
def balanced_openings(plies: int = 3) -> tuple[Position, ...]:
    """Return the distinct positions after `plies` plies where no side loses a man by force in eight more."""
    after = positions_after(Position.start(), plies)
    return tuple(p for p in after if abs(material_value(p, 8)) < VALUES.man)


def material_value(position: Position, depth: int) -> int:
    """Return the value for the side to move in `VALUES`; below depth 0 only captures are searched."""
    where = (position.own, position.opp, position.kings, position.jumper, position.halfmove_clock, depth)
    return int(alpha_beta(*map(np.int64, where), np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES))


# --- moves as people type them ----------------------------------------------------------------------


def read_typed_move(position: Position, text: str) -> Move:
    """Return the legal move that a person means.

    Squares may be joined by anything usual (`11-15`, `26x17x10`, `11 15`, `11,15`), two of them by nothing
    (`1115`); a dot may follow, and landing squares may be missing.

    Raises:
        MoveError: the text is not a move, or half of one; or no legal move fits, or several do.

    >>> str(read_typed_move(Position.start(), "1115."))
    '11-15'
    >>> read_typed_move(Position.start(), "11-18")
    Traceback (most recent call last):
    ckai.game.text.MoveError: '11-18' is illegal; from 11: 11-15, 11-16
    """
    plain = re.sub(r"[.!?\s]+$", "", unicodedata.normalize("NFKC", text[: 2 * MAX_TEXT]).strip())
    shown = printable(" ".join(text.split()), most=24)
    legal = position.legal_moves()
    if len(text.strip()) > MAX_TEXT or not _SQUARES.fullmatch(plain):
        raise MoveError(f"'{shown}' is not a move such as 11-15 or 26x17x10; {_list(legal)}")
    runs = re.findall(r"\d+", plain)
    readings = [list(map(int, runs))]
    if len(runs) == 1 and len(runs[0]) in (3, 4):
        pairs = ([int(runs[0][:size]), int(runs[0][size:])] for size in (1, 2))
        readings = [pair for pair in pairs if min(pair) >= 1 and max(pair) <= SQUARES] or readings
    first = readings[0][0]
    begun = [move for move in legal if move.from_square == first]
    if len(readings[0]) == 1 and begun:
        raise MoveError(f"'{shown}' is half a move; {_list(begun, f'from {first}: ')}")
    for fits in (lambda move, squares: move.path == tuple(squares), _goes):
        found = {move for squares in readings for move in legal if fits(move, squares)}
        if len(found) == 1:
            return found.pop()
        if found:
            ways = " or ".join(map(str, sorted(found)))
            raise MoveError(f"'{shown}' is ambiguous: {ways}; type all squares")
    raise MoveError(f"'{shown}' is illegal{_why(position, first, begun)}")


def _goes(move: Move, squares: Sequence[int]) -> bool:
    """Whether a move goes from the first square to the last and visits the others in order."""
    rest = iter(move.path)
    ends = move.path[0] == squares[0] and move.path[-1] == squares[-1]
    return ends and all(square in rest for square in squares)


def _why(position: Position, first: int, begun: Sequence[Move]) -> str:
    """Return why none of the legal moves from a square, `begun`, fits, and which moves are legal."""
    legal = position.legal_moves()
    if not legal:
        return ": the game is over"
    piece = position.piece(first) if 1 <= first <= 32 else ""
    if not piece:
        why = "squares are 1 to 32"
    elif piece == ".":
        why = f"no piece is on {first}"
    elif piece.lower() != ("b" if position.black else "w"):
        why = f"the piece on {first} is {'White' if position.black else 'Black'}'s"
    elif legal[0].is_capture:
        return f", you must capture: {_list(begun or legal, '')}"
    elif begun:
        return f"; {_list(begun, f'from {first}: ')}"
    else:
        why = f"the piece on {first} cannot move"
    return f": {why}; {_list(legal)}"


def _list(moves: Iterable[Move], head: str = "legal: ") -> str:
    texts = list(map(str, moves))
    rest = ", ... (moves lists all)" if len(texts) > SHOWN else ""
    return head + ", ".join(texts[:SHOWN]) + rest


# --- for people -------------------------------------------------------------------------------------


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
        if tables is None:
            return self.rules
        return Checkers(pieces=tables.pieces, values=tables.values, lookup=tables.layout.lookup)

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

    def read_move(self, position: Position, text: str) -> Move:
        """See `GameSpec.read_move`."""
        return read_typed_move(position, text)

    def read_position(self, text: str) -> Position:
        """Read a FEN; a PositionError says that it is none, or that the rules exclude the position."""
        return Position.from_fen(text)

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Position:
        """See `GameSpec.set_up`."""
        return Position.from_pieces(dict(pieces), turn="black" if black else "white")

    def position_text(self, position: Position) -> str:
        """Return the FEN."""
        return position.fen

    def read_game(self, path: Path, number: int) -> tuple[Game, str]:
        """See `GameSpec.read_game`: a game of a PDN file, as far as it can be read."""
        count = 0
        for count, pdn in enumerate(read_games(path), 1):
            if count == number:
                if pdn.rejected and pdn.problem is not None:
                    raise pdn.problem
                return pdn.play(), "" if pdn.problem is None else pdn.problem.named("")
        if not count:
            raise ValueError(f"{path}: expected games, found none")
        raise ValueError(f"{path}: expected game 1 to {count}, found {number}")


SPEC = CheckersSpec()
