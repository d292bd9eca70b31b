"""Read games: as far as they can be played, in Numba, as rows; and as objects, with all that was written."""

import io
import re
from collections import namedtuple
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ckai.game import HALFMOVE_LIMIT, MoveError, Position, PositionError
from ckai.game import kernels as rules
from ckai.game.jit import inner, kernel
from ckai.game.position import MAX_HALFMOVE_CLOCK
from ckai.game.text import printable
from ckai.pdn import lexer
from ckai.pdn.game import PdnError, PdnGame, PdnMove, Variation
from ckai.pdn.lexer import BARE, CLOSE, JUNK, MOVE, NO_RESULT, NUMBER, OPEN, RESULT, UNCLOSED, next_word
from ckai.pdn.sources import Chunk, OpenedSource, open_sources, read_chunks

# Why a game ends early
FINE, BAD_MOVE, UNREADABLE, OPEN_BRACE, OPEN_BRACKET, REFUSED, TOO_LONG = range(7)

MAX_PLIES = 32_768
"""Most plies of a game: the `ply` column of the rows is int16."""

GAME = np.dtype(
    [
        ("rows", np.int32),
        ("plies", np.int32),
        ("stop", np.int32),  # token after the main line: of the problem, else `end`
        ("end", np.int32),  # token of the result after the moves, or after the last token
        ("problem", np.uint8),
        ("result", np.uint8),  # of that token
    ],
    align=True,
)

ROW = np.dtype(
    [
        ("game", np.int32),
        ("ply", np.int16),
        ("hop", np.int8),
        ("black", np.bool_),
        ("board", np.int8, 32),
        ("jumper", np.int8),
        ("quiet", np.int16),
        ("legal", np.uint8, 16),
        ("label", np.uint8),
        ("z", np.int8),
    ]
)
"""Columns of rows, one entry per hop; `ckai.datasets.schema` describes them."""
_NAMES = ROW.names or ()
Columns = namedtuple("Columns", _NAMES)  # type: ignore[misc]
UNKNOWN_Z = 2
"""Value of `z` in a game without a result, or with one that the moves did not decide."""

GAME_TYPES = {
    "0": "chess", "1": "Chinese chess", "20": "international draughts", "22": "Italian draughts",
    "23": "American pool checkers", "24": "Spanish draughts", "25": "Russian draughts",
    "26": "Brazilian draughts", "27": "Canadian draughts", "28": "Portuguese draughts",
    "29": "Czech draughts", "30": "Turkish draughts", "31": "Thai draughts", "40": "Frisian draughts",
    "41": "Spantsiretti",
}  # fmt: skip
"""Games by number of the GameType tag (PDN 3.0), without English draughts, 21."""
_FORFEIT = re.compile(
    r"\b(time|timeout|forfeit\w*|default|illegal|infraction|disconnect\w*|abandon\w*|death|emergency"
    r"|crash\w*)\b",
    re.IGNORECASE,
)
"""Words of a Termination tag that says that the moves did not decide the result, also in the PGN
standard ("time forfeit", "rules infraction", "abandoned")."""
_SCORES = np.array([UNKNOWN_Z, 1, -1, 0, UNKNOWN_Z], np.int8)
"""Of Black, by the value of a result."""

SQUARE_0 = "a square 0: squares count from 1 here"
"""What the problem of a game says whose squares are numbered from 0."""
DEEPEST = 50
"""Levels of variations that become objects; deeper ones are comments."""
_PROBLEMS = {
    UNREADABLE: "expected a move or a result, found '{}'",
    OPEN_BRACE: "expected a closing }}, found none before the next tag or the end",
    OPEN_BRACKET: "expected a closing ), found none: what follows may be a variation or the game",
    TOO_LONG: f"expected at most {MAX_PLIES:,} plies, found more",
}


@inner
def _stops(tokens, t, last):  # type: ignore[no-untyped-def]
    """Whether token `t` cannot stand among the moves: unreadable text, or a number without a move."""
    kind = tokens[t].kind
    if kind == BARE:
        after = next_word(tokens, t, last)
        if tokens[t].value == 255 or after >= last:
            return True
        follows = tokens[after].kind
        return follows != MOVE and follows != NUMBER and follows != RESULT and follows != OPEN
    return kind == JUNK


