"""Learn from mistakes in the terminal: find the better move."""

from pathlib import Path

from ckai.cli.terminal.board import draw_board, has_colors
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


def ask_all(path: Path, screen: Screen, engine: Engine, limit: Limit) -> None:
    """Ask for the better move of each puzzle of a file that is due, until `quit`; keep each answer at once.

    The engine judges moves that are not the solution, and shows refutations.
    """
    puzzles = mistakes.load(path)
    due = [each for each in puzzles if mistakes.is_due(each)]
    answers: list[bool] = []
    for n, puzzle in enumerate(due, 1):
        screen.print(f"\n{n} of {len(due)}: {puzzle.header('Event')}")
        if (right := _Lesson(puzzle, screen, engine, limit).ask()) is None:
            break
        answers.append(right)
        mistakes.answer(puzzle, right, path)
    left = len(due) - len(answers)
    following = min(each.header("Due") or "" for each in puzzles)
    told = [f"{sum(answers)} of {len(answers)} right at once"] if answers else []
    told += [f"{left} still due" if left else f"the next of {len(puzzles)} is due on {following}"]
    screen.print("; ".join(told))


class _Lesson:
    """One puzzle."""

    def __init__(self, puzzle: PdnGame, screen: Screen, engine: Engine, limit: Limit) -> None:
        self.puzzle, self.screen, self.engine, self.limit = puzzle, screen, engine, limit

    def ask(self) -> bool | None:
        """Ask until the better move is found or shown; return whether the first answer was right.

        None: the person wants to stop.
        """
        puzzle, screen, first = self.puzzle, self.screen, None
        position, best, mistake = puzzle.start, puzzle.moves[0].move, mistakes.played(puzzle)
        color = has_colors(screen.console)
        for line in draw_board(DEFAULT_GAME, position, color=color, flipped=position.black):
            screen.print(line, wrap=False)
        grade = next((GRADES[nag] for nag in mistake.nags if nag in GRADES), "mistake")
        screen.print(f"{mistake.move} was a {grade}. Find a better move; `show` shows it, `quit` ends.")
        while (text := screen.ask("Black: " if position.black else "White: ")) is not None:
            word = text.strip().lower()
            if word in ("quit", "exit", "q"):
                return None
            if word != "show":
                try:
                    move = DEFAULT_GAME.read_move(position, text)
                except MoveError as error:
                    screen.print(str(error))
                    continue
                right = move == best or (move != mistake.move and self._as_good(move))
                first = right if first is None else first
                screen.print("Right." if right else f"No: {self._refutation(move)}")
                if not right:
                    continue
            better = " ".join(str(each.move) for each in puzzle.moves[:SHOWN])
            screen.print(f"Better was {better}; {self._refutation(mistake.move)}")
            return bool(first)
        return None

    def _search(self, move: object) -> tuple[float, str]:
        """The expected score of Black after a move, and what follows."""
        game = Game(self.puzzle.start)
        game.push(str(move))
        if (outcome := game.outcome()) is not None:
            return POINTS[outcome.result], "nothing: the game is over"
        found = self.engine.play(game, self.limit)
        black = expected_score(0.0 if found.value is None else found.value.black())
        return black, " ".join(map(str, found.pv[:SHOWN]))

    def _as_good(self, move: object) -> bool:
        """Whether a move keeps what the solution has, but for less than an inaccuracy."""
        best, other = (self._search(each)[0] for each in (self.puzzle.moves[0].move, move))
        loss = best - other if self.puzzle.start.black else other - best
        return loss < COSTS[Grade.INACCURACY]

    def _refutation(self, move: object) -> str:
        black, line = self._search(move)
        return f"{move} is answered by {line}, {score_text(black)}"
