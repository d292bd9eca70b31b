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
from ckai.rl.players.program import Fault, ProgramError
from ckai.rl.search.threads import run_all

MAX_FAULTS = 3
"""Games in a row lost by a `Fault` of a program after which it forfeits the rest of a match."""
INTERRUPT_SECONDS = 0.5
"""Time for the signal that ended a program, such as Ctrl-C in a terminal, to end the match as well."""


class MatchReason(StrEnum):
    """Why a game is over, for an `Outcome`, where neither its rules, a clock nor a `Fault` ended it."""

    RESIGNED = "resignation"
    ADJUDICATED = ADJUDICATED
    LENGTH = "limit of plies"
    """Drawn, see `play_match`."""
    FORFEIT = "forfeit"
    """Not played: lost by a program after `MAX_FAULTS`."""


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
    """None while it is played."""
    stream: int = 0
    """Seed of the players' random choices."""

    @property
    def reason(self) -> StrEnum | None:
        """Why it is over: of its rules, or a `MatchReason`, `ClockReason` or `Fault`."""
        return None if self.outcome is None else self.outcome.reason

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
    """The games of a match and A's score in its complete pairs, on which all figures rest."""

    games: list[MatchGame] = field(default_factory=list)

    @property
    def paired(self) -> list[MatchGame]:
        """The games of complete pairs."""
        games = {(game.pair, game.a_black) for game in self.games}
        return [game for game in self.games if (game.pair, not game.a_black) in games]

    @property
    def wins(self) -> int:
        """Games A won."""
        return sum(game.score == 1.0 for game in self.paired)

    @property
    def draws(self) -> int:
        """Games drawn."""
        return sum(game.score == 0.5 for game in self.paired)

    @property
    def losses(self) -> int:
        """Games A lost."""
        return sum(game.score == 0.0 for game in self.paired)

    def lost_by(self, *reasons: StrEnum) -> tuple[int, int]:
        """Return how many of all games A and B lost for one of these reasons."""
        scores = [game.score for game in self.games if game.reason in reasons]
        return scores.count(0.0), scores.count(1.0)

    def ended_by(self, reason: StrEnum) -> int:
        """Return how many of all games ended for a reason."""
        return sum(game.reason == reason for game in self.games)

    @property
    def score(self) -> float:
        """A's share of the points, [0, 1]; 0.5 with no pair."""
        return self.pairs.score

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
            "games": len(self.paired),
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
        max_plies: a game of as many is drawn.
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
        All games, including `done`, ordered by opening, A with Black first. A program that crashes, times out
        or violates its protocol has lost that game and is started again, but see `MAX_FAULTS`.

    Raises:
        ProgramError: a program could not be started for its first game.
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
    faults = [0, 0]

    def finish(game: MatchGame) -> None:
        with lock:
            for number, lost in enumerate((0.0, 1.0)):
                if isinstance(game.reason, Fault) and game.score == lost:
                    faults[number] += 1
                elif game.reason != MatchReason.FORFEIT:
                    faults[number] = 0
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

        _play_games((a, b), games, min(boards, len(mine)), ended, time_margin, faults, finish, stop)

    run_all([partial(work, part) for part in parts if part], stop, name="match")
    result.games.sort(key=game_order)
    return result


