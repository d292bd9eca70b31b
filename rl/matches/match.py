"""Matches between two players, each opening with both colours."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import count, takewhile
from typing import Any

import numpy as np

from ckai.datasets.tables import ADJUDICATED, Tables
from ckai.game import Outcome
from ckai.models.inference.devices import use_one_torch_thread
from ckai.rl.games.clock import Clock, ClockReason
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import NOT_IN_TABLES, GameSpec
from ckai.rl.matches.elo import PairStatistics
from ckai.rl.players.forms import TIME_MARGIN
from ckai.rl.players.player import RESIGN, Player, Side
from ckai.rl.search.threads import run_all


class MatchReason(StrEnum):
    """Why a game is over, for an `Outcome`, where its rules did not end it."""

    RESIGNED = "resignation"
    ADJUDICATED = ADJUDICATED


class IllegalActionError(ValueError):
    """A player chose an action that is not legal; says which player, where, and what was expected."""


@dataclass(frozen=True)
class MatchGame:
    """One game of a match."""

    pair: int
    """Index of the opening."""
    a_black: bool
    """Whether A played Black."""
    game: Any
    """The moves, as `GameSpec.game` makes it."""
    outcome: Outcome | None
    """None if the game reached the length limit; counts as a draw."""
    stream: int = 0
    """Seed of the players' random choices."""

    @property
    def lost_on_time(self) -> bool:
        """Whether a player's clock ran out."""
        return self.outcome is not None and self.outcome.reason == ClockReason.TIME

    @property
    def adjudicated(self) -> bool:
        """Whether tablebases gave the result."""
        return self.outcome is not None and self.outcome.reason == MatchReason.ADJUDICATED

    @property
    def score(self) -> float:
        """A's score: 1, 0.5 or 0."""
        if self.outcome is None or self.outcome.winner is None:
            return 0.5
        return 1.0 if (self.outcome.winner == "black") == self.a_black else 0.0


def game_order(game: MatchGame) -> tuple[int, bool]:
    """Return the sorting key of the games of a match: by opening, A with Black first."""
    return game.pair, not game.a_black


@dataclass
class MatchResult:
    """The games of a match and A's score."""

    games: list[MatchGame] = field(default_factory=list)

    @property
    def wins(self) -> int:
        """Games A won."""
        return sum(game.score == 1.0 for game in self.games)

    @property
    def draws(self) -> int:
        """Games drawn."""
        return sum(game.score == 0.5 for game in self.games)

    @property
    def losses(self) -> int:
        """Games A lost."""
        return sum(game.score == 0.0 for game in self.games)

    @property
    def time_losses(self) -> tuple[int, int]:
        """Games that A and B lost on time."""
        scores = [game.score for game in self.games if game.lost_on_time]
        return scores.count(0.0), scores.count(1.0)

    @property
    def adjudicated(self) -> int:
        """Games whose result tablebases gave."""
        return sum(game.adjudicated for game in self.games)

    @property
    def score(self) -> float:
        """A's share of the points, [0, 1]; 0.5 with no game."""
        return (self.wins + 0.5 * self.draws) / len(self.games) if self.games else 0.5

    @property
    def pairs(self) -> PairStatistics:
        """Score and Elo difference from the complete pairs."""
        return PairStatistics.of(self.pair_scores)

    @property
    def pair_scores(self) -> list[float]:
        """A's score in each complete pair, [0, 1]."""
        return list(self._pair_scores().values())

    @property
    def leading_scores(self) -> list[float]:
        """A's score in each pair before the first incomplete one, [0, 1].

        Won games tend to end before drawn ones, so of concurrent games the first to end are a biased sample.
        """
        scores = self._pair_scores()
        return [scores[n] for n in takewhile(scores.__contains__, count())]

    def _pair_scores(self) -> dict[int, float]:
        scores_of: dict[int, list[float]] = {}
        for game in self.games:
            scores_of.setdefault(game.pair, []).append(game.score)
        return {pair: sum(scores) / 2 for pair, scores in scores_of.items() if len(scores) == 2}

    @property
    def repeated_pairs(self) -> int:
        """Complete pairs that are the same, move for move, as another one; they say nothing new."""
        games_of: dict[int, list[Any]] = {}
        for each in sorted(self.games, key=lambda game: game.a_black):
            games_of.setdefault(each.pair, []).append(
                (each.game.positions[0], tuple(map(str, each.game.moves)))
            )
        pairs = [tuple(games) for games in games_of.values() if len(games) == 2]
        return len(pairs) - len(set(pairs))

    def summary(self) -> dict[str, Any]:
        """Return the result as plain numbers: `games`, `wins`, `draws`, `losses`, `score`."""
        return {
            "games": len(self.games),
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.score,
        }


