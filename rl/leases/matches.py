"""Matches on Ray: pairs of games are leased to the nodes of a cluster.

A pair is leased again when its player is lost, and counts once. The result does not depend on where
a pair was played: each game has a random stream of its own. The pairs of `ckai match` are tasks; those of
a run's gate match go to its workers, which hold the cores.
"""

import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from ckai.datasets.tables import Tables
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.leases.cluster import RayError, import_ray, reason_of
from ckai.rl.leases.lease import hash_of
from ckai.rl.matches.match import MatchGame, MatchResult, game_order, play_match
from ckai.rl.matches.pdn import match_pdn, parse_match_games
from ckai.rl.players.loading import checkpoint_of, load_player
from ckai.rl.players.parsing import ALPHA_BETA, PlayerSpec
from ckai.rl.players.player import Player
from ckai.rl.players.search import SearchPlayer
from ckai.rl.search.selection import SearchConstants

PAIRS = 4
"""Most pairs of a lease for each thread that plays it."""
MAX_FAILURES = 3
"""Failures with the same pairs after which the match ends."""
WAIT_SECONDS = 0.2
"""Time between two looks at the leases."""


@dataclass(frozen=True)
class SpecSource:
    """A player named by a spec."""

    text: str
    """The spec, see `ckai.rl.players.forms`."""
    checkpoint: bytes | None
    """The network of the spec; None if it names none."""

    @classmethod
    def of(cls, text: str) -> "SpecSource":
        """Read the checkpoint of a spec.

        Raises:
            PlayerSpecError: it is not a spec.
        """
        path = checkpoint_of(PlayerSpec.read(text))
        return cls(text, None if path is None else path.read_bytes())

    def load(self, game: GameSpec, tables: Tables | None, backend: str, threads: int) -> Player:
        """Load the player.

        Args:
            game: the game.
            tables: tablebases; None: none.
            backend: evaluator backend, see `load_evaluator`.
            threads: threads that call its network.
        """
        text = self.text
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
            if self.checkpoint is not None:
                who = PlayerSpec.read(text).who
                path = _written(self.checkpoint, folder)
                start = ALPHA_BETA if who.startswith(ALPHA_BETA) else ""
                text = f"{start}{path}{text.removeprefix(who)}"
            return load_player(
                text,
                backend=backend,
                tables=tables,
                game=game,
                threads=threads,
            )


@dataclass(frozen=True)
class NetworkSource:
    """A tree search of a run, whose constants are the run's."""

    checkpoint: bytes
    sims: int
    """Visits per hop."""
    constants: SearchConstants

    def load(self, game: GameSpec, tables: Tables | None, backend: str, threads: int) -> Player:
        """See `SpecSource`."""
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
            path = _written(self.checkpoint, folder)
            evaluator = load_evaluator(path, backend, threads=threads, game=game.name)
            return SearchPlayer(evaluator, self.sims, self.constants, tables, spec=game)


PlayerSource: TypeAlias = SpecSource | NetworkSource
"""A player as plain data, which is sent to the nodes."""


def _written(checkpoint: bytes, folder: str) -> Path:
    path = Path(folder, f"{hash_of(checkpoint)}.ckpt")
    path.write_bytes(checkpoint)
    return path


@dataclass(frozen=True)
class MatchSetup:
    """What a node needs to play pairs of a match."""

    game: str
    sources: tuple[PlayerSource, PlayerSource]
    openings: tuple[Any, ...]
    tables: int
    """Pieces of the tablebases; 0: none."""
    backend: str
    settings: dict[str, Any]
    """Of `play_match`."""


class LeasedMatches:
    """Plays matches by leasing pairs of games to the workers of a run."""

    def __init__(
        self, lend: Callable[[Any, tuple[int, ...], Callable[[str], None]], Any], backend: str, threads: int
    ) -> None:
        """Begin without a match.

        Args:
            lend: begins to play pairs and returns the reference to their games, or None if no worker is
                free; called with the reference to the `MatchSetup`, the pairs, and what takes warnings.
            backend: evaluator backend.
            threads: threads of a worker.
        """
        self._lend, self._backend, self._threads = lend, backend, threads

    def play(
        self,
        sources: tuple[PlayerSource, PlayerSource],
        openings: Sequence[Any],
        *,
        spec: GameSpec,
        tables: int,
        done: Sequence[MatchGame],
        on_game: Callable[[MatchGame], None],
        stop: threading.Event,
        warn: Callable[[str], None],
        **settings: Any,
    ) -> MatchResult:
        """Play every opening twice.

        Args:
            sources: the players.
            openings: start positions.
            spec: the game.
            tables: pieces of the tablebases, which nodes have of their own; 0: none.
            done: finished games of this match; not counted again.
            on_game: called with every other game.
            stop: set it to end early; unfinished pairs are dropped.
            warn: called with each warning, one line.
            settings: more of `play_match`.

        Returns:
            All games, including `done`, ordered by opening, A with Black first.

        Raises:
            RayError: no worker can play.
        """
        ray = import_ray()
        setup = ray.put(MatchSetup(spec.name, sources, tuple(openings), tables, self._backend, settings))

        def lend(pairs: tuple[int, ...]) -> Any:
            return self._lend(setup, pairs, warn)

        leased = _Leased(openings, spec, PAIRS * self._threads, done, on_game)
        return leased.play(lend, stop, "no worker can play the gate match")