@kernel
def _replay(  # type: ignore[no-untyped-def]
    tokens, squares, spans, starts, refused, first_number, games, columns
):
    """Play the games of a `Chunk`, fill `games`, `[G]` GAME, and `columns` but for z; return the rows.

    `starts`, `[G, 5]` int64, are the first positions: own, opp, kings, halfmove clock, whether Black is to
    move. `refused`, `[G]`, are not played. There is room for a row a move and 24 more a game: its pieces.
    """
    row = 0
    moves = np.empty((rules.MAX_MOVES, rules.MAX_HOPS), np.uint8)
    lengths = np.empty(rules.MAX_MOVES, np.int8)
    path = np.empty(14, np.int64)
    for g in range(len(spans)):
        first, last = int(spans[g, 0]), int(spans[g, 1])
        own, opp, kings = starts[g, 0], starts[g, 1], starts[g, 2]
        halfmove_clock, black = min(starts[g, 3], HALFMOVE_LIMIT), starts[g, 4] != 0
        problem, stop, end = REFUSED if refused[g] else FINE, first, last
        first_row, plies, depth, bracket = row, 0, 0, first
        for t in range(first, last):
            kind = tokens[t].kind
            here = FINE
            if kind == OPEN:
                if depth == 0:
                    bracket = t
                depth += 1
            elif kind == CLOSE:
                depth = max(0, depth - 1)
            elif kind == RESULT:
                if depth == 0:
                    end = t
                    break
            elif problem != FINE:
                continue
            elif kind == UNCLOSED:
                here = OPEN_BRACE
            elif depth > 0:
                continue
            elif _stops(tokens, t, last):
                here = UNREADABLE
            elif kind == MOVE and plies == MAX_PLIES:
                here = TOO_LONG
            elif kind == MOVE:
                count = np.int64(tokens[t].value)
                for i in range(count):
                    square = np.int64(squares[tokens[t].first + i])
                    path[i] = square - 1 if black else 32 - square
                chosen = rules.find_move(own, opp, kings, np.int64(-1), path[:count], moves, lengths)
                if chosen < 0:
                    here = BAD_MOVE
                else:
                    actions, jumper = moves[chosen], np.int64(-1)
                    for hop in range(lengths[chosen]):
                        columns.game[row] = first_number + g
                        columns.ply[row] = plies
                        columns.hop[row] = hop
                        columns.black[row] = black
                        rules.write_board(own, opp, kings, columns.board[row])
                        columns.jumper[row] = jumper
                        columns.quiet[row] = min(halfmove_clock, MAX_HALFMOVE_CLOCK)
                        rules.write_legal(own, opp, kings, jumper, columns.legal[row])
                        columns.label[row] = actions[hop]
                        own, opp, kings, jumper, halfmove_clock, _ = rules.apply_hop(
                            own, opp, kings, halfmove_clock, np.int64(actions[hop])
                        )
                        row += 1
                    black = not black
                    plies += 1
            if here != FINE:
                problem, stop = here, t
        if depth > 0 and problem == FINE:
            problem, stop = OPEN_BRACKET, bracket
        game = games[g]
        game.rows = row - first_row
        game.plies = plies
        game.problem = problem
        game.stop = stop if problem != FINE else end
        game.end = end
        game.result = tokens[end].value if end < last else NO_RESULT
    return row


