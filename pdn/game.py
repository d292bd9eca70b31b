"""A PDN game as Python objects: everything in the file, what stopped the reader, and how it is written."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ckai.game import Game, Move, Position

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
"""Black won, White won, drawn, unknown. In English draughts Black, the first mover, comes first."""
_WIDTH = 80
_TAG = re.compile(r"[A-Za-z]")
"""What a tag name begins with, see `ckai.pdn.lexer`."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""C0 and C1 control characters: a terminal would obey them."""


@dataclass(eq=False, repr=False)
class PdnError(ValueError):
    """Text that cannot be read as games."""

    reason: str
    """What was expected and what was found."""
    path: str = ""
    """The file, or the name given for a source that is not a file."""
    line: int | None = None
    """1-based line, None where no single line is meant."""
    game: int | None = None
    """Number of the game in its file (of an archive, in the member), from 1."""
    ply: int | None = None
    """0-based ply that cannot be played, as in the rows' `ply` column."""
    text: str = ""
    """The text in the file."""
    legal: tuple[str, ...] = ()
    """The legal moves at that place."""

    def __str__(self) -> str:
        return self.named("" if self.game is None else f"game {self.game}: ")

    def named(self, game: str) -> str:
        """Return the message with another name of the game, such as `problem 2: `, or with none."""
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        ply = "" if self.ply is None else f"ply {self.ply}: "
        return f"{where}: {game}{ply}{self.reason}" if where else f"{game}{ply}{self.reason}"


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


def write_game(game: PdnGame) -> str:
    """Write one game: its tags, a blank line, its moves wrapped at 80 columns, and a blank line.

    What PDN cannot express is replaced: a closing brace in a comment by a bracket, control characters and
    line ends by spaces. Everything else is read back as it was, but for the spaces of a comment, of which
    the reader keeps one between two words. A game with a `problem` is written up to it.

    Raises:
        ValueError: a tag name that the reader would not accept: it does not begin with an ASCII letter.
    """
    for name, _ in game.headers:
        if not _TAG.match(name):
            raise ValueError(f"expected a tag name that begins with a letter from A to Z, found {name!r}")
    lines = [f'[{_CONTROLS.sub(" ", name)} "{_escape(value)}"]' for name, value in game.headers]
    words = [*_comments(game.comments), *_moves(game.start.black, game.moves)]
    if game.termination_marker is not None:
        words.append(game.termination_marker)
    words += _comments(game.final_comments)
    body: list[str] = []
    for line in textwrap.wrap(" ".join(words), _WIDTH, break_long_words=False, break_on_hyphens=False):
        # The reader would take a comment's line that starts like a tag or a remark for one.
        if body and line.startswith(("[", "%")):
            body[-1] += f" {line}"
        else:
            body.append(line)
    return "\n".join([*lines, *([""] if lines and body else []), *body, "", ""])


def _escape(value: str) -> str:
    return _CONTROLS.sub(" ", value).replace("\\", "\\\\").replace('"', '\\"')


def _comments(comments: Iterable[str]) -> list[str]:
    return ["{" + " ".join(_CONTROLS.sub(" ", c).replace("}", ")").split()) + "}" for c in comments]


def _moves(black: bool, moves: list[PdnMove], ply: int = 0) -> list[str]:
    """The words of a line of moves; `ply` is the 0-based ply of the first one, and `black` who plays it."""
    words: list[str] = []
    first_black = black == (ply % 2 == 0)
    interrupted = True
    for n, each in enumerate(moves):
        count = ply + n + (0 if first_black else 1)
        if black:
            words.append(f"{count // 2 + 1}.")
        elif interrupted:
            words.append(f"{count // 2 + 1}. ...")
        words.append(f"{each.move}{each.marks}")
        words += [f"${nag}" for nag in each.nags]
        words += _comments(each.comments)
        for line in each.variations:
            inside = [*_comments(line.comments), *_moves(black, line.moves, ply + n)]
            words.append(f"({' '.join(inside)})")
        interrupted = bool(each.comments or each.variations)
        black = not black
    return words
