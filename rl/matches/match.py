"""Matches between two engines, each opening with both colours; their games as PDN, to continue a match."""

import errno
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from ckai.datasets.split import seed_stream
from ckai.game import Outcome, Reason
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import run_all, use_one_torch_thread
from ckai.rl.engine.base import Engine, ResignsError
from ckai.rl.engine.limit import Clock, Limit
from ckai.rl.engine.program import Fault, ProgramEngine, ProgramError
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec, parse_games
from ckai.rl.matches.elo import PairStatistics

TIME_MARGIN = 0.05
"""Seconds by which a clock may be overstepped: a busy machine is no fault of the player."""
FORCED = Limit(seconds=0.01)
"""Limit of the only legal move, of an engine of ckai that plays by time."""
INTERRUPT_SECONDS = 0.5
"""Time for the signal that ended a program, such as Ctrl-C in a terminal, to end the match as well."""
_REASONS = {str(each): each for each in (Reason.TIME, Reason.RESIGNED, Reason.LENGTH, *Fault)}
"""Termination tag -> why a game is over, where its moves do not say it."""


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
        """Why it is over: of its rules, a `Reason`, or a `Fault`."""
        return None if self.outcome is None else self.outcome.reason

    @property
    def score(self) -> float:
        """A's score: 1, 0.5 or 0."""
        if self.outcome is None or self.outcome.winner is None:
            return 0.5
        return 1.0 if (self.outcome.winner == "black") == self.a_black else 0.0


@dataclass
class MatchResult:
    """The games of a match and A's score in its complete pairs, on which all figures rest."""

    games: list[MatchGame] = field(default_factory=list)

    @property
    def _complete(self) -> dict[int, list[MatchGame]]:
        """The two games of each complete pair by its opening, A with Black first."""
        pairs: dict[int, list[MatchGame]] = {}
        for game in sorted(self.games, key=lambda game: not game.a_black):
            pairs.setdefault(game.pair, []).append(game)
        return {pair: games for pair, games in pairs.items() if len(games) == 2}

    @property
    def paired(self) -> list[MatchGame]:
        """The games of complete pairs."""
        return [game for games in self._complete.values() for game in games]

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

    @property
    def pairs(self) -> PairStatistics:
        """Score and Elo difference from the complete pairs."""
        return PairStatistics.of(self.pair_scores)

    @property
    def pair_scores(self) -> list[float]:
        """A's score in each complete pair, [0, 1]."""
        return [(one.score + two.score) / 2 for one, two in self._complete.values()]

    @property
    def leading_scores(self) -> list[float]:
        """A's score in each pair before the first incomplete one, [0, 1].

        Won games tend to end before drawn ones, so of concurrent games the first to end are a biased sample.
        """
        scores = dict(zip(self._complete, self.pair_scores, strict=True))
        return [scores[n] for n in takewhile(scores.__contains__, count())]

    def summary(self) -> dict[str, Any]:
        """Return the result as plain numbers: `games`, `wins`, `draws`, `losses`, `score`."""
        counts = {"wins": self.wins, "draws": self.draws, "losses": self.losses}
        return {"games": len(self.paired), **counts, "score": self.pairs.score}


