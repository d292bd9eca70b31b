"""`TreeEngine`: tree search of positions with a network, or without one, within limits.

`Tree` reads a search tree, whose edges are hops, as moves, lines and proofs.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.tables import Tables
from ckai.datasets.tables.probe import compile_probes
from ckai.game import Move, Position
from ckai.game.jit import compile_for
from ckai.game.warmup import compile_rules
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.result import Line, MoveMap, Proof, SearchResult, StopReason, Value, turn_of
from ckai.rl.engine.task import Root, Task
from ckai.rl.engine.text import DEFAULT_VISITS
from ckai.rl.evaluators.move_priors import move_priors
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import OPEN, TERMINAL
from ckai.rl.search.batch import deepest_ply
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.inline_search import make_searcher, measured_batch_sizer
from ckai.rl.search.move_time import MoveTimer, RootLead
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.searcher import MAX_STEP_SIMULATIONS, Searcher
from ckai.rl.search.selection import SearchConstants

MAX_PV = 40
"""Most moves in a principal variation."""
PROOFS: dict[int, Proof] = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}
LEAVES = 256
"""Most positions in one call of the network."""
VISITS_PER_LEAF = 48
"""Root visits that allow one more position in a call, unless time alone ends the search: see `BatchSizer`."""
BATCHES, THREADS = 3, 2
"""Calls of the network in flight under a visit limit, and how many of them run at the same time."""
REUSE_SECONDS = 0.6e-6
"""Most seconds that a search needs per position of the tree that it takes over."""


class Figures(NamedTuple):
    """What a tree has of an edge or of a whole move, for the side that plays it."""

    visits: int = 0
    value_sum: float = 0.0
    prior: float = 1.0
    """Of a move the product over its hops."""
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
    def plies(self) -> int | None:
        """`end` of a proven win or loss, else None."""
        return self.end if self.proof in (WIN, LOSS) else None


class Tree:
    """One tree of a searcher, which keeps what it has from one position of a game to the next.

    Attributes:
        root: the root of the last search; None if the tree cannot be used again.

    Args:
        searcher: of any game; tree `t` of it is taken.
        tables: those that its rules have.
    """

    def __init__(self, searcher: Searcher, tables: Tables | None, t: int = 0) -> None:
        self.searcher, self.t, self._tables = searcher, t, tables
        self.root: Root | None = None
        self._plies = np.zeros(0, np.int16)
        self._measured, self._depth = 0, 0
        if t == 0:  # what reading calls must not be compiled within a time limit
            compile_rules()
            compile_for(deepest_ply, searcher.tree_batch.nodes[t], 0, 0, self._plies)
            if tables is not None:
                compile_probes(tables)

    def set_root(self, root: Root, keep: bool = True) -> None:
        """Make a position the root, keeping its subtree if the tree has it.

        A draw by rule at the root is not seen: there is a legal move, so the search continues there.
        """
        searcher, t, spec = self.searcher, self.t, root.spec
        actions = None if self.root is None or not keep else root.actions_from(self.root)
        if actions is not None:
            for action in actions:
                searcher.play(t, action)
        else:
            history = root.history
            if isinstance(root.position, Position):  # what repetitions can reach
                history = history[len(history) - min(len(history), root.position.halfmove_clock) :]
            keys = [spec.repetition_key(position) for position in history]
            earlier = np.array(keys, np.int64).reshape(-1, spec.state_words)
            searcher.set_root(t, spec.state(root.position), earlier)
        if searcher.root(t)["status"] == TERMINAL:
            searcher.set_root(t, spec.state(root.undrawn().position))
        self.root, self._measured, self._depth = root, 0, 0

    @property
    def visits(self) -> int:
        """Visits at the root."""
        return int(self.searcher.root(self.t)["visits"])

    @property
    def nodes(self) -> int:
        """Number of positions in the tree."""
        return int(self.searcher.tree_batch.info[self.t]["nodes"])

    @property
    def ready(self) -> bool:
        """Whether the root is evaluated, so that there is a result."""
        return int(self.searcher.root(self.t)["status"]) == OPEN

    def lead(self) -> RootLead:
        """Compare the moves at the root, see `ckai.rl.search.move_time`."""
        assert self.root is not None
        moves = self.root.position.legal_moves()
        if len(moves) == 1:
            return RootLead(np.inf, True)
        if not self.ready:
            return RootLead(0.0, True)
        found, action = self.searcher.root_lead(self.t), self.searcher.best(self.t)
        # How the capture continues after its first hop may still change.
        several = sum(move.actions[0] == action for move in moves) > 1
        return RootLead(0.0, found.settled) if several else found

    def depth(self) -> int:
        """Return the depth of the tree in plies, see `Limit.depth`; looks at new nodes only."""
        nodes, used = self.searcher.tree_batch.nodes[self.t], self.nodes
        if len(self._plies) < len(nodes):  # the tree has grown
            self._plies = np.concatenate([self._plies, np.zeros(len(nodes) - len(self._plies), np.int16)])
        self._depth = max(self._depth, int(deepest_ply(nodes, self._measured, used, self._plies)))
        self._measured = used
        return self._depth

    def result(self, lines: int, reason: StopReason | None, **figures: Any) -> SearchResult:
        """Return the result of the search so far; the tree must be `ready`.

        Args:
            lines: most lines in the result; 0: its move and value are enough.
            reason, figures: see `SearchResult`.
        """
        assert self.root is not None
        here: Any = self.root.position
        at, turn = self.searcher.root(self.t), turn_of(here)
        root = Figures(int(at["visits"]), float(at["value_sum"]), 1.0, int(at["proof"]), int(at["plies"]))
        value = Value(root.value or 0.0, turn)
        figures |= {"value": value, "sims": root.visits, "reason": reason}
        figures |= {"proven": PROOFS.get(root.proof), "plies": root.plies}
        in_tables = root.proof == NONE and self._tables is not None and self._tables.knows(here)
        if lines == 0 and not in_tables:
            action = self.searcher.best(self.t)
            likely = [move for move in here.legal_moves() if move.actions[0] == action]
            move = likely[0] if len(likely) == 1 else next(iter(self._moves(here, 0)))
            return SearchResult(lines=[Line(pv=[move], value=value)], **figures)
        found = self._moves(here, 0)
        best: Move = (self._table_win(here, found) if in_tables else None) or next(iter(found))

        def line(move: Move) -> Line:
            of = found[move]
            proven = (root if move == best else of).proof != NONE
            return Line(
                pv=self._pv(here, move, of.child, proven=proven),
                value=None if of.value is None else Value(of.value, turn),
                visits=of.visits,
                prior=of.prior,
                proven=PROOFS.get(of.proof),
                plies=of.plies,
            )

        ranked = [best, *(move for move in found if move != best)]
        moves = sorted(found, key=lambda m: (m != best, -found[m].visits, -found[m].prior, m))
        return SearchResult(
            lines=[line(move) for move in ranked[: max(lines, 1)]],
            visits=MoveMap({move: found[move].visits for move in moves}),
            priors=MoveMap({move: found[move].prior for move in moves}),
            proofs=MoveMap({m: (PROOFS[found[m].proof], found[m].plies) for m in moves if found[m].proof}),
            depth=self.depth(),
            **figures,
        )

    def _moves(self, position: Any, node: int) -> dict[Any, Figures]:
        """Return what the tree has of the legal moves of the position at a node, the one to play first.

        The best first hop comes first, then the best one after it; nothing if the node is not expanded.
        """
        found, keys = dict[Any, Figures](), dict[Any, list[Any]]()
        edges_of = {node: self._edges(node)}
        for move in position.legal_moves() if edges_of[node] else ():
            figures, prior, key = Figures(child=node), 1.0, keys.setdefault(move, [])
            for action in move.actions:
                if (at := figures.child) not in edges_of:
                    edges_of[at] = self._edges(at)
                if not edges_of[at]:  # the figures so far are of the best continuation, maybe another move
                    figures = self._table_figures(position.push(move))
                    key.append(figures.rank(DRAW)[:4])
                    break
                if action not in edges_of[at]:  # a repetition that the search forbids
                    figures = figures._replace(child=-1)
                    key.append(())
                    break
                figures = edges_of[at][action]
                prior *= figures.prior
                proof = int(self.searcher.tree_batch.nodes[self.t, at]["proof"])
                key.append((*figures.rank(proof), -action))
            found[move] = figures._replace(prior=prior)
        order = sorted(found, key=keys.__getitem__, reverse=True)
        tied = [move for move in order if keys[move] == keys[order[0]]]
        if len(tied) > 1:  # the last hops of a capture were not searched
            priors, _ = move_priors(self.searcher.evaluator, position)
            order.insert(0, max(tied, key=priors.__getitem__))
        return {move: found[move] for move in order}

    def _edges(self, node: int) -> dict[int, Figures]:
        """Return the figures of the hops at a node; none if there is no such node, or it is not expanded."""
        trees, t = self.searcher.tree_batch, self.t
        if node < 0 or trees.nodes[t, node]["status"] != OPEN:
            return {}
        first = int(trees.nodes[t, node]["first_edge"])
        edges = trees.edges[t, first : first + int(trees.nodes[t, node]["num_edges"])]
        names = ("action", "visits", "value_sum", "prior", "proof", "plies", "child")
        rows = zip(*(edges[name].tolist() for name in names), strict=True)
        return {action: Figures(*figures) for action, *figures in rows}

    def _table_figures(self, after: Position) -> Figures:
        """Return the proof of a move by the tables' value of the position after it."""
        if self._tables is None:
            return Figures()
        if not after.legal_moves():
            return Figures(proof=WIN, end=1)
        if not self._tables.knows(after):
            return Figures()
        result = self._tables.probe(after)
        if result.plies is None:
            return Figures(proof=DRAW)
        return Figures(proof=WIN if result.value == "loss" else LOSS, end=result.plies + 1)

    def _table_win(self, here: Position, found: dict[Move, Figures]) -> Move | None:
        """Return the move to play where the tables have a win that the halfmove clock might draw; else None.

        Of the shortest wins one that resets the halfmove clock, then the most visited.
        """
        assert self._tables is not None
        if self._tables.probe(here).value != "win":
            return None
        return max(
            self._tables.best_moves(here),
            key=lambda m: (here.push(m).halfmove_clock == 0, found[m].visits, found[m].prior),
        )

    def _pv(self, position: Any, move: Any, node: int, *, proven: bool) -> list[Move]:
        """Return the principal variation from a move, to the last move searched or the end of its proof."""
        pv = [move]
        position = position.push(move)
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

    The next search of the same game keeps the subtree of its position. Creating one compiles what searches
    need unless the cache has it, with a line that says so.

    Args:
        evaluator: evaluates positions; `close` leaves it open, unless `owns_evaluator` is set.
        seed: seed of the playouts, and of the noise at the root if `constants` have any; None: 0.
        constants: constants of the search; None: those that suit the evaluator.
        nodes: positions in the tree at which a search ends; None: what a quarter of the memory holds.
        batches: calls of the evaluator in flight, of which `THREADS` run at the same time. Results depend
            on this number, not on timing. With a time limit each thread has one, and results vary.
        spec: the game.
        tables: tablebases. The search proves every position in them, and plays the shortest win or
            the longest loss there. None: none.

    Example:
        >>> with Engine.load("uniform") as engine:
        ...     result = engine.search("W:WK18,K15:BK4", sims=2000)
        >>> str(result.move), result.proven, result.plies, result.reason
        ('15-11', 'win', 3, <StopReason.PROVEN: 'proven'>)
        >>> [str(move) for move in result.pv]
        ['15-11', '4-8', '11x4']
        >>> result.value, result.value.black()
        (1.0, -1.0)
    """

    takes = frozenset(("visits", "seconds", "clock", "depth", "nodes"))
    endless = True
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
        batches: int = BATCHES,
        spec: GameSpec = DEFAULT_GAME,
        tables: Tables | None = None,
    ) -> None:
        super().__init__(seed=seed or 0)
        self.evaluator, self.tables, self.spec, self.name = evaluator, tables, spec, evaluator.name
        if constants is None and spec.search_defaults and not isinstance(evaluator, RolloutEvaluator):
            constants = SearchConstants(**spec.search_defaults)
        self._settings: dict[str, Any] = {"constants": constants, "game": spec.make_rules(tables)}
        searcher = make_searcher(
            evaluator,
            nodes=nodes,
            seed=seed or 0,
            leaves=LEAVES,
            visits_per_leaf=VISITS_PER_LEAF,
            batches=batches,
            threads=min(batches, THREADS),
            **self._settings,
        )
        self._tree = Tree(searcher, tables)
        self._batch_sizer: BatchSizer | None = None
        self._many: list[Tree] = []
        """The trees of `play_many`, the one to be used next first."""

    def _copy(self) -> "TreeEngine":
        by_visits = self.limit is not None and self.limit.given == {"visits"}
        copy = TreeEngine(
            self.evaluator,
            constants=self._settings["constants"],
            nodes=1024 if by_visits else None,  # the games of `play_many` have trees of their own
            batches=1,
            spec=self.spec,
            tables=self.tables,
        )
        copy._batch_sizer = self._batch_sizer
        return copy

    def measure(self) -> None:
        """Measure the evaluator now, so that no search by time has to."""
        self._batch_sizer = measured_batch_sizer(self.evaluator, self._settings["game"])

    def _forget(self, game: Any = None) -> None:
        for tree in self._many:
            if game is None or (tree.root is not None and tree.root.game is game):
                tree.root = None
        if game is None:
            self._tree.root = None

    def _drop_many(self) -> None:
        if self._many:
            self._many[0].searcher.close()
            self._many = []

    def _spoiled(self) -> None:
        # Trees have leaves that were not evaluated: the next search starts from empty ones.
        self._tree.searcher.discard()
        self._tree.root = None
        self._drop_many()

    def _release(self) -> None:
        self._drop_many()
        self._tree.searcher.close()
        del self._tree  # it may be a hundred megabytes
        if self.owns_evaluator:
            self.evaluator.close()

    # --- many games ---------------------------------------------------------------------------------

    def _search_many(self, tasks: Sequence[Task]) -> list[SearchResult]:
        """Search by visits in a tree for each game, evaluating their positions together."""
        visits, stop = tasks[0].limit.visits, tasks[0].stop
        if visits is None or tasks[0].limit.given != {"visits"}:
            return super()._search_many(tasks)
        trees = self._trees_for(tasks, visits)
        searcher, targets = trees[0].searcher, np.zeros(len(self._many), np.int32)
        for tree, task in zip(trees, tasks, strict=True):
            tree.set_root(task.root)
            targets[tree.t] = 1 if len(task.root.position.legal_moves()) == 1 else visits
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

    def _trees_for(self, tasks: Sequence[Task], visits: int) -> list[Tree]:
        """Return a tree for each game: the one that has its last position, or one not used for long."""
        nodes = visits + 3
        if len(self._many) < len(tasks) or self._many[0].searcher.tree_batch.nodes.shape[1] != nodes:
            self._drop_many()
            size = max(len(tasks), self.boards)
            searcher = make_searcher(self.evaluator, trees=size, nodes=nodes, **self._settings)
            self._many = [Tree(searcher, self.tables, t) for t in range(size)]
        known = {id(tree.root.game): tree for tree in self._many if tree.root is not None}
        mine = [None if task.root.game is None else known.get(id(task.root.game)) for task in tasks]
        taken = set(mine)
        others = [tree for tree in self._many if tree not in taken]
        others.sort(key=lambda tree: tree.root is not None)
        trees = []
        for tree in mine:
            if tree is None:
                tree = others.pop(0)
                tree.root = None
            trees.append(tree)
        self._many = [*others, *dict.fromkeys(trees)]
        return trees

    # --- one game -----------------------------------------------------------------------------------

    def _search(self, task: Task) -> SearchResult:
        tree, limit, searcher = self._tree, task.limit, self._tree.searcher
        if task.seed is not None:
            searcher.tree_batch.info["rng"][0] = np.uint64(task.seed)
        if limit.by_time and self._batch_sizer is None:
            self.measure()
        searcher.batch_sizer = self._batch_sizer if limit.by_time else None
        begun, told = time.perf_counter(), 0
        times = limit.move_time(len(task.root.history), searcher.time_margin)
        moved = tree.root is not None and tree.root.position != task.root.position
        too_large = times is not None and tree.nodes * REUSE_SECONDS > times.maximum / 2
        tree.set_root(task.root, keep=not (moved and too_large))
        kept, evaluated = tree.nodes if tree.ready else 0, searcher.evaluations
        early = limit.clock is not None
        timer = None if times is None else MoveTimer(times, begun, tree.visits, early=early)

        def reached() -> StopReason | None:
            now = time.perf_counter()
            if task.stop.is_set():
                return StopReason.STOPPED
            if timer is not None and timer.ended(now, tree.visits, tree.lead):
                clocked = StopReason.CLOCK if now - begun >= timer.time.optimum else StopReason.DECIDED
                return clocked if early else StopReason.SECONDS
            if limit.depth is not None and tree.depth() >= limit.depth:
                return StopReason.DEPTH
            return StopReason.NODES if limit.nodes is not None and tree.nodes - kept >= limit.nodes else None

        def step() -> StopReason | None:
            """Search one more batch; return why nothing is left to search, if so."""
            before = tree.visits
            most = target = MAX_COUNT if limit.visits is None else int(limit.visits)
            if limit.nodes is not None:  # a visit adds one position at most
                target = min(most, before + searcher.in_flight + limit.nodes - (tree.nodes - kept))
            elif limit.visits is None or limit.by_time:
                target = min(most, before + searcher.in_flight + MAX_STEP_SIMULATIONS)
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
            seconds, evaluations = time.perf_counter() - begun, searcher.evaluations - evaluated
            added = tree.nodes - kept
            return tree.result(task.lines, reason, seconds=seconds, nodes=added, evaluations=evaluations)

        with one_torch_thread():
            searcher.step(np.ones(1, np.int32))  # the root is evaluated under any limit
            while (reason := reached() or step()) is None:
                if tree.ready and tree.visits > told:
                    task.tell(partial(result, None))
            searcher.flush()
            return result(reason)


def by_visits(evaluator: Evaluator, visits: int, **settings: Any) -> TreeEngine:
    """Return an engine of some visits per move, for matches.

    Args:
        evaluator: see `TreeEngine`, as `settings`.
        visits: visits at the root.
    """
    engine = TreeEngine(evaluator, **({"nodes": visits + 3} | settings))
    engine.limit = Limit(visits=visits)
    return engine