class PlayedGames:
    """The games of a chunk, with the rows of their moves.

    Attributes:
        chunk: their text.
        tags: values of each game's tags by lower-case name; the first of a name counts.
        refused: why games are not played, by their index.
        games: `[G]` GAME.
        whole: `[G]` bool, whether a game can be read to its end.
        columns: of the rows.
        tag_results, results: `[G]` uint8, results by the Result tag, and by what is after the moves or,
            where that is missing, by the tag; see `ckai.pdn.lexer`.
    """

    def __init__(self, chunk: Chunk, number: int = 0) -> None:
        """Play the games; rows number them from `number`."""
        self.chunk, count = chunk, len(chunk.games)
        self.tags = [{name.lower(): value for name, value in reversed(tags)} for tags in chunk.headers]
        self.refused: dict[int, str] = {}
        start = Position.start()
        self._starts = np.full((count, 5), (start.own, start.opp, 0, 0, 1), np.int64)
        for g, tags in enumerate(self.tags):
            if fen := tags.get("fen", "").strip():
                try:
                    p = Position.from_fen(fen)
                    self._starts[g] = p.own, p.opp, p.kings, p.halfmove_clock, p.black
                except PositionError as error:
                    self.refused[g] = printable(str(error), most=300)
            if reason := _another_game(tags.get("gametype", "")):
                self.refused[g] = reason
        refused = np.zeros(count, np.bool_)
        refused[list(self.refused)] = True
        self.games = np.zeros(count, GAME)
        room = int((chunk.tokens["kind"] == MOVE).sum()) + 24 * count
        columns: Any = Columns(*(np.empty(room, ROW[name]) for name in _NAMES))
        rows = _replay(
            chunk.tokens, chunk.squares, chunk.games, self._starts, refused, number, self.games, columns
        )
        self.whole: NDArray[np.bool_] = self.games["problem"] == FINE
        self.tag_results = np.array([lexer.result_in(tags.get("result", "")) for tags in self.tags], np.uint8)
        found = self.games["result"]
        self.results = np.where(found == NO_RESULT, self.tag_results, found)
        forfeit = np.array([bool(_FORFEIT.search(t.get("termination", ""))) for t in self.tags], np.bool_)
        scores = np.repeat(np.where(forfeit, UNKNOWN_Z, _SCORES[self.results]), self.games["rows"])
        columns.z[:rows] = np.where(columns.black[:rows] | (scores == UNKNOWN_Z), scores, -scores)
        self.columns: Any = Columns._make(column[:rows] for column in columns)

    def start(self, g: int) -> Position:
        """The first position of a game."""
        own, opp, kings, halfmove_clock, black = self._starts[g].tolist()
        return Position(own, opp, kings, bool(black), halfmove_clock=halfmove_clock)

    def read(self, g: int, path: str) -> PdnGame:
        """A game with all that was written of it; `path` names the source."""
        return _Builder(self, g, path).game


def _another_game(value: str) -> str:
    """Why a game of a GameType is refused; empty if it is not."""
    number = re.match(r"\s*(\d*)", value)[1]  # type: ignore[index]
    if number == "21" or not value.strip():
        return ""
    name = f" ({GAME_TYPES[number]})" if number in GAME_TYPES else ""
    return f"expected GameType 21 (English draughts), found {printable(value, most=40)!r}{name}"


def read_games(source: str | Path | IO[bytes], name: str | None = None) -> Generator[PdnGame, None, None]:
    """Read games one at a time, in bounded memory.

    Args:
        source: the path of a file, which may be compressed (gzip, or zip: the games of all `.pdn`
            files in it), "-" for standard input, or a file open for reading bytes of text.
        name: the source's name in messages; default: its path.

    Yields:
        Every game of the source, incomplete ones included: see `PdnGame.problem` and `PdnGame.rejected`.

    Raises:
        OSError: if the file cannot be read.
        PdnError: if the file is a folder or a damaged archive.
    """
    if isinstance(source, (str, Path)):
        for opened in open_sources(source):
            yield from _read(opened, name or opened.name)
        return
    yield from _read(source, name or str(getattr(source, "name", "")))


def read_one(source: str | Path) -> PdnGame:
    """Read the first game, which must be whole, as `Game.from_pdn` does.

    Args:
        source: PDN text, or the path of a file as a `pathlib.Path`.

    Raises:
        PdnError: there is no game, or it cannot be read to its end.
        OSError: if the file cannot be read.
    """
    if isinstance(source, str):
        games, name, hint = _read(io.BytesIO(source.encode()), "text"), "text", ": give a file as a Path"
    else:
        games, name, hint = read_games(source), str(source), ""
    game = next(games, None)
    games.close()
    if game is None:
        raise PdnError(f"expected games, found none{hint}", name)
    if game.problem is not None:
        raise game.problem
    return game


def _read(source: OpenedSource | IO[bytes], name: str) -> Generator[PdnGame, None, None]:
    for chunk in read_chunks(source):
        played = PlayedGames(chunk)
        for g in range(len(chunk.games)):
            yield played.read(g, name)


