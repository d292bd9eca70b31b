"""Matches: two players, the same openings with colours exchanged."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from typing import Any

from ckai.game import Outcome
from ckai.models.inference.devices import use_one_torch_thread
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import PairStatistics
from ckai.rl.matches.players import Player, Side
from ckai.rl.search.threads import run_all


@dataclass(frozen=True)
class MatchGame:
    """One game of a match."""

    pair: int
    """Number of the opening."""
    a_black: bool
    """Whether A held Black."""
    game: Any
    """As `GameSpec.game` has it."""
    outcome: Outcome | None
    """None: stopped by the length limit, counted as a draw."""
    stream: int = 0
    """First state of what is random in the players."""

    @property
    def score(self) -> float:
        """For A: 1, 0.5 or 0."""
        if self.outcome is None or self.outcome.winner is None:
            return 0.5
        return 1.0 if (self.outcome.winner == "black") == self.a_black else 0.0


@dataclass
class MatchResult:
    """All games of a match, from A's side."""

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
    def score(self) -> float:
        """A's share of the points, [0, 1]; 0.5 with no game."""
        return (self.wins + 0.5 * self.draws) / len(self.games) if self.games else 0.5

    @property
    def pairs(self) -> PairStatistics:
        """What the openings played with both colours say."""
        return PairStatistics.of(self.pair_scores)

    @property
    def pair_scores(self) -> list[float]:
        """A's score in each complete pair, [0, 1]."""
        return list(self._pair_scores().values())

    @property
    def leading_pairs(self) -> PairStatistics:
        """The same of the pairs before the first that is not complete.

        Games that are won end sooner than drawn ones: of games played side by side, those that ended first
        are no fair sample.
        """
        scores = self._pair_scores()
        return PairStatistics.of([scores[n] for n in takewhile(scores.__contains__, count())])

    def _pair_scores(self) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for game in self.games:
            found.setdefault(game.pair, []).append(game.score)
        return {pair: sum(scores) / 2 for pair, scores in found.items() if len(scores) == 2}

    def summary(self) -> dict[str, Any]:
        """The result as plain numbers."""
        return {
            "games": len(self.games),
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.score,
        }


def to_plain(games: Sequence[MatchGame]) -> list[dict[str, Any]]:
    """Games as plain data, to be read again by `from_plain`."""
    return [
        {"pair": g.pair, "a_black": g.a_black, "moves": [str(move) for move in g.game.moves]} for g in games
    ]


def from_plain(
    data: Sequence[dict[str, Any]], openings: Sequence[Any], spec: GameSpec = DEFAULT_GAME
) -> list[MatchGame]:
    """The games of `to_plain`, which began from these openings.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the data are not of such games.
    """
    games = []
    for each in data:
        game = spec.game(openings[each["pair"]])
        for move in each["moves"]:
            game.push(move)
        games.append(MatchGame(each["pair"], each["a_black"], game, game.outcome()))
    return games


def play_match(
    a: Player,
    b: Player,
    openings: Sequence[Any],
    *,
    spec: GameSpec = DEFAULT_GAME,
    max_plies: int = 300,
    threads: int = 2,
    in_flight: int = 512,
    seed: int = 0,
    done: Sequence[MatchGame] = (),
    on_game: Callable[[MatchGame], None] | None = None,
    stop: threading.Event | None = None,
) -> MatchResult:
    """Play every opening twice, A with Black and A with White.

    Args:
        a, b: the players.
        openings: first positions.
        spec: the game that both play.
        max_plies: a longer game counts as a draw.
        threads: the games are dealt to as many threads.
        in_flight: games at once in all threads; one a thread where a player plays by the clock.
        seed: of what is random in the players; a game's part of it follows from its opening and colours.
        done: games played before; they are not played again.
        on_game: is told of every game that ends now, one call at a time.
        stop: set it to end early; games under way are dropped.

    Returns:
        All games, those done before too, ordered by opening, A with Black first.

    Raises:
        Whatever a player raises, once all threads have ended.
    """
    result = MatchResult(list(done))
    lock = threading.Lock()
    errors: list[BaseException] = []
    stop = stop or threading.Event()
    played = {(game.pair, game.a_black) for game in done}
    seats = [(pair, a_black) for pair in range(len(openings)) for a_black in (True, False)]
    seats = [seat for seat in seats if seat not in played]
    # Both games of a pair go to the same thread: half of its games have A to move at any time.
    parts = [[seat for seat in seats if seat[0] % threads == i] for i in range(threads)]
    boards = 1 if a.in_turn or b.in_turn else max(1, in_flight // threads)

    def take(game: MatchGame) -> None:
        with lock:
            result.games.append(game)
            if on_game:
                on_game(game)

    def work(mine: list[tuple[int, bool]]) -> None:
        try:
            games = deque(
                MatchGame(pair, a_black, spec.game(openings[pair]), None, seed_stream(seed, pair, a_black))
                for pair, a_black in mine
            )
            _play_seats((a, b), games, min(boards, len(mine)), max_plies, take, stop)
        except BaseException as error:
            errors.append(error)
            stop.set()

    workers = [threading.Thread(target=work, args=(part,)) for part in parts if part]
    run_all(workers, stop)
    if errors:
        raise errors[0]
    result.games.sort(key=lambda game: (game.pair, not game.a_black))
    return result


def _play_seats(
    players: tuple[Player, Player],
    waiting: deque[MatchGame],
    boards: int,
    max_plies: int,
    take: Callable[[MatchGame], None],
    stop: threading.Event,
) -> None:
    """Play games at so many boards; where one ends the next begins."""
    use_one_torch_thread()
    sides: list[Side] = []
    try:
        sides += [player.sit(boards) for player in players]
        under_way: dict[int, MatchGame] = {}
        hops: list[list[int]] = [[] for _ in range(boards)]

        def begin(board: int) -> None:
            under_way.pop(board, None)
            if waiting:
                under_way[board] = game = waiting.popleft()
                for side in sides:
                    side.start(board, game.game.position, game.stream)

        for board in range(boards):
            begin(board)
        while under_way and not stop.is_set():
            for number, side in enumerate(sides):
                mine = [
                    board
                    for board, each in sorted(under_way.items())
                    if (each.game.position.black == each.a_black) == (number == 0)
                ]
                for board, action in zip(mine, side.actions(mine) if mine else [], strict=True):
                    for each in sides:
                        each.play(board, action)
                    hops[board].append(action)
                    if _push(under_way[board], hops[board]):
                        hops[board] = []
                        ended = _ended(under_way[board], max_plies)
                        if ended is not None:
                            take(ended)
                            begin(board)
    finally:
        for side in sides:
            side.close()


def _push(seat: MatchGame, hops: list[int]) -> bool:
    """Play a move once all its hops are there."""
    whole = seat.game.position.move_of(hops)
    if whole is not None:
        seat.game.push(whole)
    return whole is not None


def _ended(seat: MatchGame, max_plies: int) -> MatchGame | None:
    """A game that is over, with its outcome."""
    outcome = seat.game.outcome()
    if outcome is None and len(seat.game.moves) < max_plies:
        return None
    return replace(seat, outcome=outcome)
