"""Strength of a network by time limit and backend, from matches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ckai.datasets.machine import available_cores
from ckai.models.inference.backends import make_evaluator
from ckai.models.inference.evaluator import BackendError
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.layers.network import Network
from ckai.rl.bench.rules import Measure
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.ratings import ratings
from ckai.rl.players.alphabeta import NetworkAlphaBetaPlayer
from ckai.rl.players.player import Player
from ckai.rl.players.search import SearchPlayer

ALPHA_BETA = "alphabeta"
"""Stands beside the backends of an integer network: alpha-beta with that network."""
PLIES = 60
"""Plies of a game that are searched, to estimate the time of matches."""


@dataclass(frozen=True)
class Contender:
    """A player of the matches."""

    backend: str
    """A backend, or `ALPHA_BETA`."""
    seconds: float
    """Time per move."""

    def __str__(self) -> str:
        return f"{self.backend}, {self.seconds * 1000:g} ms"


def matches(backends: Sequence[str], limits: Sequence[float]) -> list[tuple[Contender, Contender]]:
    """Return the matches that join all contenders, the shortest first.

    The first backend plays itself at the next shorter limit; the others play it at the same limit.

    Args:
        backends: names, the first one the yardstick.
        limits: seconds per move.
    """
    pairs = []
    shorter = None
    for limit in sorted(set(limits)):
        first = Contender(backends[0], limit)
        if shorter is not None:
            pairs.append((first, shorter))
        pairs += [(Contender(backend, limit), first) for backend in backends[1:]]
        shorter = first
    return pairs


def match_seconds(pairs: Sequence[tuple[Contender, Contender]], games: int, threads: int) -> float:
    """Estimate the seconds that matches take.

    Args:
        pairs: the players.
        games: games of each match.
        threads: games at once.
    """
    return sum((a.seconds + b.seconds) / 2 * PLIES * games / min(threads, games) for a, b in pairs)


def available(network: Network, backends: Sequence[str]) -> list[str]:
    """Return the backends that run a network on this machine, with `ALPHA_BETA` if it has integers.

    Where a network has integers, its other backends are left out: nobody plays with them.
    """
    if "integers" in backends:
        try:
            make_evaluator(network, "integers").close()
            return ["integers", ALPHA_BETA]
        except BackendError:
            pass
    usable = []
    for backend in backends:
        try:
            make_evaluator(network, backend).close()
        except BackendError:
            continue
        usable.append(backend)
    return usable


def bench_strength(
    network: Network,
    backends: Sequence[str],
    limits: Sequence[float],
    games: int,
    *,
    say: Callable[[str], None],
) -> Iterator[Measure]:
    """Play matches and rate every backend at every time limit.

    Args:
        network: a network for checkers.
        backends: see `available`.
        limits: seconds per move.
        games: games of each match, an even number: every opening is played with both colours.
        say: called with a line before each match and with its result.

    Yields:
        The Elo of each contender with the ends of its 95 % interval as least and most; the first backend at
        the shortest limit has 0. The intervals are those of its rating among all contenders.
    """
    threads = available_cores()
    pairs = matches(backends, limits)
    contenders = list(dict.fromkeys(contender for pair in pairs for contender in reversed(pair)))
    openings = draw_openings(games // 2, seed=0)
    names = dict.fromkeys("integers" if backend == ALPHA_BETA else backend for backend in backends)
    evaluators = {name: make_evaluator(network, name, threads) for name in names}

    def player(contender: Contender) -> Player:
        if contender.backend != ALPHA_BETA:
            return SearchPlayer(evaluators[contender.backend], 1, seconds=contender.seconds)
        evaluator = evaluators["integers"]
        assert isinstance(evaluator, IntegerEvaluator)
        return NetworkAlphaBetaPlayer(evaluator, contender.seconds)

    try:
        scores = {}
        for number, (a, b) in enumerate(pairs):
            say(f"match {number + 1} of {len(pairs)}: {a} against {b} ...")
            result = play_match(player(a), player(b), openings, threads=threads, seed=number)
            say(f"  +{result.wins} ={result.draws} -{result.losses}, {result.pairs}")
            i, j = contenders.index(a), contenders.index(b)
            points = result.pair_scores
            scores[min(i, j), max(i, j)] = points if i < j else [1 - point for point in points]
    finally:
        for evaluator in evaluators.values():
            evaluator.close()
    rated = ratings(len(contenders), scores)
    zero = rated[0].elo
    for contender, rating in sorted(
        zip(contenders, rated, strict=True),
        key=lambda pair: (pair[0].seconds, backends.index(pair[0].backend)),
    ):
        yield Measure(
            str(contender), "Elo", rating.elo - zero, rating.low - zero, rating.high - zero, rating.games
        )
