"""The games of a chunk, played as far as they can be."""

import re

import numpy as np
from numpy.typing import NDArray

from ckai.game import Position, PositionError
from ckai.game.text import printable
from ckai.pdn.kernels import FINE, GAME, UNKNOWN_Z, Columns, make_columns, replay
from ckai.pdn.lexer import MOVE, NO_RESULT, result_in
from ckai.pdn.stream import Chunk

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


class PlayedGames:
    """The games of a chunk, with the rows of their moves.

    Attributes:
        chunk: their text.
        tags: values of each game's tags by lower-case name; the first of a name counts.
        refused: why games are not played, by their index.
        games: `[G]` GAME.
        columns: of the rows.
        tag_results, results: `[G]` uint8, results by the Result tag, and by what is after the moves or,
            where that is missing, by the tag; see `ckai.pdn.lexer`.
        forfeit: `[G]` bool, whether the Termination tag says that the result was not played: rows without z.
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
        columns = make_columns(int((chunk.tokens["kind"] == MOVE).sum()) + 24 * count)
        rows = replay(
            chunk.tokens, chunk.squares, chunk.games, self._starts, refused, number, self.games, columns
        )
        self.tag_results = np.array([result_in(tags.get("result", "")) for tags in self.tags], np.uint8)
        found = self.games["result"]
        self.results = np.where(found == NO_RESULT, self.tag_results, found)
        self.forfeit = np.array(
            [bool(_FORFEIT.search(t.get("termination", ""))) for t in self.tags], np.bool_
        )
        scores = np.repeat(np.where(self.forfeit, UNKNOWN_Z, _SCORES[self.results]), self.games["rows"])
        columns.z[:rows] = np.where(columns.black[:rows] | (scores == UNKNOWN_Z), scores, -scores)
        self.columns = Columns._make(column[:rows] for column in columns)

    @property
    def whole(self) -> NDArray[np.bool_]:
        """`[G]` whether a game can be read to its end."""
        whole: NDArray[np.bool_] = self.games["problem"] == FINE
        return whole

    def start(self, g: int) -> Position:
        """The first position of a game."""
        own, opp, kings, halfmove_clock, black = self._starts[g].tolist()
        return Position(own, opp, kings, bool(black), halfmove_clock=halfmove_clock)


def _another_game(value: str) -> str:
    """Why a game of a GameType is refused; empty if it is not."""
    number = re.match(r"\s*(\d*)", value)[1]  # type: ignore[index]
    if number == "21" or not value.strip():
        return ""
    name = f" ({GAME_TYPES[number]})" if number in GAME_TYPES else ""
    return f"expected GameType 21 (English draughts), found {printable(value, most=40)!r}{name}"