def play_match(
    a: Player,
    b: Player,
    openings: Sequence[Any],
    *,
    spec: GameSpec = DEFAULT_GAME,
    max_plies: int = 300,
    adjudicate: int = 0,
    time_margin: float = TIME_MARGIN,
    threads: int = 2,
    in_flight: int = 512,
    seed: int = 0,
    done: Sequence[MatchGame] = (),
    pairs: Sequence[int] | None = None,
    on_game: Callable[[MatchGame], None] | None = None,
    stop: threading.Event | None = None,
) -> MatchResult:
    """Play every opening twice, A with Black and A with White.

    Args:
        a: the first player.
        b: the second player.
        openings: start positions.
        spec: the game.
        max_plies: longer games count as draws.
        adjudicate: the tablebases of as many pieces end a game with its true result as soon as they have
            its position, without regard to draws by count; 0: none do.
        time_margin: seconds by which a clock may be overstepped before the game is lost on time.
        threads: most threads.
        in_flight: most games at once in all threads; one per thread if a player plays by time.
        seed: seed of the players' random choices; each game has a stream of its own.
        done: finished games of this match, not played again.
        pairs: indices of the openings to play; None: all.
        on_game: called with every finished game, one call at a time.
        stop: set it to end early; unfinished games are dropped. Set before, no game is played.

    Returns:
        All games, including `done`, ordered by opening, A with Black first.

    Raises:
        TableError: the tables have not been built, or their file is damaged.
        IllegalActionError: a player chose an action that is not legal.
        Exception: the error of a player, after all threads have ended.
    """
    tables = Tables.open(adjudicate) if adjudicate else None
    result = MatchResult(list(done))
    lock = threading.Lock()
    stop = stop or threading.Event()
    played = {(game.pair, game.a_black) for game in done}
    chosen = range(len(openings)) if pairs is None else pairs
    pairings = [(pair, a_black) for pair in chosen for a_black in (True, False)]
    pairings = [pairing for pairing in pairings if pairing not in played and not stop.is_set()]
    threads = max(1, min(threads, in_flight))
    # Both games of a pair go to the same thread, so that A is to move in half of its games.
    parts = [[pairing for pairing in pairings if pairing[0] % threads == i] for i in range(threads)]
    boards = 1 if a.timed or b.timed else max(1, in_flight // threads)

    def finish(game: MatchGame) -> None:
        with lock:
            result.games.append(game)
            if on_game:
                on_game(game)

    def work(mine: list[tuple[int, bool]]) -> None:
        games = deque(
            MatchGame(pair, a_black, spec.game(openings[pair]), None, seed_stream(seed, pair, a_black))
            for pair, a_black in mine
        )

        def ended(game: MatchGame) -> MatchGame | None:
            return _ended(game, max_plies, tables, spec)

        _play_games((a, b), games, min(boards, len(mine)), ended, time_margin, finish, stop)

    run_all([partial(work, part) for part in parts if part], stop, name="match")
    result.games.sort(key=game_order)
    return result


def _play_games(
    players: tuple[Player, Player],
    waiting: deque[MatchGame],
    boards: int,
    ended_of: Callable[[MatchGame], MatchGame | None],
    time_margin: float,
    on_game: Callable[[MatchGame], None],
    stop: threading.Event,
) -> None:
    """Play games on `boards` boards; when one ends, the next starts."""
    use_one_torch_thread()
    sides: list[Side] = []
    try:
        sides += [player.sit(boards) for player in players]
        active: dict[int, MatchGame] = {}
        hops: list[list[int]] = [[] for _ in range(boards)]
        clocks: list[list[Clock | None]] = [[None] * boards for _ in players]

        def begin(board: int) -> None:
            active.pop(board, None)
            if waiting:
                active[board] = game = waiting.popleft()
                for player, side, mine in zip(players, sides, clocks, strict=True):
                    mine[board] = None if player.control is None else Clock(player.control)
                    side.start(board, game.game.position, game.stream, mine[board])

        def end(board: int, game: MatchGame) -> None:
            hops[board] = []
            on_game(game)
            begin(board)

        def apply(number: int, board: int, action: int) -> None:
            """Play an action of player `number`, or end the game."""
            clock, game = clocks[number][board], active[board]
            late = clock is not None and clock.left < -time_margin
            if late or action == RESIGN:
                winner = "white" if game.game.position.black else "black"
                reason = ClockReason.TIME if late else MatchReason.RESIGNED
                end(board, replace(game, outcome=Outcome(winner, reason)))
                return
            hops[board].append(action)
            complete = _push("AB"[number], game, hops[board])
            for side in sides:
                side.play(board, action)
            if complete:
                hops[board] = []
                if clock is not None:
                    clock.press()
                if (ended := ended_of(game)) is not None:
                    end(board, ended)

        for board in range(boards):
            begin(board)
        while active and not stop.is_set():
            for number, side in enumerate(sides):
                mine = [
                    board
                    for board, game in sorted(active.items())
                    if (game.game.position.black == game.a_black) == (number == 0)
                ]
                running = [clock for board in mine if (clock := clocks[number][board]) is not None]
                for clock in running:
                    clock.start()
                actions = side.actions(mine) if mine else []
                for clock in running:
                    clock.stop()
                for board, action in zip(mine, actions, strict=True):
                    apply(number, board, action)
    finally:
        for side in sides:
            side.close()


def _push(player: str, game: MatchGame, hops: list[int]) -> bool:
    """Play a move once its hops are complete; return whether they are.

    Raises:
        IllegalActionError: no legal move begins with these hops of a player.
    """
    begun = tuple(hops)
    legal = {tuple(move.actions): move for move in game.game.position.legal_moves()}
    if not any(actions[: len(hops)] == begun for actions in legal):
        allowed = sorted(
            {actions[len(hops) - 1] for actions in legal if actions[: len(hops) - 1] == begun[:-1]}
        )
        raise IllegalActionError(
            f"player {player}, opening {game.pair + 1}, ply {len(game.game.moves) + 1}: expected one of the "
            f"actions {', '.join(map(str, allowed))}, found {hops[-1]}"
        )
    if begun in legal:
        game.game.push(legal[begun])
    return begun in legal


def _ended(game: MatchGame, max_plies: int, tables: Tables | None, spec: GameSpec) -> MatchGame | None:
    """Return the game with its outcome if it has ended, otherwise None."""
    outcome = game.game.outcome()
    if outcome is None and tables is not None:
        outcome = _adjudicate(game.game.position, tables, spec)
    if outcome is None and len(game.game.moves) < max_plies:
        return None
    return replace(game, outcome=outcome)


def _adjudicate(position: Any, tables: Tables, spec: GameSpec) -> Outcome | None:
    """Return the outcome that tables give a position; None where they do not have it."""
    black_result = int(spec.table_results(np.array([spec.state(position)], np.int64), tables)[0])
    if black_result == NOT_IN_TABLES:
        return None
    winner = {1: "black", 0: None, -1: "white"}[black_result]
    return Outcome(winner, MatchReason.ADJUDICATED)
