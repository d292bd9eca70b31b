"""Learn from mistakes in the terminal: find the better move."""

from collections.abc import Callable

from ckai.cli.playing.puzzles import Judge, task
from ckai.cli.terminal.screen import Screen, draw_board, has_colors
from ckai.game import Game, MoveError
from ckai.pdn import PdnGame
from ckai.rl.analysis import mistakes
from ckai.rl.engine.base import Engine, SearchResult
from ckai.rl.games.registry import DEFAULT_GAME


def ask_all(screen: Screen, engine: Engine) -> None:
    """Ask for the better move of each puzzle that is due, until `quit`; keep each answer at once.

    The engine judges moves that are not the solution, and shows refutations.
    """
    puzzles = mistakes.load()
    due = [each for each in puzzles if mistakes.is_due(each)]
    answers: list[bool] = []
    for n, puzzle in enumerate(due, 1):
        screen.print(f"\n{n} of {len(due)}: {puzzle.header('Event')}")
        if (right := _ask(puzzle, screen, engine.play)) is None:
            break
        answers.append(right)
        mistakes.answer(puzzle, right)
    left = len(due) - len(answers)
    told = [f"{sum(answers)} of {len(answers)} right at once"] if answers else []
    told += [
        f"{left} still due" if left else f"the next of {len(puzzles)} is due on {mistakes.next_due(puzzles)}"
    ]
    screen.print("; ".join(told))


def _ask(puzzle: PdnGame, screen: Screen, search: Callable[[Game], SearchResult]) -> bool | None:
    """Ask until the better move is found or shown; return whether the first answer was right.

    None: the person wants to stop.
    """
    position, judge, first = puzzle.start, Judge(puzzle, search), None
    color = has_colors(screen.console)
    for line in draw_board(DEFAULT_GAME, position, color=color, flipped=position.black):
        screen.print(line, wrap=False)
    screen.print(f"{task(puzzle)}; `show` shows it, `quit` ends.")
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
            right = judge.right(move)
            first = right if first is None else first
            screen.print("Right." if right else f"No: {judge.refutation(move)}")
            if not right:
                continue
        screen.print(judge.solution())
        return bool(first)
    return None
