"""Engines by alpha-beta: with an integer network, the levels of play, on material; and two without search."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Game, Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.base import Engine, Line, SearchResult, StopReason, Task, Value
from ckai.rl.engine.limit import DEFAULT_DEPTH, DEFAULT_SECONDS, OVERHEAD, REVERSED, Limit, Proof
from ckai.rl.evaluators.loading import move_priors
from ckai.rl.games.checkers import VALUES, pack
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

DEEP = 8
"""Plies up to which every move is searched for several lines; beyond, those that are among the best."""
SPARE = 2
"""Moves searched beyond those lines, so that a better one is noticed."""
MAX_DEPTH = 99
"""Of several lines."""
Numbers: TypeAlias = dict[Move, float]
MIN_PRIOR = 1e-6
"""Least prior of a move: smaller ones count as this, so that their logarithm is bounded."""


class AlphaBetaEngine(Engine):
    """Alpha-beta search with an integer network; its table is kept from one search to the next.

    It looks for the best move alone, so several lines are searched one by one, depth by depth.

    Args:
        threads: of a search by time; a twin has one.
        seed: varies the order of moves that are about as good, see `AlphaBetaSearch`; None: it never varies.
    """

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    default_limit = Limit(seconds=DEFAULT_SECONDS)
    evaluator: IntegerEvaluator

    def __init__(
        self,
        evaluator: IntegerEvaluator,
        *,
        tables: Tables | None = None,
        spec: GameSpec = DEFAULT_GAME,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self.evaluator, self.spec, self.name = evaluator, spec, f"alphabeta:{evaluator.name}"
        self._settings: dict[str, Any] = {"game": spec.make_rules(tables), "threads": threads, "seed": seed}
        self._open()

    def _open(self, of: Any = None) -> None:
        alone = {"threads": 1, "seed": None} if of else {}
        self._alpha_beta = AlphaBetaSearch(self.evaluator, **self._settings | alone)
        first = self.spec.state(self.spec.position())
        self._alpha_beta.search(first, [first], depth=1)  # compiles what no limit of time should pay for
        self._alpha_beta.forget()

    def _search(self, task: Task) -> SearchResult:
        lines = min(task.lines, len(task.game.position.legal_moves()))
        return self._search_best(task) if lines <= 1 else self._search_lines(task, lines)

    def _search_lines(self, task: Task, lines: int) -> SearchResult:
        begun, nodes, limit = time.perf_counter(), 0, task.limit
        times, moves = limit.move_time(len(task.game.history), OVERHEAD), task.game.position.legal_moves()
        found: dict[Any, Line] = {}

        def by_value(move: Any) -> float:
            return -float(found[move].value or 0.0) if move in found else -1.0

        def ended() -> StopReason | None:
            if task.stop.is_set():
                return StopReason.STOPPED
            if times is not None and time.perf_counter() - begun >= times.maximum:
                return StopReason.SECONDS
            return StopReason.NODES if limit.nodes is not None and nodes >= limit.nodes else None

        def at(depth: int) -> SearchResult:
            return self._search_best(replace(task, limit=Limit(depth=max(1, depth)), publish=None))

        best = result = at(1)
        for depth in range(1, MAX_DEPTH):
            done, nodes = {best.move: best.lines[0]}, nodes + best.nodes
            others = sorted((move for move in moves if move != best.move), key=by_value)
            for move in others if depth <= DEEP else others[: lines + SPARE - 1]:
                if depth > 1 and (reason := ended()):
                    return replace(result, reason=reason)
                turn = Value.at(task.game.position, 0.0).turn
                task.game.push(move)
                try:
                    if (outcome := task.game.outcome()) is not None:
                        value = 0.0 if outcome.winner is None else 1.0 if outcome.winner == turn else -1.0
                        proof: Proof = "draw" if not value else "win" if value > 0 else "loss"
                        plies = 1 if value else None
                        done[move] = Line(pv=[move], value=Value(value, turn), proven=proof, plies=plies)
                        continue
                    after = at(depth - 1)
                finally:
                    task.game.pop()
                nodes += after.nodes
                done[move] = Line(
                    pv=[move, *after.pv],
                    value=Value(-float(after.value or 0.0), turn),
                    proven=None if after.proven is None else REVERSED[after.proven],
                    plies=None if after.plies is None else after.plies + 1,
                )
            if depth > 1 and task.stop.is_set():
                return replace(result, reason=StopReason.STOPPED)
            found |= done
            shown = [found[best.move], *(found[move] for move in sorted(others, key=by_value)[: lines - 1])]
            seconds = time.perf_counter() - begun
            result = replace(best, lines=shown, seconds=seconds, nodes=nodes, reason=None)
            task.tell(partial(replace, result))
            if reason := StopReason.PROVEN if best.proven else ended():
                return replace(result, reason=reason)
            if depth == limit.depth:
                break
            best = at(depth + 1)
        return replace(result, reason=StopReason.DEPTH)

    def _search_best(self, task: Task) -> SearchResult:
        begun, search, state, limit = time.perf_counter(), self._alpha_beta, self.spec.state, task.limit
        game, stop, clocked = task.game, task.stop, limit.clock is not None
        times, depth = limit.move_time(len(game.history), OVERHEAD), limit.depth
        if clocked and len(game.position.legal_moves()) == 1:
            depth = 1
        if task.seed is not None:
            search.reseed(task.seed)

        def result(found: AlphaBetaResult, reason: StopReason | None = None) -> SearchResult:
            same: dict[str, Any] = {n: getattr(found, n) for n in ("nodes", "depth", "plies")}
            same["proven"] = None if found.plies is None else "win" if found.value > 0 else "loss"
            value, pv = Value.at(game.position, found.value), whole_moves(game.position, found.pv)
            seconds = time.perf_counter() - begun
            return SearchResult(lines=[Line(pv=pv)], value=value, seconds=seconds, reason=reason, **same)

        def on_depth(found: AlphaBetaResult) -> None:
            if stop.is_set():  # maybe before the search had begun
                search.stop()
            task.tell(lambda: result(found))

        stop.attach(search.stop)
        here, *earlier = (state(position) for position in (game.position, *game.history))
        ends: dict[str, Any] = {"depth": depth, "nodes": limit.nodes, "seconds": times and times.maximum}
        ends["soft_seconds"] = times.optimum if times is not None and clocked else None
        found = search.search(here, earlier, on_depth=on_depth, **ends)
        if stop.is_set():
            reason = StopReason.STOPPED
        elif found.plies is not None:
            reason = StopReason.PROVEN
        elif clocked or (times is not None and time.perf_counter() - begun >= times.maximum):
            reason = StopReason.SECONDS
        else:
            reason = StopReason.NODES if depth is None else StopReason.DEPTH
        return result(found, reason)

    def _forget(self, game: Any = None) -> None:
        if game is None:
            self._alpha_beta.forget()


def whole_moves(position: Any, actions: Sequence[int]) -> list[Any]:
    """Return the moves that a line of hops makes from a position, one or more.

    A last capture that is incomplete is left out, but for the first move of the line, which then is the first
    legal move that begins with these hops.
    """
    moves, hops = list[Any](), list[int]()
    for action in actions:
        hops.append(action)
        if (move := position.move_of(hops)) is not None:
            moves.append(move)
            position, hops = position.push(move), []
    return moves or [next(m for m in position.legal_moves() if list(m.actions[: len(hops)]) == hops)]


class RandomEngine(Engine):
    """Plays a random legal move, uniformly distributed."""

    name = "random"

    def __init__(self, spec: GameSpec = DEFAULT_GAME, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.spec = spec
        self._open()

    def _search(self, task: Task) -> Any:
        return task.chance.choice(task.game.position.legal_moves())


class PerfectEngine(RandomEngine):
    """Plays a random one of the best moves, in a game with a solver: the fastest wins, the slowest losses."""

    name = "perfect"

    def _open(self, of: Any = None) -> None:
        assert self.spec.solver is not None
        self._solver = self.spec.solver()

    def _search(self, task: Task) -> Any:
        truths = self._solver.moves(task.game.position)
        best = max(truth.order for truth in truths.values())
        return task.chance.choice([move for move, truth in truths.items() if truth.order == best])


class MaterialEngine(RandomEngine):
    """Alpha-beta search of material to a depth: a simple opponent whose strength is its depth.

    A man is worth 100, a king 130; ties are broken at random. A quiescence search of captures follows at the
    leaves, see `ckai.game.material`.
    """

    name = "alphabeta"
    takes = frozenset(("depth",))
    default_limit = Limit(depth=DEFAULT_DEPTH)

    def _search(self, task: Task) -> Any:
        here, depth, values = task.game.position, (task.limit.depth or DEFAULT_DEPTH) - 1, dict[Move, int]()
        for move in here.legal_moves():
            after, best = here.push(move), max(values.values(), default=-UNBOUNDED)
            numbers = (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth)
            # The window is one below the best, so that ties are exact.
            window = np.int64(-UNBOUNDED), np.int64(-best + 1)
            values[move] = -int(alpha_beta(*map(np.int64, numbers), *window, VALUES))
        best = max(values.values())
        return task.chance.choice([move for move, value in values.items() if value == best])


@dataclass(frozen=True)
class Level:
    """How a level plays."""

    temperature: float
    """Temperature of the policy: 1 plays moves as often as people do; higher is closer to random."""
    depth: int = 0
    """Plies of search after each move; 0: the policy alone."""
    regret: float = 1.0
    """Drop in value, above 0, that makes a move e times less likely."""


LEVELS = (
    *map(Level, (4.0, 2.2, 1.6, 1.15)),
    Level(1.0, 1, 0.9), Level(1.0, 1, 0.35), Level(1.0, 2, 0.3), Level(1.0, 2, 0.18), Level(1.0, 3, 0.11),
    Level(1.0, 4, 0.07), Level(1.0, 5, 0.05), Level(1.0, 6, 0.035), Level(1.0, 8, 0.02),
)  # fmt: skip
"""The levels that err as people do, from level 1 on; calibrated by matches of each with the next."""
QUICK_NODES = (12_000, 40_000)
"""Positions a move of the levels after them, which search as full strength does."""
FULL_LEVEL = len(LEVELS) + len(QUICK_NODES) + 1
"""Full strength: alpha-beta with the network `ckai`."""
LEVEL_NAMES = {
    2: "beginner", 4: "casual", 6: "improver", 8: "club", 10: "strong club", 13: "expert", 15: "master"
}  # fmt: skip
"""What players of a level are called, by the highest level of that name."""


def describe_level(number: int) -> tuple[str, str]:
    """Return what players of a level are called, and in a few words how it plays, 1 to `FULL_LEVEL`."""
    name = next((name for last, name in LEVEL_NAMES.items() if number <= last), "full strength")
    if number > len(LEVELS):
        nodes = (*QUICK_NODES, 0)[number - len(LEVELS) - 1]
        return name, f"looks at {nodes:,} positions a move" if nodes else name
    depth = LEVELS[number - 1].depth
    ahead = f"looks {depth} {'ply' if depth == 1 else 'plies'} ahead"
    return name, ahead if depth else "plays by intuition alone"


def move_values(search: AlphaBetaSearch, game: Game, depth: int) -> Numbers:
    """Return the value of every legal move for the side to move, [-1, 1], by a search of plies after it."""
    history, values = [pack(position) for position in game.positions], {}
    for move in game.position.legal_moves():
        after = game.position.push(move)
        if not after.legal_moves():
            values[move] = 1.0
        elif after.is_game_over() or any(earlier.key == after.key for earlier in game.positions):
            values[move] = 0.0  # a draw, which the search does not check at its root
        else:
            values[move] = -search.search(pack(after), history, depth=depth).value
    return values


def level_policy(level: Level, priors: Numbers, values: Numbers | None) -> Numbers:
    """Return the probability of every move, see `LevelEngine`; `priors` are people's."""
    scores = {move: math.log(max(p, MIN_PRIOR)) / level.temperature for move, p in priors.items()}
    if values is not None:
        scores = {move: score + values[move] / level.regret for move, score in scores.items()}
    best = max(scores.values())
    weights = {move: math.exp(score - best) for move, score in scores.items()}
    return {move: weight / sum(weights.values()) for move, weight in weights.items()}


class LevelEngine(Engine):
    """A level that errs as people do: the probability of a move is proportional to

        policy(move) ** (1 / temperature) * exp(value(move) / regret)

    with the policy of the network `people`, learned from people, and values by a search of `network`. Of the
    policies that are as strong it is the nearest to people's, by KL divergence (Jacob, Wu, Farina, Lerer, Hu,
    Bakhtin, Andreas and Brown, "Modeling Strong and Human-Like Gameplay with KL-Regularized Search", 2022).
    """

    def __init__(
        self, level: Level, people: Evaluator, network: Any, tables: Any = None, seed: int | None = None
    ) -> None:
        super().__init__(seed=seed)
        self._level, self._people, self._network = level, people, network
        self._rules = self.spec.make_rules(tables)
        self._open()

    def _open(self, of: Any = None) -> None:
        self._alpha_beta = AlphaBetaSearch(self._network, game=self._rules, entries=1 << 16)

    def _search(self, task: Task) -> Move:
        level, (priors, _), values = self._level, move_priors(self._people, task.game.position), None
        if level.depth and len(priors) > 1:
            values = move_values(self._alpha_beta, task.game, level.depth)
        policy = level_policy(level, priors, values)
        return task.chance.choices(list(policy), list(policy.values()))[0]
