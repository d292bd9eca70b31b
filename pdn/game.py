"""A PDN game as Python objects: everything in the file, and what stopped the reader."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckai.game import Game, Move, Position
from ckai.pdn.errors import PdnError

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
"""Black won, White won, drawn, unknown. In English draughts Black, the first mover, comes first."""


@dataclass
class PdnMove:
    """A move with its annotations."""

    move: Move
    nags: list[int] = field(default_factory=list)
    """Numeric annotation glyphs: `$1` is 1."""
    marks: str = ""
    """`!`, `?`, `!?`, `*` and the like, directly behind the move."""
    comments: list[str] = field(default_factory=list)
    """Comments after the move, without braces."""
    variations: list["Variation"] = field(default_factory=list)
    """Alternatives to this move."""


@dataclass
class Variation:
    """A line in brackets. It starts from the position before the move that it follows."""

    comments: list[str] = field(default_factory=list)
    """Comments before its first move."""
    moves: list[PdnMove] = field(default_factory=list)
    """Its legal moves, at least one if it was read: brackets with anything else are a comment."""


@dataclass
class PdnGame:
    """One game of a PDN file. `write_game` writes all of it back.

    >>> import io
    >>> from ckai.pdn import read_games
    >>> text = b'[Event "Club"] 1. 11-15! $14 {sharp} (1. 9-13) (or so) 22-18 2. 8-11 1-0'
    >>> (game,) = read_games(io.BytesIO(text), "club.pdn")
    >>> game.header("event"), game.result, len(game.moves)
    ('Club', '1-0', 2)
    >>> each = game.moves[0]
    >>> each.move, each.marks, each.nags, each.comments, len(each.variations)
    (<Move 11-15>, '!', [14], ['sharp', '(or so)'], 1)
    >>> str(game.problem)
    "club.pdn:1: game 1: ply 2: '8-11' is illegal here (legal: 15x22)"
    """

    headers: list[tuple[str, str]] = field(default_factory=list)
    """Tags in file order, repeated ones included; the first of a name counts."""
    start: Position = field(default_factory=Position.start)
    """The first position: that of the FEN tag, or the initial one."""
    comments: list[str] = field(default_factory=list)
    """Comments before the first move."""
    moves: list[PdnMove] = field(default_factory=list)
    """The main line, as far as it can be played."""
    termination_marker: str | None = None
    """The result after the moves (the game termination marker of PGN), one of `RESULTS`; None without one."""
    tag_result: str | None = None
    """The Result tag as one of `RESULTS`; None if it is missing or not one of them."""
    final_comments: list[str] = field(default_factory=list)
    """Comments after the result."""
    number: int = 1
    """Number of the game in its source, from 1."""
    line: int = 1
    """1-based line where the game starts."""
    path: str = ""
    """The file, or the name given for the source."""
    problem: PdnError | None = None
    """What stopped the reader; `moves` ends there. None if the game is complete."""
    rejected: bool = False
    """Whether the game is unusable: another variant, an impossible start, or no move before the problem."""

    def header(self, name: str) -> str | None:
        """The value of the first tag of that name, ignoring case; None if there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def result(self) -> str | None:
        """The result after the moves, else that of the Result tag, else None. "1-0" means that Black won."""
        return self.tag_result if self.termination_marker is None else self.termination_marker

    def play(self) -> Game:
        """The main line as a `Game`, with the tags as its headers; of repeated ones the first counts.

        "Result" is `result`, or missing if that is None; SetUp and FEN are left out.
        """
        game = Game(self.start)
        for each in self.moves:
            game.push(each.move)
        for name, value in self.headers:
            if name.lower() not in ("result", "setup", "fen"):
                game.headers.setdefault(name, value)
        if self.result is not None:
            game.headers["Result"] = self.result
        return game


def from_game(game: Game, headers: Mapping[str, str], result: str = "*") -> PdnGame:
    """Make a PDN game from a game that was played.

    A first position other than the initial one becomes SetUp and FEN tags, with its halfmove clock. A FEN
    cannot express that its piece must continue a capture (`Position.jumper_square`): the moves stay legal
    without it.

    Args:
        game: the moves.
        headers: tags, in order. Result and GameType are added; these, SetUp and FEN are replaced.
        result: "1-0" (Black won), "0-1", "1/2-1/2" or "*".

    Raises:
        ValueError: for an unknown result.
    """
    if result not in RESULTS:
        raise ValueError(f"expected one of the results {', '.join(RESULTS)}, found {result!r}")
    written = {"Result": result, "GameType": "21"}
    start = game.positions[0]
    if start != Position.start():
        written |= {"SetUp": "1", "FEN": start.fen}
    replaced = ("result", "gametype", "setup", "fen")
    pairs = [(name, value) for name, value in headers.items() if name.lower() not in replaced]
    moves = [PdnMove(move) for move in game.moves]
    pairs += written.items()
    return PdnGame(headers=pairs, start=start, moves=moves, termination_marker=result, tag_result=result)
