"""How often each move was played in the games of a data set."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.rl.analysis.score import expected_score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Played:
    """How often a move was played in a position."""

    moves: tuple[Any, ...]
    """The move; several if they begin with the same hop, which is all that rows tell of them."""
    times: int
    score: float | None
    """Mean score of Black, 0 to 1; None where no result is known."""


class ExpertMoves:
    """The positions of a data set and what was played there, read on first use.

    Args:
        path: the file of rows.
        game: name of the game.
    """

    def __init__(self, path: Path, game: str) -> None:
        self.path, self.game = path, game

    @cached_property
    def _rows(self) -> "tuple[NDArray[np.int8], NDArray[np.uint8], NDArray[np.float64]]":
        import numpy as np

        from ckai.datasets.reader import read_rows

        rows = read_rows(self.path, game=self.game)
        rows = rows.take(rows.jumper < 0)  # where a move begins
        return rows.board, rows.label, np.where(rows.z_known, rows.z, np.nan)

    def played(self, position: Any) -> list[Played]:
        """Count the moves played in a position, the most frequent first.

        Raises:
            DatasetError: the file is missing, damaged, or of another game.
        """
        import numpy as np

        boards, actions, results = self._rows
        moves = position.legal_moves()
        same = np.flatnonzero((boards == position.board).all(axis=1)).tolist()
        found = []
        for action in dict.fromkeys(move.actions[0] for move in moves):
            rows = [row for row in same if actions[row] == action]
            if not rows:
                continue
            known = results[rows][~np.isnan(results[rows])]
            score = expected_score(float(known.mean()), black=position.black) if len(known) else None
            alike = tuple(move for move in moves if move.actions[0] == action)
            found.append(Played(alike, len(rows), score))
        return sorted(found, key=lambda each: -each.times)
