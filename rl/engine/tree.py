"""`TreeEngine`: tree search of positions with a network, or without one, within limits.

`Tree` reads a search tree, whose edges are hops, as moves, lines and proofs.
"""

import math
import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.tables import Tables
from ckai.datasets.tables.probe import compile_probes
from ckai.game import Move, Position
from ckai.game.position import compile_rules
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import one_torch_thread
from ckai.rl.engine.base import Engine, Line, MoveMap, SearchResult, StopReason, Task, Value
from ckai.rl.engine.limit import DEFAULT_VISITS, MAX_COUNT, OVERHEAD, Limit, MoveTimer, Proof
from ckai.rl.evaluators.loading import move_priors
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN, as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import PROOF_VALUE
from ckai.rl.search.searcher import BatchSizer, Searcher
from ckai.rl.search.selection import SearchConstants

MAX_PV = 40
"""Most moves in a principal variation."""
RIVAL = 0.1
"""Share of the visits of the most visited move below which a higher value of another one does not count."""
PROOFS: dict[int, Proof] = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}
LEAVES, VISITS_PER_LEAF = 256, 48
"""Most positions in one call of the network, and root visits that allow one more, unless time alone ends the
search: see `BatchSizer`."""
BATCHES = 3
"""Calls of the network in flight. Results depend on this number, not on timing; by time they vary."""
MAX_STEP_SIMULATIONS = 20_000
"""Most simulations per step. Those that end at proven positions fill no batch, so an unbounded step could run
for minutes without a look at the limits; this many take milliseconds."""
REUSE_SECONDS = 0.6e-6
"""Most seconds that a search needs per position of the tree that it takes over."""
REUSE_PLIES = 2
"""Most plies between two positions of which the second takes over a part of the first one's tree."""


class Figures(NamedTuple):
    """What a tree has of an edge or of a whole move, for the side that plays it."""

    visits: int = 0
    value_sum: float = 0.0
    prior: float = 1.0
    proof: int = NONE
    end: int = 0
    """Plies to the end of a proven win or loss."""
    child: int = -1
    """Index of the node after it, -1 if there is none."""

    def rank(self, parent_proof: int) -> tuple[float, ...]:
        """Return a sorting key, higher for better moves, see `ckai.rl.search.mcts.best_root_edge`."""
        won, lost = self.proof == WIN, self.proof == LOSS
        q = self.value_sum / self.visits if self.visits else 0.0
        drawn = parent_proof == DRAW and self.proof == DRAW
        return won, not lost, drawn, self.end * (lost - won), self.visits, q, self.prior

    @property
    def value(self) -> float | None:
        """The mean value, +1, 0 or -1 if it is proven; None without visits."""
        if self.proof != NONE:
            return float(PROOF_VALUE[self.proof])
        return self.value_sum / self.visits if self.visits else None

    @property
    def proven(self) -> tuple[Proof | None, int | None]:
        """The proof, and the plies to the end of a win or a loss; None without."""
        return PROOFS.get(self.proof), self.end if self.proof in (WIN, LOSS) else None


