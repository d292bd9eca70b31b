"""Games in the terminal with scripted input, and an engine that plays the first legal move."""

import io

from ckai.cli.shared.console import CleanConsole
from ckai.cli.terminal.game import PEOPLE, TerminalGame
from ckai.game import Game, Position
from ckai.pdn import read_games
from ckai.rl import Engine, Line, MoveMap, SearchResult, Value


class FirstMove(Engine):
    """An engine that plays the first legal move and records its calls."""

    name = "first"
    takes = frozenset(("visits", "clock"))

    def __init__(self, value=0.0):
        super().__init__()
        self.value = value
        self.asked = []

    def _search(self, task):
        position = task.game.position
        self.asked.append((position, task.limit, task.game.history))
        moves = position.legal_moves()
        value = Value(self.value, "black" if position.black else "white")
        return SearchResult(
            lines=[
                Line(pv=pv_of(position, move), value=value, visits=60 // (i + 1))
                for i, move in enumerate(moves[: task.lines])
            ],
            value=value,
            visits=MoveMap({move: 60 // (i + 1) for i, move in enumerate(moves)}),
            priors=MoveMap({move: 1 / len(moves) for move in moves}),
            sims=100,
            seconds=0.1,
        )


def pv_of(position, move):
    """A move and the first legal reply."""
    return [move, *position.push(move).legal_moves()[:1]]


def table(lines, *, side="black", fen=None, engine=None, width=80, game=None, extra=None, **screen):
    """A game of checkers with scripted input, and its output; `extra` are arguments of `TerminalGame`."""
    engine = engine or FirstMove()
    shown = io.StringIO()
    console = CleanConsole(
        file=shown, width=width, highlight=False, markup=False, _environ={"TERM": "xterm-256color"}, **screen
    )
    game = game or Game(None if fen is None else Position.from_fen(fen))
    sides, lines = PEOPLE[side], io.StringIO(lines)
    given = {"analyst": lambda: engine} | (extra or {})
    return TerminalGame(game, sides, lambda: engine, "ckai test", console, lines, **given), shown


def only_game(path):
    (game,) = read_games(path)
    assert game.problem is None
    return game