class _Builder:
    """Walks over the tokens of one game, up to where `_replay` stopped."""

    def __init__(self, played: PlayedGames, g: int, path: str) -> None:
        self.chunk, self.tokens, found = played.chunk, played.chunk.tokens, played.games[g]
        self.first, self.last = self.chunk.games[g].tolist()
        self.kinds: list[int] = self.tokens["kind"][self.first : self.last].tolist()
        self.closing: dict[int, int] = {}
        """The token that closes each opening bracket which is closed."""
        opened = []
        for t, kind in enumerate(self.kinds, self.first):
            if kind == OPEN:
                opened.append(t)
            elif kind == CLOSE and opened:
                self.closing[opened.pop()] = t
        self.game = game = PdnGame(
            headers=list(self.chunk.headers[g]),
            start=played.start(g),
            termination_marker=lexer.RESULT_TEXT[int(found["result"])],
            tag_result=lexer.RESULT_TEXT[int(played.tag_results[g])],
            number=self.chunk.number + g + 1,
            line=self.line(self.first),
            path=path,
        )
        game.comments, game.moves, position = self.moves(self.first, int(found["stop"]), game.start)
        game.final_comments = self.moves(int(found["end"]) + 1, self.last, position)[0]
        if found["problem"] != FINE:
            game.problem = self.problem(found, position, played.refused.get(g, ""))
            game.rejected = not game.moves

    def line(self, t: int) -> int:
        return int(self.chunk.lines(self.tokens[t]["start"]))

    def text(self, t: int, last: int | None = None) -> str:
        """The text of a token, or of it and those up to `last`."""
        end = self.tokens[t if last is None else last]["end"]
        return self.chunk.text(int(self.tokens[t]["start"]), int(end))

    def squares(self, t: int) -> list[int]:
        first, count = int(self.tokens[t]["first"]), int(self.tokens[t]["value"])
        return [int(square) for square in self.chunk.squares[first : first + count]]

    def moves(
        self, t: int, end: int, position: Position, depth: int = 0
    ) -> tuple[list[str], list[PdnMove], Position]:
        """Read tokens `t` to `end`: comments, then moves from a position; and the position they lead to.

        Raises:
            MoveError: inside of brackets, `depth` of them, something that is neither.
        """
        comments: list[str] = []
        moves: list[PdnMove] = []
        before = position
        while t < end:
            kind = self.kinds[t - self.first]
            place = moves[-1].comments if moves else comments
            if kind in (lexer.COMMENT, lexer.LINE):
                place.append(_clean(self.text(t)[1:].removesuffix("}" if kind == lexer.COMMENT else "")))
            elif kind == OPEN:
                close = min(self.closing.get(t, end), end - 1)
                line = moves and depth < DEEPEST
                variation = self.variation(t + 1, close, before, depth + 1) if line else None
                if variation is None:
                    place.append(_clean(self.text(t, close).replace("{", "").replace("}", "")))
                else:
                    moves[-1].variations.append(variation)
                t = close
            elif kind == MOVE:
                moves.append(PdnMove(position.find_path(self.squares(t))))
                before, position = position, position.push(moves[-1].move)
            elif kind == lexer.NAG and moves:
                moves[-1].nags.append(int(self.tokens[t]["value"]))
            elif kind == lexer.MARK and moves:
                moves[-1].marks += self.text(t)
            elif depth and kind not in (NUMBER, BARE):
                raise MoveError("expected a move")
            t += 1
        return comments, moves, position

    def variation(self, t: int, close: int, start: Position, depth: int) -> Variation | None:
        """The variation of tokens `t` to `close`; None if they are no line of moves."""
        try:
            comments, moves, _ = self.moves(t, close, start, depth)
        except MoveError:
            return None
        return Variation(comments, moves) if moves else None

    def problem(self, found: Any, position: Position, refused: str) -> PdnError:
        """What stopped the reader; `position` is where it came."""
        game, t, kind = self.game, int(found["stop"]), int(found["problem"])
        if kind == REFUSED:
            return PdnError(refused, game.path, game.line, game.number)
        legal: tuple[str, ...] = ()
        text = printable(" ".join(self.text(t).split()), most=80)
        reason = _PROBLEMS.get(kind, "").format(text)
        if kind == BAD_MOVE:
            legal = tuple(map(str, position.legal_moves()))
            try:
                position.find_path(self.squares(t), text.replace(" ", ""))
            except MoveError as error:
                reason = self.other_board(t) or str(error)
        return PdnError(reason, game.path, self.line(t), game.number, len(game.moves), text, legal)

    def other_board(self, t: int) -> str:
        """Say that a game whose move at token `t` is illegal has squares of another board; "" if not."""
        for k in range(t, self.last):
            kind = self.kinds[k - self.first]
            if kind in (JUNK, RESULT, UNCLOSED):
                break
            squares = self.squares(k) if kind == MOVE else []
            move = printable("".join(self.text(k).split()), most=80)
            if 0 in squares:
                return f"'{move}' has {SQUARE_0}"
            if max(squares, default=0) > 32:
                return f"'{move}' has a square above 32: another variant of draughts?"
        return ""


def _clean(comment: str) -> str:
    """A comment on one line."""
    return " ".join(comment.replace("\0", " ").split())