def play_match(
    a: Engine,
    b: Engine,
    openings: Sequence[Any],
    *,
    spec: GameSpec = DEFAULT_GAME,
    max_plies: int = 300,
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
        a, b: the engines, with their limits. Their twins play, one of each in each thread.
        openings: start positions.
        spec: the game.
        max_plies: a game of as many is drawn.
        threads: most threads; two where the networks are on a GPU.
        in_flight: most games at once in all threads; one per thread if an engine plays by time.
        seed: of the engines' random choices; each game has a stream of its own.
        done: finished games of this match, not played again.
        pairs: indices of the openings to play; None: all.
        on_game: called with every finished game, one call at a time.
        stop: set it to end early; unfinished games are dropped. Set before, no game is played.

    Returns:
        All games, including `done`, ordered by opening, A with Black first. A program that crashes, times out
        or violates its protocol has lost that game and is started again.

    Raises:
        ProgramError: a program could not be started for its first game.
        RuntimeError: an engine chose a move that is not legal.
        Exception: the error of an engine, after all threads have ended.
    """
    result = MatchResult(list(done))
    lock = threading.Lock()
    stop = stop or threading.Event()
    played = {(game.pair, game.a_black) for game in done}
    chosen = range(len(openings)) if pairs is None else pairs
    pairings = [(pair, a_black) for pair in chosen for a_black in (True, False)]
    pairings = [pairing for pairing in pairings if pairing not in played and not stop.is_set()]
    by_time = a.by_time or b.by_time
    if not by_time and any(_on_gpu(each) for each in (a, b)):
        threads = min(threads, 2)  # a GPU is faster with the few large batches of few threads
    threads = max(1, min(threads, in_flight))
    # Both games of a pair go to the same thread, so that A is to move in half of its games.
    parts = [[pairing for pairing in pairings if pairing[0] % threads == i] for i in range(threads)]
    boards = 1 if by_time else max(1, in_flight // threads)

    def finish(game: MatchGame) -> None:
        with lock:
            result.games.append(game)
            if on_game:
                on_game(game)

    def work(mine: list[tuple[int, bool]]) -> None:
        use_one_torch_thread()
        waiting = deque(
            MatchGame(pair, a_black, spec.game(openings[pair]), None, seed_stream(seed, pair, a_black))
            for pair, a_black in mine
        )
        with a.twin() as first, b.twin() as second:
            _Table((first, second), waiting, finish, stop, max_plies).play(boards)

    run_all([partial(work, part) for part in parts if part], stop, name="match")
    result.games.sort(key=lambda game: (game.pair, not game.a_black))
    return result


@dataclass
class _Table:
    """The games of one thread: when one ends, the next begins."""

    engines: tuple[Engine, Engine]
    waiting: deque[MatchGame]
    on_game: Callable[[MatchGame], None]
    stop: threading.Event
    max_plies: int
    active: dict[int, MatchGame] = field(default_factory=dict)
    """The games by board."""
    clocks: Sequence[Clock | None] = (None, None)
    """Of A and B in the game of the only board, if they have any."""

    def play(self, boards: int) -> None:
        for board in range(boards):
            self._begin(board)
        while self.active and not self.stop.is_set():
            for number in range(2):
                self._move(number)

    def _begin(self, board: int) -> None:
        self.active.pop(board, None)
        if self.waiting and not self.stop.is_set():
            self.active[board] = self.waiting.popleft()
            limits = (each.limit for each in self.engines)
            self.clocks = [Clock(each) if each and each.clock is not None else None for each in limits]

    def _end(self, board: int, outcome: Outcome) -> None:
        game = replace(self.active[board], outcome=outcome)
        for engine in self.engines:
            engine.new_game(game.game)
        self.on_game(game)
        self._begin(board)

    def _lose(self, board: int, reason: StrEnum, detail: str = "") -> None:
        winner = "white" if self.active[board].game.position.black else "black"
        self._end(board, Outcome(winner, reason, detail))

    def _move(self, number: int) -> None:
        """Let engine `number` move on all boards where it is its turn."""
        of = sorted(self.active.items())
        if boards := [n for n, each in of if (each.game.position.black == each.a_black) == (number == 0)]:
            self._move_on(boards, number)

    def _move_on(self, boards: Sequence[int], number: int) -> None:
        engine, clock, limit = self.engines[number], self.clocks[number], None
        mine = [self.active[board] for board in boards]
        games = [each.game for each in mine]
        if clock is not None:
            limit = clock.limit
            clock.start()
        elif engine.by_time and not isinstance(engine, ProgramEngine):
            limit = FORCED if len(games[0].position.legal_moves()) == 1 else None
        seeds = [seed_stream(each.stream, len(each.game.moves)) for each in mine]
        try:
            found = engine.play_many(games, limit, seeds=seeds, lines=0)
        except ResignsError:
            if len(boards) == 1:
                self._lose(boards[0], Reason.RESIGNED)
            else:  # one of them is resigned
                for board in boards:
                    self._move_on([board], number)
            return
        except ProgramError as error:
            if not self.stop.wait(INTERRUPT_SECONDS):
                for board in boards:
                    self._lose(board, error.fault, str(error))
            return
        if clock is not None:
            clock.stop()
        for board, result in zip(boards, found, strict=True):
            if self.stop.is_set():  # by the game before
                return
            self._apply(number, board, result.move)

    def _apply(self, number: int, board: int, move: Any) -> None:
        """Play a move of engine `number`, or end the game."""
        game, clock = self.active[board].game, self.clocks[number]
        if clock is not None and clock.left < -TIME_MARGIN:
            self._lose(board, Reason.TIME)
            return
        if move not in (legal := game.position.legal_moves()):
            raise RuntimeError(
                f"engine {'AB'[number]}, opening {self.active[board].pair + 1}, ply {len(game.moves) + 1}: "
                f"expected one of {' '.join(map(str, legal))}, found {move}"
            )
        game.push(move)
        if clock is not None:
            clock.press()
        outcome = game.outcome()
        if outcome is None and len(game.moves) >= self.max_plies:
            outcome = Outcome(None, Reason.LENGTH)
        if outcome is not None:
            self._end(board, outcome)


def _on_gpu(engine: Engine) -> bool:
    if isinstance(engine.evaluator, IntegerEvaluator | None):
        return False
    from ckai.models.inference.cuda_backend import CudaEvaluator  # PyTorch takes seconds to import

    return isinstance(engine.evaluator, CudaEvaluator)


def match_pdn(result: MatchResult, a: str, b: str, spec: GameSpec) -> str:
    """Return every game of a match as PDN, the players by name."""
    return "".join(match_game_pdn(game, a, b, spec) for game in result.games)


def match_game_pdn(game: MatchGame, a: str, b: str, spec: GameSpec, match: str = "") -> str:
    """Return a game of two players as PDN; `match` identifies their match for `read_match_games`."""
    black, white = (a, b) if game.a_black else (b, a)
    number = f"{game.pair + 1}.{1 if game.a_black else 2}"
    headers = {"Event": f"{a} against {b}", "Round": number, "Black": black, "White": white}
    if match:
        headers["Match"] = match
    if game.reason in _REASONS.values():
        headers["Termination"] = str(game.reason)
    return spec.to_pdn(game.game, headers, game.outcome.result if game.outcome else "*")


def append_game(path: Path, text: str) -> None:
    """Append a game, as PDN, to a file, which is made if it is missing: whole, or an OSError says why not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+", buffering=0) as file:
        begun = file.seek(0, os.SEEK_END)
        file.seek(max(0, begun - 2))
        apart = not begun or file.read() == b"\n\n"
        data = text.encode() if apart else b"\n\n" + text.encode()
        if file.write(data) < len(data):  # a full disk
            file.truncate(begun)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def read_match_games(path: Path, openings: Sequence[Any], spec: GameSpec, match: str = "") -> list[MatchGame]:
    """Read the games of a match from a file, if there is one, each once, without one that is cut off.

    Args:
        path: the file; it may have games of other matches.
        openings: of the match; games from later ones are left out.
        spec, match: see `match_game_pdn`.

    Raises:
        ValueError: a game of the match is damaged.
    """
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    games: dict[tuple[int, bool], MatchGame] = {}
    for tags, words in parse_games(text):
        if tags.get("Match", "") != match or words[-1:] != [tags.get("Result")]:
            continue
        try:
            number, half = tags["Round"].split(".")
            pair, a_black = int(number) - 1, half == "1"
            if pair < len(openings):
                game = spec.game(openings[pair])
                for word in words[:-1]:
                    game.push(word)
                games[pair, a_black] = MatchGame(pair, a_black, game, _outcome(game, tags))
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"{path}: expected the games of this match, found a damaged one, of round "
                f"{tags.get('Round')} ({error}); remove it"
            ) from error
    return list(games.values())


def _outcome(game: Any, tags: dict[str, str]) -> Outcome | None:
    """Return how a game ended; what the rules do not say is in its tags."""
    if "Termination" not in tags:
        outcome: Outcome | None = game.outcome()
        return outcome
    winner = {"1-0": "black", "0-1": "white"}.get(tags["Result"])
    return Outcome(winner, _REASONS[tags["Termination"]])
