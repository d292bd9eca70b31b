"""Conversion of a search tree, whose edges are hops, to moves, lines and proofs; and of a policy of hops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.datasets.tables.probe import compile_probes
from ckai.game import Move, Position
from ckai.game.jit import compile_for, kernel
from ckai.game.warmup import compile_rules
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.result import Line, MoveMap, Policy, Proof, SearchResult, StopReason, Turn, Value
from ckai.rl.evaluators.move_priors import move_priors
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.move_time import RootLead
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.searcher import Searcher

MAX_PV = 40
"""Most moves in a principal variation."""

PROOFS: dict[int, Proof] = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}


@dataclass
class _Branch:
    """A move at a node: the figures of the edge of its last hop, for the side that plays it."""

    move: Move
    visits: int = 0
    value_sum: float = 0.0
    prior: float = 1.0
    """Product of the priors of the hops."""
    proof: int = NONE
    plies: int = 0
    child: int = -1
    """Index of the node after the move, -1 if there is none."""

    def rank(self, parent_proof: int) -> tuple[float, ...]:
        """Return a sorting key, higher for better moves, see `ckai.rl.search.mcts.best_root_edge`."""
        return (*_rank(self.proof, self.plies, self.visits, self.value_sum, parent_proof), self.prior)

    def value(self, turn: Turn) -> Value | None:
        """Return the value of the move, see `Line.value`."""
        if self.proof != NONE:
            return Value(float(PROOF_VALUE[self.proof]), turn)
        return Value(self.value_sum / self.visits, turn) if self.visits else None


class TreeReader:
    """Reads results from a tree of a searcher, between two steps of its search."""

    def __init__(
        self, searcher: Searcher, tables: Tables | None, policy: Callable[[Position], Policy], tree: int = 0
    ) -> None:
        """Create a reader.

        Args:
            searcher: a searcher of any game.
            tables: tablebases of its rules, or None.
            policy: the network's policy, to choose how a capture continues after the hops that were searched.
            tree: index of the tree.
        """
        self._searcher, self._tables, self._policy, self._tree = searcher, tables, policy, tree
        self._plies = np.zeros(searcher.tree_batch.nodes.shape[1], np.int16)
        self._measured, self._depth = 0, 0
        # What reading calls must not be compiled within a time limit.
        compile_rules()
        compile_for(deepest_ply, searcher.tree_batch.nodes[tree], 0, 0, self._plies)
        if tables is not None:
            compile_probes(tables)

    @property
    def _arrays(self) -> tuple[Any, Any]:
        """The nodes and the edges of the tree."""
        trees = self._searcher.tree_batch
        return trees.nodes[self._tree], trees.edges[self._tree]

    # --- figures ------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Number of positions in the tree."""
        return int(self._searcher.tree_batch.info[self._tree]["nodes"])

    @property
    def ready(self) -> bool:
        """Whether the root is evaluated, so that there is a result."""
        return int(self._searcher.root(self._tree)["status"]) == OPEN

    def root_lead(self, position: Any) -> RootLead:
        """Compare the moves of the position at the root, see `ckai.rl.search.move_time`."""
        moves = position.legal_moves()
        if len(moves) == 1:
            return RootLead(np.inf, True)
        if not self.ready:
            return RootLead(0.0, True)
        found = self._searcher.root_lead(self._tree)
        action = self._searcher.best(self._tree)
        # How the capture continues after its first hop may still change.
        several = sum(move.actions[0] == action for move in moves) > 1
        return RootLead(0.0, found.settled) if several else found

    def root_changed(self) -> None:
        """Discard what was computed for the last root."""
        self._measured, self._depth = 0, 0

    def depth(self) -> int:
        """Return the depth of the tree in plies, see `Limit.depth`; looks at new nodes only."""
        nodes, used = self._searcher.tree_batch.nodes[self._tree], self.nodes
        if len(self._plies) < len(nodes):  # the tree has grown
            self._plies = np.concatenate([self._plies, np.zeros(len(nodes) - len(self._plies), np.int16)])
        self._depth = max(self._depth, int(deepest_ply(nodes, self._measured, used, self._plies)))
        self._measured = used
        return self._depth

    # --- results ------------------------------------------------------------------------------------

    def result(
        self,
        here: Any,
        lines: int,
        *,
        seconds: float,
        nodes: int,
        evaluations: int,
        reason: StopReason | None,
    ) -> SearchResult:
        """Return the result of the search so far; the tree must be `ready`.

        Args:
            here: the position at the root.
            lines: most lines in the result.
            seconds, nodes, evaluations, reason: see `SearchResult`.
        """
        root, turn = self._searcher.root(self._tree), turn_of(here)
        proof = int(root["proof"])
        branches = [self._branch(here, 0, move) for move in here.legal_moves()]
        best = self._best(here, 0)
        assert best is not None
        if proof == NONE and self._tables is not None and self._tables.knows(here):
            best = self._table_win(here, branches) or best
        ranked = sorted(branches, key=lambda b: (b.move == best.move, b.rank(proof)), reverse=True)
        branches.sort(key=lambda b: (b.move != best.move, -b.visits, -b.prior, b.move))
        value = (
            float(PROOF_VALUE[proof])
            if proof != NONE
            else float(root["value_sum"]) / max(1, int(root["visits"]))
        )
        return SearchResult(
            lines=[
                Line(
                    pv=self._pv(here, b, proven=(proof if n == 0 else b.proof) != NONE),
                    value=b.value(turn),
                    visits=b.visits,
                    prior=b.prior,
                    proven=PROOFS.get(b.proof),
                    plies=_distance(b.proof, b.plies),
                )
                for n, b in enumerate(ranked[:lines])
            ],
            value=Value(value, turn),
            visits=MoveMap({b.move: b.visits for b in branches}),
            priors=MoveMap({b.move: b.prior for b in branches}),
            sims=int(root["visits"]),
            seconds=seconds,
            nodes=nodes,
            evaluations=evaluations,
            depth=self.depth(),
            reason=reason,
            proven=PROOFS.get(proof),
            plies=_distance(proof, int(root["plies"])),
            proofs=MoveMap(
                {b.move: (PROOFS[b.proof], _distance(b.proof, b.plies)) for b in branches if b.proof != NONE}
            ),
        )

    def _branch(self, position: Any, node: int, move: Any) -> _Branch:
        """Return a move at a node with the figures that the tree has of it.

        Args:
            position: the position at the node.
            node: index of the node.
            move: a legal move.
        """
        nodes, edges = self._arrays
        branch = _Branch(move)
        for action in move.actions:
            if node < 0 or nodes[node]["status"] != OPEN:
                # The figures so far are those of the best way to go on, which may be another move.
                branch.visits, branch.value_sum, node = 0, 0.0, -1
                branch.proof, branch.plies = self._table_proof(position.push(move))
                break
            first = nodes[node]["first_edge"]
            node_edges = edges[first : first + nodes[node]["num_edges"]]
            here = np.flatnonzero(node_edges["action"] == action)
            if not len(here):  # a repetition that the search forbids
                node = -1
                break
            edge = node_edges[here[0]]
            branch.prior *= float(edge["prior"])
            branch.visits, branch.value_sum = int(edge["visits"]), float(edge["value_sum"])
            branch.proof, branch.plies = int(edge["proof"]), int(edge["plies"])
            node = int(edge["child"])
        branch.child = node
        return branch

    def _best(self, position: Any, node: int) -> _Branch | None:
        """Return the move to play at a node, its hops chosen as `best_root_edge` does; None without edges."""
        nodes, edges = self._arrays
        actions: list[int] = []
        at, moves = node, position.legal_moves()
        while at >= 0 and nodes[at]["status"] == OPEN:
            first = int(nodes[at]["first_edge"])
            node_edges, proof = edges[first : first + int(nodes[at]["num_edges"])], int(nodes[at]["proof"])
            best = max(node_edges, key=partial(_edge_rank, parent_proof=proof))
            actions.append(int(best["action"]))
            at = int(best["child"])
            complete = [m for m in moves if m.actions == tuple(actions)]
            if complete:
                return self._branch(position, node, complete[0])
        if not actions:
            return None
        # A capture whose last hops were not searched: the best one by the tables, then by the network.
        candidates = [m for m in moves if m.actions[: len(actions)] == tuple(actions)]
        candidates = [m for m in candidates if self._goes_on_best(position, m, len(actions))] or candidates
        priors = self._policy(position).moves
        return self._branch(position, node, max(candidates, key=lambda m: priors[m]))

    def _goes_on_best(self, position: Position, move: Move, hops: int) -> bool:
        """Return whether a move goes on as the tables would after its first hops."""
        for n, action in enumerate(move.actions):
            if n >= hops and (self._tables is None or action not in self._tables.best_actions(position)):
                return False
            position = position.push_action(action)
        return True

    def _table_proof(self, after: Position) -> tuple[int, int]:
        """Return the proof and the plies of a move by the tables' value of the position after it."""
        if self._tables is None:
            return NONE, 0
        if not after.legal_moves():
            return WIN, 1
        if not self._tables.knows(after):
            return NONE, 0
        result = self._tables.probe(after)
        if result.plies is None:
            return DRAW, 0
        return WIN if result.value == "loss" else LOSS, result.plies + 1

    def _table_win(self, here: Position, branches: list[_Branch]) -> _Branch | None:
        """Return the move to play where the tables have a win that the halfmove clock might draw; else None.

        Of the shortest wins one that resets the halfmove clock, then the most visited.
        """
        assert self._tables is not None
        if self._tables.probe(here).value != "win":
            return None
        best = self._tables.best_moves(here)
        return max(
            (branch for branch in branches if branch.move in best),
            key=lambda b: (here.push(b.move).halfmove_clock == 0, b.visits, b.prior),
        )

    def _pv(self, position: Any, branch: _Branch, *, proven: bool) -> list[Move]:
        """Return the principal variation from a move, to the last move searched or the end of its proof."""
        pv: list[Move] = []
        step: _Branch | None = branch
        while step is not None and len(pv) < MAX_PV:
            pv.append(step.move)
            position = position.push(step.move)
            step = self._best(position, step.child) if step.child >= 0 else None
            if step is not None and step.visits == 0 and not proven:
                break
        if self._tables is not None and self._tables.knows(position):
            pv += self._tables.line(position, MAX_PV - len(pv))
        return pv


