"""Searches that report what they find as they go: the engine, and for other games a search in steps."""

import time
from typing import Any, Protocol

from ckai.cli.playing.player_opponent import PlayerOpponent
from ckai.cli.web.searches import Job
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine import Engine, Limit, SearchResult
from ckai.rl.engine.analysis import Publish
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.search import SearchPlayer

INTERVAL = 0.1
"""Seconds between two results."""
FIRST_VISITS, MAX_VISITS = 64, 1 << 16
"""Visits of the first and the last search of a position in steps; each has four times the one before."""


class Analyst(Protocol):
    """Searches positions of one game with one network, or without one."""

    def search(
        self, game: Any, *, lines: int, visits: int | None, seconds: float | None, job: Job, publish: Publish
    ) -> SearchResult:
        """Search the current position of a game, which has a legal move.

        Args:
            game: the game; its earlier positions count for repetitions.
            lines: most lines in the results.
            visits, seconds: when the search ends; both None: when the job is interrupted.
            job: ends the search when it is interrupted.
            publish: called with every result before the last.
        """

    def forget(self) -> None:
        """Begin the next search from an empty tree."""

    def close(self) -> None:
        """Release all resources."""


class EngineAnalyst:
    """The engine of the default game.

    Args:
        network: a checkpoint file, or the name of an installed network.
        evaluator: the backend.
        tables: tablebases; None: none.
    """

    def __init__(self, network: str, evaluator: str, tables: Tables | None) -> None:
        self._engine = Engine.load(network, evaluator=evaluator, tables=tables)

    def search(
        self, game: Any, *, lines: int, visits: int | None, seconds: float | None, job: Job, publish: Publish
    ) -> SearchResult:
        """See `Analyst`."""
        limit = Limit(visits=visits, seconds=seconds)
        analysis = self._engine.analysis(
            game.position, limit, history=game.history, multipv=lines, interval=INTERVAL
        )
        with analysis:
            job.attach(analysis.stop)
            for result in analysis:
                if result.reason is None:
                    publish(result)
            return analysis.wait()

    def forget(self) -> None:
        """See `Analyst`."""
        self._engine.forget()

    def close(self) -> None:
        """See `Analyst`."""
        self._engine.close()


class SteppedAnalyst:
    """A tree search of any game, begun again with more and more visits.

    Args:
        spec: the game.
        network: a checkpoint file, or the name of a search without a network.
        evaluator: the backend.
    """

    def __init__(self, spec: GameSpec, network: str, evaluator: str) -> None:
        self._spec = spec
        self._evaluator: Evaluator = load_evaluator(network, evaluator, game=spec.name)
        self._players: dict[int, PlayerOpponent] = {}

    def search(
        self, game: Any, *, lines: int, visits: int | None, seconds: float | None, job: Job, publish: Publish
    ) -> SearchResult:
        """See `Analyst`."""
        begun, result = time.perf_counter(), None
        number = FIRST_VISITS
        most = MAX_VISITS if visits is None else visits
        while True:
            player = self._player(min(number, most))
            job.attach(player.stop)
            result = player.reply(game, vary=False).result
            if result is None:
                raise ValueError(f"{self._spec.name}: a search of this position says nothing of its moves")
            late = seconds is not None and time.perf_counter() - begun >= seconds
            if job.interrupted or late or number >= most:
                return result
            publish(result)
            number *= 4

    def _player(self, visits: int) -> PlayerOpponent:
        if visits not in self._players:
            player = SearchPlayer(self._evaluator, visits, spec=self._spec)
            self._players[visits] = PlayerOpponent(lambda: player, "analysis", self._spec, analyses=True)
        return self._players[visits]

    def forget(self) -> None:
        """See `Analyst`; every step begins with an empty tree."""
        for player in self._players.values():
            player.close()
        self._players = {}

    def close(self) -> None:
        """See `Analyst`."""
        self.forget()
        self._evaluator.close()


def make_analyst(spec: GameSpec, network: str, evaluator: str, tables: Tables | None) -> Analyst:
    """Return what analyses a game with a network.

    Raises:
        ValueError, OSError: the network cannot be loaded.
    """
    if spec == DEFAULT_GAME:
        return EngineAnalyst(network, evaluator, tables)
    return SteppedAnalyst(spec, network, evaluator)
