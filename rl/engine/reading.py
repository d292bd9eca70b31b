"""Reads whole moves, lines and proofs out of the tree of hops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Move, Position
from ckai.rl.engine.policy import turn_of
from ckai.rl.engine.result import Line, MoveMap, Policy, Proof, SearchResult, StopReason, Turn, Value
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.depth import deepest_ply
from ckai.rl.search.mcts import PROOF_VALUE
from ckai.rl.search.searcher import Searcher

LONGEST_PV = 40
"""Moves."""

PROOFS: dict[int, Proof] = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}


@dataclass
class _Branch:
    """A whole move at a node: what the tree has of its last hop, in the view of the side that plays it."""

    move: Move
    visits: int = 0
    value_sum: float = 0.0
    prior: float = 1.0
    """Product over the hops."""
    proof: int = NONE
    plies: int = 0
    child: int = -1
    """The node behind the move, -1 if there is none."""

    def rank(self, parent_proof: int) -> tuple[float, ...]:
        """Better moves have larger ranks, see `ckai.rl.search.mcts.best_root_edge`."""
        return (*_rank(self.proof, self.plies, self.visits, self.value_sum, parent_proof), self.prior)

    def value(self, turn: Turn) -> Value | None:
        """See `Line.value`."""
        if self.proof != NONE:
            return Value(float(PROOF_VALUE[self.proof]), turn)
        return Value(self.value_sum / self.visits, turn) if self.visits else None


class TreeReader:
    """Turns tree 0 of a searcher into results, between two steps of the search."""

    def __init__(
        self, searcher: Searcher, tables: Tables | None, policy: Callable[[Position], Policy]
    ) -> None:
        """Read a searcher's tree.

        Args:
            searcher: of checkers, one tree.
            tables: those of its game.
            policy: decides between ways to end a capture that were never searched.
        """
        self._searcher, self._tables, self._policy = searcher, tables, policy
        self._plies = np.zeros(searcher.tree_batch.nodes.shape[1], np.int16)
        self._measured, self._depth = 0, 0

    # --- figures ------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Positions in the tree."""
        return int(self._searcher.tree_batch.info[0]["nodes"])

    @property
    def ready(self) -> bool:
        """Whether the root was evaluated, so that there is a result."""
        return int(self._searcher.root(0)["status"]) == OPEN

    def moved(self) -> None:
        """Note that the root is another one."""
        self._measured, self._depth = 0, 0

    def depth(self) -> int:
        """See `Limit.depth`; only what is new in the tree is looked at."""
        nodes, used = self._searcher.tree_batch.nodes[0], self.nodes
        self._depth = max(self._depth, int(deepest_ply(nodes, self._measured, used, self._plies)))
        self._measured = used
        return self._depth

    # --- results ------------------------------------------------------------------------------------

    def result(
        self,
        here: Position,
        multipv: int,
        *,
        seconds: float,
        nodes: int,
        evaluations: int,
        reason: StopReason | None,
    ) -> SearchResult:
        """What the search of a position has come to; the tree must be `ready`.

        Args:
            here: the position at the root.
            multipv: most lines.
            seconds, nodes, evaluations, reason: what the tree does not know, see `SearchResult`.
        """
        root, turn = self._searcher.root(0), turn_of(here)
        proof = int(root["proof"])
        branches = [self._branch(0, move) for move in here.legal_moves()]
        best = self._best(here, 0)
        assert best is not None
        if proof == NONE and self._tables is not None and self._tables.knows(here):
            best = self._saving_the_win(here, branches) or best
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
                for n, b in enumerate(ranked[:multipv])
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

    def _branch(self, node: int, move: Move) -> _Branch:
        """What the tree has of a whole move at a node."""
        nodes, edges = self._searcher.tree_batch.nodes[0], self._searcher.tree_batch.edges[0]
        branch = _Branch(move)
        for action in move.actions:
            if node < 0 or nodes[node]["status"] != OPEN:
                branch.visits, branch.value_sum, node = 0, 0.0, -1
                continue
            first = nodes[node]["first_edge"]
            mine = edges[first : first + nodes[node]["num_edges"]]
            edge = mine[mine["action"] == action][0]
            branch.prior *= float(edge["prior"])
            branch.visits, branch.value_sum = int(edge["visits"]), float(edge["value_sum"])
            branch.proof, branch.plies = int(edge["proof"]), int(edge["plies"])
            node = int(edge["child"])
        branch.child = node
        return branch

    def _best(self, position: Position, node: int) -> _Branch | None:
        """The move to play at a node, hop by hop as the search chooses; None where nothing was searched."""
        nodes, edges = self._searcher.tree_batch.nodes[0], self._searcher.tree_batch.edges[0]
        actions: list[int] = []
        at, moves = node, position.legal_moves()
        while at >= 0 and nodes[at]["status"] == OPEN:
            first = int(nodes[at]["first_edge"])
            mine, proof = edges[first : first + int(nodes[at]["num_edges"])], int(nodes[at]["proof"])
            best = max(mine, key=lambda edge, proof=proof: _edge_rank(edge, proof))  # type: ignore[misc]
            actions.append(int(best["action"]))
            at = int(best["child"])
            played = [m for m in moves if m.actions == tuple(actions)]
            if played:
                return self._branch(node, played[0])
        if not actions:
            return None
        # A capture whose last hops were never searched: what the tables want, then what the network does.
        rest = [m for m in moves if m.actions[: len(actions)] == tuple(actions)]
        if self._tables is not None and self._tables.knows(position):
            rest = [m for m in self._tables.best_moves(position) if m in rest] or rest
        priors = self._policy(position).moves
        return self._branch(node, max(rest, key=lambda m: priors[m]))

    def _saving_the_win(self, here: Position, branches: list[_Branch]) -> _Branch | None:
        """A move that keeps a win of the tables, which the draw by count may take; None if it is no win.

        Of the shortest ways the one that begins the count again, then the one searched most.
        """
        assert self._tables is not None
        if self._tables.probe(here).value != "win":
            return None
        best = self._tables.best_moves(here)
        return max(
            (branch for branch in branches if branch.move in best),
            key=lambda b: (here.push(b.move).halfmove_clock == 0, b.visits, b.prior),
        )

    def _pv(self, position: Position, branch: _Branch, *, proven: bool) -> list[Move]:
        """A move and the best ones after it, to the last that was searched, or to the end of a proof."""
        pv: list[Move] = []
        step: _Branch | None = branch
        while step is not None and len(pv) < LONGEST_PV:
            pv.append(step.move)
            position = position.push(step.move)
            step = self._best(position, step.child) if step.child >= 0 else None
            if step is not None and step.visits == 0 and not proven:
                break
        if self._tables is not None and self._tables.knows(position):
            pv += self._tables.line(position, LONGEST_PV - len(pv))
        return pv


def _edge_rank(edge: Mapping[str, Any], parent_proof: int) -> tuple[float, ...]:
    """`ckai.rl.search.mcts.is_better_edge` as a sorting key."""
    figures = int(edge["proof"]), int(edge["plies"]), int(edge["visits"]), float(edge["value_sum"])
    return (*_rank(*figures, parent_proof), float(edge["prior"]), -int(edge["action"]))


def _rank(proof: int, plies: int, visits: int, value_sum: float, parent_proof: int) -> tuple[float, ...]:
    won, lost = proof == WIN, proof == LOSS
    distance = -plies if won else plies if lost else 0
    q = value_sum / visits if visits else 0.0
    return (won, not lost, parent_proof == DRAW and proof == DRAW, distance, visits, q)


def _distance(proof: int, plies: int) -> int | None:
    return plies if proof in (WIN, LOSS) else None
