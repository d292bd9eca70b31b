"""Learn from mistakes in the terminal: find the better move."""

from pathlib import Path
from typing import TextIO

from rich.console import Console

from ckai.cli.terminal.board import detect_look, draw_board
from ckai.cli.terminal.screen import Screen
from ckai.game import Game, MoveError
from ckai.pdn import PdnGame
from ckai.rl.analysis import mistakes
from ckai.rl.analysis.report import COSTS, NAGS, POINTS, Grade
from ckai.rl.analysis.score import expected_score, score_text
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME

SHOWN = 6
"""Most moves of a line."""
GRADES = {nag: str(grade) for grade, nag in NAGS.items()}


class Lessons:
    """Asks for the better move of each puzzle that is due."""

    def __init__(self, console: Console, lines: TextIO, engine: Engine, limit: Limit) -> None:
        """Begin; nothing is asked yet.

        Args:
            console: output.
            lines: input.
            engine: judges moves that are not the solution, and shows refutations.
            limit: of its searches.
        """
        self.screen, self.engine, self.limit = Screen(console, lines), engine, limit

    def ask_all(self, path: Path) -> None:
        """Ask for what is due, until the end or `quit`; each answer is kept at once.

        Args:
            path: the file of puzzles.

        Raises:
            ValueError: there is no such file, or something else is in it.
            OSError: it cannot be read or written.
        """
        puzzles = mistakes.load(path)
        due = [each for each in puzzles if mistakes.is_due(each)]
        answers: list[bool] = []
        for n, puzzle in enumerate(due, 1):
            self.screen.print(f"\n{n} of {len(due)}: {puzzle.header('Event')}")
            if (right := self.ask(puzzle)) is None:
                break
            answers.append(right)
            mistakes.answer(puzzle, right, path)
        left = len(due) - len(answers)
        following = min(each.header("Due") or "" for each in puzzles)
        told = [f"{sum(answers)} of {len(answers)} right at once"] if answers else []
        told += [f"{left} still due" if left else f"the next of {len(puzzles)} is due on {following}"]
        self.screen.print("; ".join(told))

    def ask(self, puzzle: PdnGame) -> bool | None:
        """Ask until the better move is found or shown.

        Returns:
            Whether the first answer was right; None to stop.
        """
        position, best = puzzle.start, puzzle.moves[0].move
        mistake = mistakes.played(puzzle)
        look = detect_look(self.screen.console)
        for line in draw_board(DEFAULT_GAME, position, look, flipped=position.black):
            self.screen.print(line, wrap=False)
        grade = next((GRADES[nag] for nag in mistake.nags if nag in GRADES), "mistake")
        self.screen.print(f"{mistake.move} was a {grade}. Find a better move; `show` shows it, `quit` ends.")
        first: bool | None = None
        while True:
            text = self.screen.ask("Black: " if position.black else "White: ")
            if text is None or text.strip().lower() in ("quit", "exit", "q"):
                return None
            if text.strip().lower() == "show":
                break
            try:
                move = DEFAULT_GAME.read_move(position, text)
            except MoveError as error:
                self.screen.print(str(error))
                continue
            right = move == best or (move != mistake.move and self._as_good(puzzle, move))
            first = right if first is None else first
            if right:
                self.screen.print("Right.")
                break
            self.screen.print(f"No: {self._refutation(puzzle, move)}")
        better = " ".join(str(each.move) for each in puzzle.moves[:SHOWN])
        self.screen.print(f"Better was {better}; {self._refutation(puzzle, mistake.move)}")
        return bool(first)

    def _search(self, puzzle: PdnGame, *moves: object) -> tuple[float, str]:
        """The expected score of Black after some moves, and what follows."""
        game = Game(puzzle.start)
        for move in moves:
            game.push(str(move))
        if (outcome := game.outcome()) is not None:
            return POINTS[outcome.result], "nothing: the game is over"
        found = self.engine.play(game, self.limit)
        black = expected_score(0.0 if found.value is None else found.value.black())
        return black, " ".join(map(str, found.pv[:SHOWN]))

    def _as_good(self, puzzle: PdnGame, move: object) -> bool:
        """Whether a move keeps what the solution has, but for less than an inaccuracy."""
        best, other = (self._search(puzzle, each)[0] for each in (puzzle.moves[0].move, move))
        loss = best - other if puzzle.start.black else other - best
        return loss < COSTS[Grade.INACCURACY]

    def _refutation(self, puzzle: PdnGame, move: object) -> str:
        black, line = self._search(puzzle, move)
        return f"{move} is answered by {line}, {score_text(black)}"
