"""Engines of players, and the other way round: what both faces need of each other.

A match shows its players every action of many boards at once (`Side`); an engine is given one game at a time.
"""

import random
import time
from typing import Any

import numpy as np

from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import AnyEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, SearchResult
from ckai.rl.engine.task import Task
from ckai.rl.games.clock import Clock
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.player import RESIGN, MoveSide, Player, ResignsError


class PlayerEngine(AnyEngine):
    """A player that moves by a limit of its own and has no values to report: a level, another program."""

    fixed = True

    def __init__(self, player: Player, spec: GameSpec, seed: int | None = None) -> None:
        """Seat the player.

        Args:
            player: plays by the clock of a search if it has a time control.
            spec: the game.
            seed: seed of its random choices; None: random.
        """
        super().__init__()
        self.spec = spec
        self._side = player.sit(1)
        self._clock = None if player.control is None else Clock(player.control)
        self._random = random.Random(seed)
        self._first: Any = None
        """Key of the first position of the game that the player follows; None: none yet."""
        self._moves: list[Any] = []

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        """Return the player's move.

        Raises:
            ResignsError: it resigns.
        """
        begun, root = time.perf_counter(), task.root.undrawn()
        game = root.game or self.spec.game(root.position)
        if self._clock is not None and task.limit.clock is not None:
            self._clock.reset(task.limit.clock)
            self._clock.moves = task.limit.remaining_moves
            self._clock.start()
        side, actions = self._side, list[int]()
        try:
            self._follow(game)
            task.stop.attach(side.stop)
            while (move := game.position.move_of(actions)) is None:
                actions += side.actions([0])
                if actions[-1] == RESIGN:
                    raise ResignsError("the player resigns")
                side.play(0, actions[-1])
        except BaseException:
            self._first = None  # the player may be anywhere: show it the whole game again
            raise
        self._moves.append(move)
        return SearchResult(lines=[Line(pv=[move])], seconds=time.perf_counter() - begun)

    def _follow(self, game: Any) -> None:
        """Tell the player what has been played since its last move; begin again where that was taken back."""
        first, moves, known = game.positions[0].key, list(game.moves), len(self._moves)
        if self._first != first or self._moves != moves[:known]:
            self._side.start(0, game.positions[0], self._random.getrandbits(63), self._clock)
            self._first, known = first, 0
        for move in moves[known:]:
            for action in move.actions:
                self._side.play(0, action)
        self._moves = moves

    def _forget(self) -> None:
        self._first = None

    def _release(self) -> None:
        self._side.close()


class EngineSide(MoveSide):
    """An engine in a match, which searches each move as a whole, one board at a time."""

    def __init__(self, engine: AnyEngine, limit: Limit, boards: int) -> None:
        """Take over an engine.

        Args:
            engine: closed with this.
            limit: of a move, where the player has no clock.
            boards: number of boards.
        """
        super().__init__(boards, engine.spec)
        self.engine, self.limit = engine, limit

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        """See `Side`."""
        super().start(board, position, stream, clock)
        self.engine.reseed(stream)

    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        """See `MoveSide`."""
        limit = self.limit
        if clock is not None:
            limit = Limit(clock=clock.left, increment=clock.control.increment, remaining_moves=clock.moves)
        if len(game.position.legal_moves()) == 1:
            limit = Limit(visits=1, depth=1)  # the tree goes on from here
        return self.engine.search(game, limit).move

    def close(self) -> None:
        """See `Side`."""
        super().close()
        self.engine.close()
