"""A game of PDN as Python objects: everything that the file says, and where it went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ckai.game import Game, Move, Position
from ckai.pdn.errors import PdnError

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
"""In English draughts "1-0" means that Black, the first mover, won."""


@dataclass
class PdnMove:
    """A move and what is said about it."""

    move: Move
    nags: list[int] = field(default_factory=list)
    """Numeric annotations: `$1` is 1."""
    marks: str = ""
    """`!`, `?`, `!?`, `*` and the like, right behind the move."""
    comments: list[str] = field(default_factory=list)
    """After the move, without braces."""
    variations: list["Variation"] = field(default_factory=list)
    """Other lines instead of this move."""


@dataclass
class Variation:
    """A line in brackets. It starts from the position before the move it stands behind."""

    comments: list[str] = field(default_factory=list)
    """Before its first move."""
    moves: list[PdnMove] = field(default_factory=list)
    rest: str = ""
    """The words from where it could not be played on, as they stand in the file."""


@dataclass
class PdnGame:
    """One game."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    """Tags in order; repeated ones are all here, and the first counts."""
    start: Position = field(default_factory=Position.start)
    comments: list[str] = field(default_factory=list)
    """Before the first move."""
    moves: list[PdnMove] = field(default_factory=list)
    token: str | None = None
    """The result behind the moves, None if there is none."""
    tag_result: str | None = None
    """What the Result tag says, as one of RESULTS; None if it says nothing that is one."""
    after: list[str] = field(default_factory=list)
    """Comments behind the result."""
    number: int = 0
    """0-based, in the source."""
    line: int = 1
    """1-based line where the game starts."""
    path: str = ""
    problem: PdnError | None = None
    """What stopped the game: only the moves before it are here."""
    rejected: bool = False
    """Whether nothing of the game can be used: another kind of draughts, an impossible first position, or
    not even one move that can be played."""
    notes: list[str] = field(default_factory=list)
    """What is odd but costs nothing: contradicting results, closing brackets that nothing opened."""

    def header(self, name: str) -> str | None:
        """The first tag of that name (in any case), None if there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def result(self) -> str | None:
        """The result behind the moves; where there is none, that of the tag; None if neither says one."""
        return self.tag_result if self.token is None else self.token

    def play(self) -> Game:
        """The main line as a game of the rules."""
        game = Game(self.start)
        for each in self.moves:
            game.push(each.move)
        return game


def from_game(
    game: Game,
    headers: dict[str, str] | Sequence[tuple[str, str]],
    result: str = "*",
    comments: Sequence[str] = (),
) -> PdnGame:
    """A PDN game of a game that was played.

    Args:
        game: the moves; SetUp and FEN tags are added if it does not start from the usual position.
        headers: tags, in order. Result and GameType are added.
        result: one of RESULTS.
        comments: one for each move, "" for none; as many as there are moves, or none at all.

    Raises:
        ValueError: an unknown result, or a wrong number of comments.
    """
    if result not in RESULTS:
        raise ValueError(f"expected a result of {', '.join(RESULTS)}, found {result!r}")
    if comments and len(comments) != len(game.moves):
        raise ValueError(f"expected {len(game.moves)} comments, one a move, found {len(comments)}")
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
    pairs = [(key, value) for key, value in pairs if key not in ("Result", "GameType", "SetUp", "FEN")]
    pairs += [("Result", result), ("GameType", "21")]
    start = game.positions[0]
    if start.key != Position.start().key:
        pairs += [("SetUp", "1"), ("FEN", start.fen)]
    moves = [
        PdnMove(move, comments=[c] if c else [])
        for move, c in zip(game.moves, comments or [""] * len(game.moves), strict=True)
    ]
    return PdnGame(headers=pairs, start=start, moves=moves, token=result, tag_result=result)
