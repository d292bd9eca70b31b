"""Matches: two players, the same openings with colours exchanged."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ckai.game import Game, Outcome, Position
from ckai.rl.checkers import pack
from ckai.rl.players import Player


@dataclass(frozen=True)
class MatchGame:
    """One game of a match."""

    pair: int
    """Number of the opening."""
    a_black: bool
    """Whether A held Black."""
    game: Game
    outcome: Outcome | None
    """None: stopped by the length limit, counted as a draw."""

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


def from_plain(data: Sequence[dict[str, Any]], openings: Sequence[Position]) -> list[MatchGame]:
    """The games of `to_plain`, which began from these openings.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the data are not of such games.
    """
    games = []
    for each in data:
        game = Game(openings[each["pair"]])
        for move in each["moves"]:
            game.push(move)
        games.append(MatchGame(each["pair"], each["a_black"], game, game.outcome()))
    return games


def random_openings(count: int, plies: int, seed: int) -> list[Position]:
    """`count` positions after `plies` random moves, all different while there are that many.

    Draws are made with a seed; games that end on the way are not used.
    """
    rng = np.random.default_rng(seed)
    found: dict[tuple[int, int, int, bool, int], Position] = {}
    extra: list[Position] = []
    for _ in range(200 * count):
        position = Position.start()
        for _ in range(plies):
            moves = position.legal_moves()
            if not moves:
                break
            position = position.push(moves[rng.integers(len(moves))])
        if position.legal_moves():
            if position.key in found:
                extra.append(position)
            found.setdefault(position.key, position)
        if len(found) == count:
            break
    return (list(found.values()) + extra)[:count]


def play_match(
    a: Player,
    b: Player,
    openings: list[Position],
    *,
    max_plies: int = 300,
    threads: int = 2,
    done: Sequence[MatchGame] = (),
    on_game: Callable[[MatchGame], None] | None = None,
) -> MatchResult:
    """Play every opening twice, A with Black and A with White.

    Args:
        a, b: the players.
        openings: first positions.
        max_plies: a longer game counts as a draw.
        threads: the games are dealt to as many threads.
        done: games played before; they are not played again.
        on_game: is told of every game that ends now, one call at a time.

    Returns:
        All games, those done before too, ordered by opening, A with Black first.
    """
    result = MatchResult(list(done))
    lock = threading.Lock()
    errors: list[BaseException] = []
    played = {(game.pair, game.a_black) for game in done}
    seats = [(pair, a_black) for pair in range(len(openings)) for a_black in (True, False)]
    seats = [seat for seat in seats if seat not in played]
    # Both games of a pair go to the same thread: half of its games have A to move at any time.
    parts = [[seat for seat in seats if seat[0] % threads == i] for i in range(threads)]

    def take(game: MatchGame) -> None:
        with lock:
            result.games.append(game)
            if on_game:
                on_game(game)

    def work(mine: list[tuple[int, bool]]) -> None:
        try:
            games = [(pair, a_black, Game(openings[pair])) for pair, a_black in mine]
            _play_seats((a, b), games, max_plies, take)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(part,)) for part in parts if part]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    result.games.sort(key=lambda game: (game.pair, not game.a_black))
    return result


def _play_seats(
    players: tuple[Player, Player],
    seats: list[tuple[int, bool, Game]],
    max_plies: int,
    take: Callable[[MatchGame], None],
) -> None:
    import torch

    torch.set_num_threads(1)
    sides = [player.searcher(len(seats)) for player in players]
    for t, (_, _, game) in enumerate(seats):
        for side in sides:
            side.set_root(t, pack(game.position))
    hops: list[list[int]] = [[] for _ in seats]
    open_games = set(range(len(seats)))
    while open_games:
        for number, side in enumerate(sides):
            mine = [
                t for t in sorted(open_games) if (seats[t][2].position.black == seats[t][1]) == (number == 0)
            ]
            visits = np.zeros(len(seats), np.int32)
            for t in mine:
                visits[t] = 1 if int(side.root(t)["count"]) == 1 else players[number].sims
            side.run(visits)
            for t in mine:
                label = side.best(t)
                for each in sides:
                    each.play(t, label)
                hops[t].append(label)
                pair, a_black, game = seats[t]
                whole = [m for m in game.position.legal_moves() if list(m.labels) == hops[t]]
                if not whole:
                    continue
                game.push(whole[0])
                hops[t] = []
                outcome = game.outcome()
                if outcome is not None or len(game.moves) >= max_plies:
                    take(MatchGame(pair, a_black, game, outcome))
                    open_games.discard(t)