def _edge_rank(edge: Mapping[str, Any], parent_proof: int) -> tuple[float, ...]:
    """Return the order of `ckai.rl.search.mcts.is_better_edge` as a sorting key."""
    figures = int(edge["proof"]), int(edge["plies"]), int(edge["visits"]), float(edge["value_sum"])
    return (*_rank(*figures, parent_proof), float(edge["prior"]), -int(edge["action"]))


def _rank(proof: int, plies: int, visits: int, value_sum: float, parent_proof: int) -> tuple[float, ...]:
    """Return the part of the sorting key before the prior."""
    won, lost = proof == WIN, proof == LOSS
    distance = -plies if won else plies if lost else 0
    q = value_sum / visits if visits else 0.0
    return (won, not lost, parent_proof == DRAW and proof == DRAW, distance, visits, q)


def _distance(proof: int, plies: int) -> int | None:
    return plies if proof in (WIN, LOSS) else None


@kernel
def deepest_ply(nodes: Any, first: Any, last: Any, plies: Any) -> Any:
    """Compute the depth of nodes `first` to `last - 1` and return the greatest.

    Depth counts turns, not actions: a capture of several hops is 1 ply, counted when the turn passes.

    Args:
        nodes: `[C]` NODE; a parent has a lower index than its children.
        first, last: range of nodes; the depths of the nodes before `first` must be in `plies` already.
        plies: `[C]` int16, depth of each node in plies from the root; filled for the range.

    Returns:
        The greatest depth in the range, 0 if the range is empty.
    """
    deepest = 0
    for node in range(first, last):
        parent = nodes[node].parent
        depth: Any = 0
        if parent >= 0:
            depth = np.int64(plies[parent]) + (1 if nodes[node].sign < 0 else 0)
        plies[node] = depth
        deepest = max(deepest, depth)
    return deepest


def evaluate_policy(evaluator: Evaluator, position: Position) -> Policy:
    """Return the probability of every legal move and the value; see `Engine.policy`.

    Args:
        evaluator: an evaluator of checkers.
        position: a position with a legal move.

    Raises:
        ValueError: the evaluator answered with another shape, or with a number that is not finite.
    """
    priors, value = move_priors(evaluator, position)
    moves = {m: priors[m] for m in sorted(priors, key=lambda m: (-priors[m], m))}
    return Policy(MoveMap(moves), Value(value, turn_of(position)))


def turn_of(position: Any) -> Turn:
    """Return the side to move."""
    return "black" if position.black else "white"
