"""Any player of matches as an opponent in the terminal."""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.opponent import Reply, ResignsError
from ckai.cli.playing.session import side_of
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.engine import SearchResult
    from ckai.rl.games.clock import Clock
    from ckai.rl.players.player import ActionFigures, Player, Side


class PlayerOpponent:
    """A player of matches, loaded on first use.

    Args:
        load: creates the player.
        name: its name in messages and PDN headers.
        spec: the game.
        seed: seed of its random choices; None: random.
        analyses: whether it is a tree search, whose figures can be shown.
    """

    def __init__(
        self,
        load: "Callable[[], Player]",
        name: str,
        spec: GameSpec,
        *,
        seed: int | None = None,
        analyses: bool = False,
    ) -> None:
        self.name = name
        self.short = name if len(name) <= 20 else name[:18] + ".."
        self.analyses = analyses
        self._load = load
        self._spec = spec
        self._side: Side | None = None
        self._random = random.Random(seed)
        self._first: Any = None
        """Key of the first position of the game that the player follows; None: none yet."""
        self._moves: list[Any] = []
        self._clock: Clock | None = None

    def load(self) -> None:
        """See `Opponent`."""
        if self._side is None:
            self._side = self._load().sit(1)

    def reply(self, game: Any, *, vary: bool = True, clock: "Clock | None" = None, lines: int = 1) -> Reply:
        """See `Opponent`; players without a sense of time keep their own limit."""
        from ckai.rl.players.player import RESIGN

        self.load()
        assert self._side is not None
        self._follow(game, clock)
        begun = time.perf_counter()
        try:
            actions: list[int] = []
            result: SearchResult | None = None
            while (move := game.position.move_of(actions)) is None:
                action = self._side.actions([0])[0]
                if action == RESIGN:
                    raise ResignsError(f"{self.name} resigns")
                if not actions:
                    figures = self._side.figures(0)
                    result = self._result(game, action, figures, time.perf_counter() - begun)
                self._side.play(0, action)
                actions.append(action)
        except BaseException:
            self._first = None  # the player may be anywhere: show it the whole game again
            raise
        self._moves.append(move)
        return Reply(move, result)

    def _follow(self, game: Any, clock: "Clock | None") -> None:
        """Tell the player what has been played since its last move; begin again where that was taken back."""
        assert self._side is not None
        first, moves = game.positions[0].key, list(game.moves)
        known = len(self._moves)
        if self._first != first or self._moves != moves[:known] or clock is not self._clock:
            self._side.start(0, game.positions[0], self._random.getrandbits(63), clock)
            self._first, self._clock, known = first, clock, 0
        for move in moves[known:]:
            for action in move.actions:
                self._side.play(0, action)
        self._moves = moves

    def _result(
        self, game: Any, action: int, figures: "list[ActionFigures]", seconds: float
    ) -> "SearchResult | None":
        """Return the figures of a search as a result, in games in which every move is one action."""
        from ckai.rl.engine.result import Line, MoveMap, SearchResult, Value

        moves = {move.actions: move for move in game.position.legal_moves()}
        total = sum(each.visits for each in figures)
        if not total or set(moves) != {(each.action,) for each in figures}:
            return None
        turn = side_of(game.position)
        figures = sorted(figures, key=lambda each: (each.action != action, -each.visits))
        lines = [
            Line(
                pv=[moves[each.action,]],
                value=None if each.value is None else Value(each.value, turn),
                visits=each.visits,
                prior=each.prior,
            )
            for each in figures
        ]
        mean = sum((each.value or 0.0) * each.visits for each in figures) / total
        return SearchResult(
            lines=lines,
            value=Value(mean, turn),
            visits=MoveMap({line.move: line.visits for line in lines}),
            priors=MoveMap({line.move: line.prior for line in lines}),
            sims=total + 1,
            seconds=seconds,
        )

    def stop(self) -> None:
        """See `Opponent`."""
        if self._side is not None:
            self._side.stop()

    def close(self) -> None:
        """See `Opponent`."""
        if self._side is not None:
            self._side.close()
