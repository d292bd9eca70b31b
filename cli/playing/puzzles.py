"""Answers to puzzles: whether a move is as good as the solution, and what refutes it."""

from collections.abc import Callable
from functools import cache

from ckai.cli.playing.sides import outlook
from ckai.game import Game, Move
from ckai.pdn import PdnGame
from ckai.rl.analysis import mistakes
from ckai.rl.analysis.report import COSTS, NAGS, Grade, score_text
from ckai.rl.engine.base import SearchResult

SHOWN = 6
"""Most moves of a line."""
GRADES = {nag: str(grade) for grade, nag in NAGS.items()}


def task(puzzle: PdnGame) -> str:
    """Return what a puzzle asks for."""
    mistake = mistakes.played(puzzle)
    grade = next((GRADES[nag] for nag in mistake.nags if nag in GRADES), "mistake")
    return f"{mistake.move} was a {grade}. Find a better move"


class Judge:
    """Judges answers to one puzzle by searches of an engine."""

    def __init__(self, puzzle: PdnGame, search: Callable[[Game], SearchResult]) -> None:
        self._puzzle, self._search = puzzle, search
        self._mistake, self._best = mistakes.played(puzzle).move, puzzle.moves[0].move
        self._after = cache(self._look)

    def right(self, move: Move) -> bool:
        """Return whether a move is the solution, or is as good: it costs less than an inaccuracy."""
        if move == self._best or move == self._mistake:
            return move == self._best
        loss = self._after(self._best)[0] - self._after(move)[0]
        return (loss if self._puzzle.start.black else -loss) < COSTS[Grade.INACCURACY]

    def refutation(self, move: Move) -> str:
        """Return what answers a move, and the expected score of Black then."""
        black, line = self._after(move)
        return f"{move} is answered by {line}, {score_text(black)}"

    def solution(self) -> str:
        """Return the better line, and what refutes the mistake."""
        better = " ".join(str(each.move) for each in self._puzzle.moves[:SHOWN])
        return f"Better was {better}; {self.refutation(self._mistake)}"

    def _look(self, move: Move) -> tuple[float, str]:
        """Return the expected score of Black after a move, and what follows."""
        game = Game(self._puzzle.start)
        game.push(move)
        black, line = outlook(game, self._search)
        return black, " ".join(map(str, line[:SHOWN])) or "nothing: the game is over"