def _play_games(
    players: tuple[Player, Player],
    waiting: deque[MatchGame],
    boards: int,
    ended_of: Callable[[MatchGame], MatchGame | None],
    time_margin: float,
    faults: Sequence[int],
    on_game: Callable[[MatchGame], None],
    stop: threading.Event,
) -> None:
    """Play games on `boards` boards; when one ends, the next starts."""
    use_one_torch_thread()
    sides: dict[int, Side] = {}
    try:
        for each, player in enumerate(players):
            sides[each] = player.sit(boards)
        active: dict[int, MatchGame] = {}
        hops: list[list[int]] = [[] for _ in range(boards)]
        clocks: list[list[Clock | None]] = [[None] * boards for _ in players]

        def begin(board: int) -> None:
            """Start the next game that no program loses at once."""
            active.pop(board, None)
            while waiting and not stop.is_set():
                game = waiting.popleft()
                if all(seat(number, board, game) for number in range(2)):
                    active[board] = game
                    return

        def seat(number: int, board: int, game: MatchGame) -> bool:
            """Start a game for a player, and its program if it has none; False if it loses at once."""
            player, mine = players[number], clocks[number]
            if faults[number] >= MAX_FAULTS:
                on_game(_lost(game, number, MatchReason.FORFEIT))
                return False
            mine[board] = None if player.control is None else Clock(player.control)
            try:
                if number not in sides:
                    sides[number] = player.sit(boards)
                sides[number].start(board, game.game.position, game.stream, mine[board])
            except ProgramError as error:
                fail(number, {board: game}, error)
                return False
            return True

        def end(board: int, game: MatchGame) -> None:
            hops[board] = []
            on_game(game)
            begin(board)

        def fail(number: int, games: dict[int, MatchGame], error: ProgramError) -> None:
            """Let the program of a player lose these games; it is started again for its next one."""
            if stop.wait(INTERRUPT_SECONDS):
                return
            if number in sides:
                sides.pop(number).close()
            for board, game in games.items():
                hops[board] = []
                on_game(_lost(game, number, error.fault, str(error)))

        def dismiss(number: int, error: ProgramError) -> None:
            """Let the program of a player lose all games that it plays, and start others."""
            games = dict(active)
            fail(number, games, error)
            for board in games:
                begin(board)

        def apply(number: int, board: int, action: int) -> None:
            """Play an action of player `number`, or end the game."""
            clock, game = clocks[number][board], active[board]
            late = clock is not None and clock.left < -time_margin
            if late or action == RESIGN:
                end(board, _lost(game, number, ClockReason.TIME if late else MatchReason.RESIGNED))
                return
            hops[board].append(action)
            if _push("AB"[number], game, hops[board]):
                hops[board] = []
                if clock is not None:
                    clock.press()
                if (ended := ended_of(game)) is not None:
                    end(board, ended)
                    return
            for each, side in sides.items():
                try:
                    side.play(board, action)
                except ProgramError as error:
                    dismiss(each, error)
                    return

        for board in range(boards):
            begin(board)
        while active and not stop.is_set():
            for number in range(2):
                mine = {
                    board: game
                    for board, game in sorted(active.items())
                    if (game.game.position.black == game.a_black) == (number == 0)
                }
                if not mine:
                    continue
                running = [clock for board in mine if (clock := clocks[number][board]) is not None]
                for clock in running:
                    clock.start()
                try:
                    actions = sides[number].actions(list(mine))
                except ProgramError as error:
                    dismiss(number, error)
                    continue
                for clock in running:
                    clock.stop()
                for (board, game), action in zip(mine.items(), actions, strict=True):
                    if active.get(board) is game:  # no program of this player has failed since
                        apply(number, board, action)
    finally:
        for side in sides.values():
            side.close()


def _lost(game: MatchGame, number: int, reason: StrEnum, detail: str = "") -> MatchGame:
    """Return a game that player `number` has lost."""
    winner = "white" if game.a_black == (number == 0) else "black"
    return replace(game, outcome=Outcome(winner, reason, detail))


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
    if outcome is None and len(game.game.moves) >= max_plies:
        outcome = Outcome(None, MatchReason.LENGTH)
    return None if outcome is None else replace(game, outcome=outcome)


def _adjudicate(position: Any, tables: Tables, spec: GameSpec) -> Outcome | None:
    """Return the outcome that tables give a position; None where they do not have it."""
    black_result = int(spec.table_results(np.array([spec.state(position)], np.int64), tables)[0])
    if black_result == NOT_IN_TABLES:
        return None
    winner = {1: "black", 0: None, -1: "white"}[black_result]
    return Outcome(winner, MatchReason.ADJUDICATED)