class Tree:
    """Tree `t` of a searcher, which keeps what it has from one position of a game to the next.

    Attributes:
        line: the positions of the game, the last one the root; empty if the tree cannot be used again.
    """

    def __init__(self, searcher: Searcher, spec: GameSpec, tables: Tables | None, t: int = 0) -> None:
        self.searcher, self.spec, self.t, self._tables = searcher, spec, t, tables
        self.line: list[Any] = []
        if t == 0:  # what reading calls must not be compiled within a time limit
            compile_rules()
            if tables is not None:
                compile_probes(tables)

    def set_root(self, game: Any, keep: bool = True) -> None:
        """Make the position of a game the root, keeping its subtree if the tree has it, and `keep`."""
        searcher, t, spec, (*history, here) = self.searcher, self.t, self.spec, game.positions
        actions = self._way(game) if self.line else None
        if actions is not None and (keep or not actions):
            for action in actions:
                searcher.play(t, action)
        else:
            if isinstance(here, Position):  # what repetitions can reach
                history = history[max(0, len(history) - here.halfmove_clock) :]
            keys = np.array([spec.repetition_key(position) for position in history], np.int64)
            searcher.set_root(t, spec.state(here), keys.reshape(-1, spec.rules.STATE_WORDS))
        self.line = list(game.positions)

    def _way(self, game: Any) -> list[int] | None:
        """Return the hops to the position of a game, if the histories agree or there is none; or None."""
        line, moves, plies = game.positions, game.moves, len(game.positions) - len(self.line)
        # Keys have no halfmove clock; if the first positions have the same one, so have the others.
        agree = self.spec.state(line[0]) == self.spec.state(self.line[0]) and all(
            a is b or a.key == b.key for a, b in zip(self.line, line, strict=False)
        )
        if agree and 0 <= plies <= min(REUSE_PLIES, len(moves)):
            return [action for move in moves[len(moves) - plies :] for action in move.actions]
        if len(line) > 1 and not (agree and 0 < plies <= REUSE_PLIES):
            return None
        wanted, ways = self.spec.state(line[-1]), [(0, list[int](), 0)]
        nodes = self.searcher.tree_batch.nodes[self.t]
        while ways:
            node, actions, passed = ways.pop(0)
            if passed and as_state(nodes[node]["state"]) == wanted:
                return actions
            for action, edge in self._edges(node).items() if passed < REUSE_PLIES else ():
                if edge.child >= 0:
                    ways.append((edge.child, [*actions, action], passed + (nodes[edge.child]["sign"] < 0)))
        return None

    @property
    def visits(self) -> int:
        """Visits at the root."""
        return int(self.searcher.root(self.t)["visits"])

    @property
    def nodes(self) -> int:
        """Positions in the tree."""
        return int(self.searcher.tree_batch.info[self.t]["nodes"])

    def lead(self) -> tuple[float, bool]:
        """Compare the moves at the root that are not proven lost, see `MoveTimer.ended`."""
        moves = [of for of in self._moves(self.line[-1], 0).values() if of.proof != LOSS]
        if len(moves) < 2:
            return math.inf, True
        # Without visits a move counts as the worst.
        found = sorted(((of.visits, -1.0 if of.value is None else of.value) for of in moves), reverse=True)
        (visits, value), (others, _), *_ = found
        return visits - others, value >= max(q for n, q in found if n >= RIVAL * visits)

    @property
    def depth(self) -> int:
        """Plies from the root to the deepest position in the tree."""
        return int(self.searcher.tree_batch.info[self.t]["depth"])

    def result(self, lines: int, reason: StopReason | None, **figures: Any) -> SearchResult:
        """Return the result of the search so far, see `SearchResult`; the root must be evaluated."""
        here, at, tables = self.line[-1], self.searcher.root(self.t), self._tables
        root = Figures(int(at["visits"]), float(at["value_sum"]), 1.0, int(at["proof"]), int(at["plies"]))
        value, (proven, plies) = Value.at(here, root.value or 0.0), root.proven
        figures |= {"value": value, "sims": root.visits, "reason": reason, "proven": proven, "plies": plies}
        known = tables is not None and tables.knows(here)
        if lines == 0 and not known:  # the move and its value are enough
            action = self.searcher.best(self.t)
            likely = [move for move in here.legal_moves() if move.actions[0] == action]
            if len(likely) == 1:
                return SearchResult(lines=[Line(pv=likely)], **figures)
        found = self._moves(here, 0)
        best = next(iter(found))
        if root.proof != NONE:
            found[best] = found[best]._replace(proof=root.proof, end=root.end)
        elif tables is not None and known and tables.probe(here).value == "win":
            # The halfmove clock might draw it: of the shortest wins one that resets the clock.
            wins = tables.best_moves(here)
            best = max(wins, key=lambda move: (here.push(move).halfmove_clock == 0, found[move].visits))

        def line(move: Move) -> Line:
            of, (proven, plies) = found[move], found[move].proven
            pv = self._pv(here, move, of.child, proven=proven is not None)
            value = None if of.value is None else Value.at(here, of.value)
            return Line(pv=pv, value=value, visits=of.visits, proven=proven, plies=plies)

        ranked = [best, *(move for move in found if move != best)]
        moves = sorted(found, key=lambda m: (m != best, -found[m].visits, -found[m].prior, m))
        return SearchResult(
            lines=[line(move) for move in ranked[: max(lines, 1)]],
            visits=MoveMap({move: found[move].visits for move in moves}),
            priors=MoveMap({move: found[move].prior for move in moves}),
            proofs=MoveMap({m: (p, n) for m in moves for p, n in [found[m].proven] if p is not None}),
            depth=self.depth,
            **figures,
        )

    def _moves(self, position: Any, node: int) -> dict[Any, Figures]:
        """Return what the tree has of the legal moves at an expanded node, the best first."""
        found, keys = dict[Any, Figures](), dict[Any, list[Any]]()
        edges_of, nodes = cache(self._edges), self.searcher.tree_batch.nodes[self.t]
        for move in position.legal_moves() if edges_of(node) else ():
            figures, prior, key = Figures(child=node), 1.0, keys.setdefault(move, [])
            for action in move.actions:
                edges = edges_of(at := figures.child)
                if not edges:  # the figures so far are of the best continuation, maybe another move
                    figures = self._table_figures(position.push(move))
                    key.append(figures.rank(DRAW)[:4])
                    break
                if action not in edges:  # a repetition that the search forbids
                    figures = Figures()
                    key.append(())
                    break
                figures = edges[action]
                prior *= figures.prior
                key.append((*figures.rank(int(nodes[at]["proof"])), -action))
            found[move] = figures._replace(prior=prior)
        order = sorted(found, key=keys.__getitem__, reverse=True)
        tied = [move for move in order if keys[move] == keys[order[0]]]
        if len(tied) > 1:  # the last hops of a capture were not searched
            priors, _ = move_priors(self.searcher.evaluator, position, self.spec)
            order.insert(0, max(tied, key=priors.__getitem__))
        return {move: found[move] for move in order}

    def _edges(self, node: int) -> dict[int, Figures]:
        """Return the figures of the hops at a node, none if it is not expanded."""
        trees, t = self.searcher.tree_batch, self.t
        if node < 0 or (at := trees.nodes[t, node])["status"] != OPEN:
            return {}
        edges = trees.edges[t, int(at["first_edge"]) :][: int(at["num_edges"])]
        names = ("action", "visits", "value_sum", "prior", "proof", "plies", "child")
        rows = zip(*(edges[name].tolist() for name in names), strict=True)
        return {action: Figures(*figures) for action, *figures in rows}

    def _table_figures(self, after: Position) -> Figures:
        if not after.legal_moves():
            return Figures(proof=WIN, end=1)
        if self._tables is None or not self._tables.knows(after):
            return Figures()
        result = self._tables.probe(after)
        proof = {"loss": WIN, "win": LOSS}.get(result.value, DRAW)
        return Figures(proof=proof, end=0 if result.plies is None else result.plies + 1)

    def _pv(self, position: Any, move: Any, node: int, *, proven: bool) -> list[Move]:
        """Return the principal variation from a move, to the last move searched or the end of its proof."""
        pv, position = [move], position.push(move)
        while len(pv) < MAX_PV and (moves := self._moves(position, node)):
            move, figures = next(iter(moves.items()))
            if figures.visits == 0 and not proven:
                break
            pv.append(move)
            position, node = position.push(move), figures.child
        if self._tables is not None and self._tables.knows(position):
            pv += self._tables.line(position, MAX_PV - len(pv))
        return pv


