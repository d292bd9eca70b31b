"""`SideThinker`: players that move by their own limit and have no values to report, such as levels."""

import random

from ckai.game import Game
from ckai.rl.engine.limit import Limit
from ckai.rl.players.player import Player
from ckai.rl.thinkers.thinker import Interrupt, Publish, Report, undrawn


class SideThinker:
    """A player of matches; it answers at once and reports nothing but its move."""

    limit, fixed = None, True

    def __init__(self, player: Player) -> None:
        """Seat a player without a clock."""
        self._side = player.sit(1)

    def think(self, game: Game, limit: Limit, publish: Publish, interrupt: Interrupt) -> Report:
        """See `Thinker`; only the move is given."""
        game = undrawn(game)
        side, position = self._side, game.position
        side.start(0, game.positions[0], random.getrandbits(63))
        for move in game.moves:
            for action in move.actions:
                side.play(0, action)
        hops = list(side.actions([0]))
        while (chosen := position.move_of(hops)) is None:
            side.play(0, hops[-1])
            hops += side.actions([0])
        return Report(pv=[chosen])

    def forget(self) -> None:
        """See `Thinker`; nothing is kept."""

    def close(self) -> None:
        """See `Thinker`."""
        self._side.close()