def play_match_on_ray(
    a: str,
    b: str,
    openings: Sequence[Any],
    *,
    spec: GameSpec,
    tables: Tables | None,
    backend: str,
    done: Sequence[MatchGame] = (),
    on_game: Callable[[MatchGame], None] | None = None,
    stop: threading.Event | None = None,
    **settings: Any,
) -> MatchResult:
    """Play every opening twice on the cluster that `connect` has connected to.

    Args:
        a: spec of the first player.
        b: spec of the second player.
        openings: start positions.
        spec: the game.
        tables: tablebases; nodes use their own of as many pieces.
        backend: evaluator backend, see `load_evaluator`; each node tries it for itself.
        done: finished games of this match, not played again.
        on_game: called with every finished game.
        stop: set it to end early; unfinished pairs are dropped.
        settings: more of `play_match`: `max_plies`, `adjudicate` by the nodes' own tables, `time_margin`,
            `in_flight`, `seed`.

    Returns:
        All games, including `done`, ordered by opening, A with Black first.

    Raises:
        RayError: no node can play.
        PlayerSpecError: a text is not a spec.
    """
    ray = import_ray()
    pieces = 0 if tables is None else tables.pieces
    sources = (SpecSource.of(a), SpecSource.of(b))
    setup = ray.put(MatchSetup(spec.name, sources, tuple(openings), pieces, backend, settings))
    task = ray.remote(play_pairs).options(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")
    leased = _Leased(openings, spec, PAIRS, done, on_game or (lambda game: None))

    def lend(pairs: tuple[int, ...]) -> Any:
        max_leases = 2 * max(1, int(ray.cluster_resources().get("CPU", 0)))
        return task.remote([setup], pairs) if len(leased.out) < max_leases else None

    try:
        return leased.play(lend, stop or threading.Event(), f"no node can play {a} against {b}")
    finally:
        for reference in leased.out:
            with suppress(ray.exceptions.RayError):
                ray.cancel(reference, force=True)


class _Leased:
    """The pairs of a match: which wait, which are leased, which have been played."""

    def __init__(
        self,
        openings: Sequence[Any],
        spec: GameSpec,
        size: int,
        done: Sequence[MatchGame],
        on_game: Callable[[MatchGame], None],
    ) -> None:
        self.out = dict[Any, tuple[int, ...]]()
        """Pairs that are leased, by the reference to their games."""
        self._openings, self._spec, self._on_game = openings, spec, on_game
        self._result = MatchResult(list(done))
        self._played = {(game.pair, game.a_black) for game in done}
        missing = [n for n in range(len(openings)) if not {(n, True), (n, False)} <= self._played]
        self._waiting = deque(tuple(missing[i : i + size]) for i in range(0, len(missing), size))
        self._failures = dict[tuple[int, ...], int]()

    def play(self, lend: Callable[[tuple[int, ...]], Any], stop: threading.Event, failed: str) -> MatchResult:
        """Lease the pairs until all are played or `stop` is set; `failed` begins the error."""
        ray = import_ray()
        while (self._waiting or self.out) and not stop.is_set():
            while self._waiting and (reference := lend(self._waiting[0])) is not None:
                self.out[reference] = self._waiting.popleft()
            if not self.out:
                stop.wait(WAIT_SECONDS)
                continue
            for reference in ray.wait(list(self.out), num_returns=1, timeout=WAIT_SECONDS)[0]:
                pairs = self.out.pop(reference)
                try:
                    self._add(ray.get(reference))
                except ray.exceptions.RayError as error:
                    self._lost(pairs, error, failed)
                    stop.wait(WAIT_SECONDS)
        self._result.games.sort(key=game_order)
        return self._result

    def _add(self, games: str) -> None:
        for game in parse_match_games(games, self._openings, self._spec):
            if (game.pair, game.a_black) not in self._played:
                self._played.add((game.pair, game.a_black))
                self._result.games.append(game)
                self._on_game(game)

    def _lost(self, pairs: tuple[int, ...], error: Any, failed: str) -> None:
        # An actor that is lost restarts, or goes with its node.
        if not isinstance(error, import_ray().exceptions.RayActorError):
            self._failures[pairs] = self._failures.get(pairs, 0) + 1
            if self._failures[pairs] >= MAX_FAILURES:
                raise RayError(f"{failed}: {reason_of(error)}") from error
        self._waiting.append(pairs)


def play_pairs(setup: list[Any], pairs: tuple[int, ...], threads: int = 1) -> str:
    """Play pairs of a match on a node.

    Args:
        setup: the reference to the `MatchSetup`, in a list, so that Ray does not follow it.
        pairs: indices of the openings.
        threads: threads that play.

    Returns:
        The games as PDN.
    """
    match: MatchSetup = import_ray().get(setup[0])
    a, b = (_player(source, match.game, match.tables, match.backend, threads) for source in match.sources)
    played = play_match(
        a, b, match.openings, spec=get_game(match.game), pairs=pairs, threads=threads, **match.settings
    )
    return match_pdn(played, "A", "B", get_game(match.game))


@lru_cache(maxsize=4)
def _player(source: PlayerSource, game: str, tables: int, backend: str, threads: int) -> Player:
    """Load a player, once in a process."""
    return source.load(get_game(game), Tables.open(tables) if tables else None, backend, threads)
