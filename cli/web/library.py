"""A text of many games: its list with search and filters, and one game at a time as a tree."""

import io
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.cli.web.pdn_tree import tree_of
from ckai.cli.web.tree import Tree
from ckai.pdn import PdnGame
from ckai.pdn.kernels import FINE, GAME, make_columns, replay_chunk
from ckai.pdn.reader import build_game
from ckai.pdn.segments import BLACK, DATE, EVENT, RESULT_TEXT, WHITE
from ckai.pdn.stream import Chunk, first_positions, read_chunks

MAX_VALUE = 200
"""Most characters of a header in the list."""
ROWS_AT_ONCE = 1 << 14
"""Rows that are replayed at once."""
MAX_GAMES = 50_000
"""Most games of a list."""


Row: TypeAlias = dict[str, Any]
"""A game in the list: index, black, white, result, event, date, plies; and problem, why it can be read only
in part or not at all, empty if it can."""
SORTED_BY = ("index", "black", "white", "result", "event", "date", "plies")


class Library:
    """The games of a text, kept in memory.

    Args:
        text: games in PDN.
        name: name of the file, for messages.

    Raises:
        ValueError: there is no game in it, or more than `MAX_GAMES`.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._places: list[tuple[Chunk, int, Any, str | None]] = []
        self.rows: list[Row] = []
        for chunk in read_chunks(io.BytesIO(text.encode())):
            starts, refused = first_positions(chunk)
            played = _replayed(chunk, starts)
            if len(self.rows) + len(played) > MAX_GAMES:
                raise ValueError(f"{name}: expected at most {MAX_GAMES:,} games, found more")
            for g in range(len(played)):
                self._places.append((chunk, g, starts[g], refused.get(g)))
                self.rows.append(self._row(chunk, g, played[g]))
        if not self.rows:
            raise ValueError(f"{name}: expected games in PDN, found none")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def problems(self) -> int:
        """Number of games that can be read only in part or not at all."""
        return sum(bool(row["problem"]) for row in self.rows)

    def game(self, index: int) -> PdnGame:
        """Return a game, as far as it can be read.

        Raises:
            ValueError: there is no such game.
        """
        if not 0 <= index < len(self._places):
            raise ValueError(f"{self.name}: expected game 1 to {len(self._places)}, found {index + 1}")
        chunk, g, start, refused = self._places[index]
        return build_game(chunk, g, start, refused, self.name)

    def _row(self, chunk: Chunk, g: int, played: Any) -> Row:
        def tag(which: int) -> str:
            return (chunk.tag(g, which) or "")[:MAX_VALUE]

        index = len(self.rows)
        # What is wrong with a game only the full reader can say.
        problem = "" if played["problem"] == FINE else str(self.game(index).problem)[:MAX_VALUE]
        return {
            "index": index,
            "black": tag(BLACK),
            "white": tag(WHITE),
            "result": RESULT_TEXT[int(played["result"])] or "*",
            "event": tag(EVENT),
            "date": tag(DATE),
            "plies": int(played["plies"]),
            "problem": problem,
        }

    def find(self, *, query: str, result: str, sort: str, offset: int, limit: int) -> tuple[int, list[Row]]:
        """Return how many games fit, and a page of them.

        Args:
            query: words that must all occur in the players, the event or the date, in any case.
            result: a PDN result; empty: any.
            sort: one of `SORTED_BY`, with a `-` before it for the reverse.
            offset, limit: the page.

        Raises:
            ValueError: there is no such field to sort by.
        """
        key = sort.removeprefix("-")
        if key not in SORTED_BY:
            raise ValueError(f"expected to sort by {', '.join(SORTED_BY)}, found {key!r}")
        words = query.casefold().split()

        def fits(row: Row) -> bool:
            text = "\n".join(row[name] for name in ("black", "white", "event", "date")).casefold()
            return (not result or row["result"] == result) and all(word in text for word in words)

        def order(row: Row) -> Any:
            value = row[key]
            return value.casefold() if isinstance(value, str) else value

        fitting = sorted(filter(fits, self.rows), key=order, reverse=sort.startswith("-"))
        return len(fitting), fitting[offset : offset + limit]


def _replayed(chunk: Chunk, starts: NDArray[Any]) -> NDArray[Any]:
    """Return `[G]` GAME: how far each game of a chunk can be played."""
    games = np.zeros(len(chunk.segments), GAME)
    if len(games):
        longest = int((chunk.segments["last"] - chunk.segments["first"]).max())
        columns = make_columns(max(ROWS_AT_ONCE, 2 * longest + 1024))
        done = 0
        while done < len(games):
            done, _ = replay_chunk(chunk.read, chunk.segments, starts, games, columns, done, 0)
    return games


def opened(game: PdnGame) -> tuple[Tree, list[tuple[str, str]], str, str]:
    """Return the tree of a game, its tags, its result, and why it could be read only in part.

    Raises:
        ValueError: it cannot be read at all, or is too large.
    """
    if game.rejected:
        raise ValueError(str(game.problem))
    problem = "" if game.problem is None else str(game.problem)
    return tree_of(game), game.headers, game.result or "*", problem