class TreeEngine(Engine):
    """Searches positions with PUCT and an evaluator: a network, playouts, or none.

    Args:
        evaluator: `close` leaves it open, unless `owns_evaluator` is set.
        seed: of the playouts, and of the noise at the root if `constants` have any; None: 0.
        constants: None: those that suit the evaluator.
        nodes: positions in the tree at which a search ends; None: what a quarter of the memory holds.
        tables: they prove every position in them; the search plays the shortest win or longest loss there.
    """

    takes = frozenset(("visits", "seconds", "clock", "depth", "nodes"))
    default_limit = Limit(visits=DEFAULT_VISITS)
    owns_evaluator = False
    evaluator: Evaluator

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        seed: int | None = None,
        constants: SearchConstants | None = None,
        nodes: int | None = None,
        spec: GameSpec = DEFAULT_GAME,
        tables: Tables | None = None,
    ) -> None:
        super().__init__(seed=seed or 0)
        self.evaluator, self.tables, self.spec, self.name = evaluator, tables, spec, evaluator.name
        if constants is None and spec.search_defaults and not isinstance(evaluator, RolloutEvaluator):
            constants = SearchConstants(**spec.search_defaults)
        self._rules: dict[str, Any] = {"constants": constants, "game": spec.make_rules(tables)}
        self._settings: dict[str, Any] = {"nodes": nodes, "batches": BATCHES, "seed": seed or 0}
        self._batch_sizer: BatchSizer | None = None
        self._open()

    def _open(self, of: Any = None) -> None:
        settings = self._settings | {"leaves": LEAVES, "visits_per_leaf": VISITS_PER_LEAF}
        if of is not None:  # the games of `play_many` have trees of their own
            small = self.limit is not None and self.limit.given == {"visits"}
            settings |= {"nodes": 1024 if small else None, "batches": 1, "seed": 0}
            self.owns_evaluator = False
        searcher = Searcher(self.evaluator, **self._rules, **settings)
        self._tree = Tree(searcher, self.spec, self.tables)
        self._trees, self._nodes = dict[int, Tree](), 0
        """The trees of `play_many` by the `id` of their games, the latest last; and their capacity."""

    def measure(self) -> None:
        """Measure the evaluator now, so that no search by time has to."""
        inline = self._tree.searcher.inline is not None  # without batches
        sizer = BatchSizer(1.0) if inline else BatchSizer.measure(self.evaluator, self._rules["game"])
        self._batch_sizer = sizer

    def _forget(self, game: Any = None) -> None:
        if game is None:
            self._tree.searcher.discard()  # leaves that were not evaluated, after an error
            self._tree.line = []
            self._drop_many()
        elif (tree := self._trees.pop(id(game), None)) is not None:
            self._trees = {~tree.t: tree} | self._trees

    def _drop_many(self) -> None:
        for tree in list(self._trees.values())[:1]:
            tree.searcher.close()  # of them all
        self._trees = {}

    def _release(self) -> None:
        self._drop_many()
        self._tree.searcher.close()
        del self._tree  # it may be a hundred megabytes
        if self.owns_evaluator:
            self.evaluator.close()

    def _search_many(self, tasks: Sequence[Task]) -> list[SearchResult]:
        """Search by visits in a tree for each game, evaluating their positions together."""
        visits, stop = tasks[0].limit.visits, tasks[0].stop
        if visits is None or tasks[0].limit.given != {"visits"}:
            return super()._search_many(tasks)
        trees = self._trees_for(tasks, visits + 3)
        searcher = trees[0].searcher
        targets = np.zeros(len(searcher.tree_batch.nodes), np.int32)
        for tree, task in zip(trees, tasks, strict=True):
            tree.set_root(task.game)
            targets[tree.t] = 1 if len(task.game.position.legal_moves()) == 1 else visits
            if task.seed is not None:
                searcher.tree_batch.info["rng"][tree.t] = np.uint64(task.seed)
        with one_torch_thread():
            while searcher.step(targets) and not stop.is_set():
                pass
            if stop.is_set():
                searcher.flush()
                searcher.run(np.minimum(targets, 2))  # every game has a move
        reason = StopReason.STOPPED if stop.is_set() else StopReason.VISITS
        return [tree.result(task.lines, reason) for tree, task in zip(trees, tasks, strict=True)]

    def _trees_for(self, tasks: Sequence[Task], nodes: int) -> list[Tree]:
        """Return the tree that each game had, or a free one, or the one not used for longest."""
        if len(self._trees) < len(tasks) or self._nodes != nodes:
            self._drop_many()
            self._nodes, size = nodes, 2 * len(tasks)  # in a match the opponent is to move in half of them
            searcher = Searcher(self.evaluator, trees=size, nodes=nodes, **self._rules)
            self._trees = {~t: Tree(searcher, self.spec, self.tables, t) for t in range(size)}
        trees: list[Any] = [self._trees.pop(id(task.game), None) for task in tasks]
        for n in (n for n, tree in enumerate(trees) if tree is None):
            tree = trees[n] = self._trees.pop(next(iter(self._trees)))
            tree.line = []
        self._trees |= {id(task.game): tree for task, tree in zip(tasks, trees, strict=True)}
        return trees

    def _search(self, task: Task) -> SearchResult:
        tree, limit, searcher = self._tree, task.limit, self._tree.searcher
        if task.seed is not None:
            searcher.tree_batch.info["rng"][0] = np.uint64(task.seed)
        clocked = limit.clock is not None
        by_time = clocked or limit.seconds is not None or not limit.given
        if by_time and self._batch_sizer is None:
            self.measure()
        sizer = searcher.batch_sizer = self._batch_sizer if by_time else None
        begun, told = time.perf_counter(), 0
        latency = sizer.max_latency(LEAVES) if sizer else 0.0  # of a batch to complete
        times = limit.move_time(len(task.game.history), OVERHEAD + 2 * latency)
        too_large = times is not None and tree.nodes * REUSE_SECONDS > times.maximum / 2
        tree.set_root(task.game, keep=not too_large)
        kept = tree.nodes if tree.visits else 0
        timer = None if times is None else MoveTimer(times, begun, tree.visits, early=clocked)
        most = MAX_COUNT if limit.visits is None else int(limit.visits)

        def step() -> StopReason | None:
            now, before, added = time.perf_counter(), tree.visits, tree.nodes - kept
            if task.stop.is_set():
                return StopReason.STOPPED
            if timer is not None and timer.ended(now, before, tree.lead):
                return StopReason.SECONDS
            if limit.depth is not None and tree.depth >= limit.depth:
                return StopReason.DEPTH
            if limit.nodes is not None and added >= limit.nodes:
                return StopReason.NODES
            # A visit adds one position at most.
            more = MAX_STEP_SIMULATIONS if limit.nodes is None else limit.nodes - added
            target = min(most, before + searcher.in_flight + more)
            if searcher.step(np.array([target], np.int32)):
                return None
            if searcher.root(0)["proof"] != NONE:
                return StopReason.PROVEN
            if tree.visits >= most:
                return StopReason.VISITS
            return StopReason.FULL if tree.visits == before < target else None

        def result(reason: StopReason | None) -> SearchResult:
            nonlocal told
            told = tree.visits
            seconds, added = time.perf_counter() - begun, tree.nodes - kept
            return tree.result(task.lines, reason, seconds=seconds, nodes=added)

        with one_torch_thread():
            searcher.run(np.ones(1, np.int32))  # the root is evaluated under any limit
            while (reason := step()) is None:
                if tree.visits > told:
                    task.tell(partial(result, None))
            searcher.flush()
            return result(reason)


def by_visits(evaluator: Evaluator, visits: int, **settings: Any) -> TreeEngine:
    """Return an engine of some visits per move, for matches; `settings` as in `TreeEngine`."""
    engine = TreeEngine(evaluator, **({"nodes": visits + 3} | settings))
    engine.limit = Limit(visits=visits)
    return engine
