"""Games in the terminal with scripted input, and an engine that plays the first legal move."""

import io

from ckai.cli.playing.opponent import Opponent
from ckai.cli.playing.record import Record
from ckai.cli.playing.session import PEOPLE, Session
from ckai.cli.shared.console import CleanConsole
from ckai.cli.terminal.game import Options, TerminalGame
from ckai.game import Game, Position
from ckai.pdn import read_games
from ckai.rl.engine.result import Line, MoveMap, SearchResult, Value
from ckai.rl.games.registry import DEFAULT_GAME


class FirstMove:
    """An engine that plays the first legal move and records its calls."""

    limit, spec = None, DEFAULT_GAME

    def __init__(self, value=0.0):
        self.value = value
        self.asked = []

    def honours(self, limit):
        return False

    def stop(self):
        pass

    def close(self):
        pass

    def play(self, game, limit, *, lines=1, stop=None):
        position = game.position
        self.asked.append((position, limit, game.history))
        moves = position.legal_moves()
        value = Value(self.value, "black" if position.black else "white")
        return SearchResult(
            lines=[
                Line(pv=pv_of(position, move), value=value, visits=60 // (i + 1), prior=1 / len(moves))
                for i, move in enumerate(moves[:lines])
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


def table(
    lines,
    tmp_path,
    *,
    side="black",
    fen=None,
    engine=None,
    width=80,
    vary=0,
    show=False,
    session=None,
    extra=None,
    **screen,
):
    """A game of checkers with scripted input, and its output; `extra` are arguments of `TerminalGame`."""
    engine = engine or FirstMove()
    shown = io.StringIO()
    console = CleanConsole(
        file=shown, width=width, highlight=False, markup=False, _environ={"TERM": "xterm-256color"}, **screen
    )
    game = Game(None if fen is None else Position.from_fen(fen))
    opponent = Opponent(lambda: engine, "ckai test", vary=vary, seed=1)
    record = Record(folder=tmp_path / "games")
    session = session or Session(game, PEOPLE[side])
    more = {"options": Options(show=show), **(extra or {})}
    return TerminalGame(session, opponent, record, console, io.StringIO(lines), **more), shown


def only_game(path):
    (game,) = read_games(path)
    assert game.problem is None
    return game
