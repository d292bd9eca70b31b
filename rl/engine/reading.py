"""A search tree, whose edges are hops, read as moves, lines and proofs."""

from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.tables import Tables
from ckai.datasets.tables.probe import compile_probes
from ckai.game import Move, Position
from ckai.game.jit import compile_for
from ckai.game.warmup import compile_rules
from ckai.rl.engine.result import Line, MoveMap, Proof, SearchResult, StopReason, Value, turn_of
from ckai.rl.engine.task import Root
from ckai.rl.evaluators.move_priors import move_priors
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import OPEN, TERMINAL
from ckai.rl.search.batch import deepest_ply
from ckai.rl.search.move_time import RootLead
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.searcher import Searcher

MAX_PV = 40
"""Most moves in a principal variation."""
PROOFS: dict[int, Proof] = {int(WIN): "win", int(LOSS): "loss", int(DRAW): "draw"}


class Figures(NamedTuple):
    """What a tree has of an edge or of a whole move, for the side that plays it."""

    visits: int = 0
    value_sum: float = 0.0
    prior: float = 1.0
    """Of a move the product over its hops."""
    proof: int = NONE
    plies: int | None = None
    """To the end of a proven win or loss, else None."""
    child: int = -1
    """Index of the node after it, -1 if there is none."""

    def rank(self, parent_proof: int) -> tuple[float, ...]:
        """Return a sorting key, higher for better moves, see `ckai.rl.search.mcts.best_root_edge`."""
        won, lost = self.proof == WIN, self.proof == LOSS
        distance = (self.plies or 0) * (lost - won)
        q = self.value_sum / self.visits if self.visits else 0.0
        drawn = parent_proof == DRAW and self.proof == DRAW
        return won, not lost, drawn, distance, self.visits, q, self.prior

    @property
    def value(self) -> float | None:
        """The mean value, +1, 0 or -1 if it is proven; None without visits."""
        if self.proof != NONE:
            return float(PROOF_VALUE[self.proof])
        return self.value_sum / self.visits if self.visits else None


class Tree:
    """One tree of a searcher, which keeps what it has from one position of a game to the next.

    Attributes:
        root: the root of the last search; None if the tree cannot be used again.
    """

    def __init__(self, searcher: Searcher, tables: Tables | None, t: int = 0) -> None:
        """Take tree `t` of a searcher of any game, whose rules have these tables."""
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

    # --- figures ------------------------------------------------------------------------------------

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

    # --- results ------------------------------------------------------------------------------------

    def result(self, lines: int, reason: StopReason | None, **figures: Any) -> SearchResult:
        """Return the result of the search so far; the tree must be `ready`.

        Args:
            lines: most lines in the result; 0: its move and value are enough.
            reason, figures: see `SearchResult`.
        """
        assert self.root is not None
        here, turn = self.root.position, turn_of(self.root.position)
        root = self.searcher.root(self.t)
        proof, plies = int(root["proof"]), int(root["plies"])
        value = Value(
            float(PROOF_VALUE[proof]) if proof != NONE else float(root["value_sum"]) / max(1, self.visits),
            turn,
        )
        proven = {"proven": PROOFS.get(proof), "plies": plies if proof in (WIN, LOSS) else None}
        figures |= {"value": value, "sims": self.visits, "reason": reason, **proven}
        moves: list[Move] = list(here.legal_moves())
        in_tables = proof == NONE and self._tables is not None and self._tables.knows(here)
        if lines == 0 and not in_tables:
            action = self.searcher.best(self.t)
            likely = [move for move in moves if move.actions[0] == action]
            move = likely[0] if len(likely) == 1 else self._best(here, 0)
            return SearchResult(lines=[Line(pv=[move], value=value)], **figures)
        found = {move: self._figures(here, 0, move) for move in moves}
        best = (self._table_win(here, found) if in_tables else None) or self._best(here, 0)
        moves.sort(key=lambda m: (m == best, found[m].rank(proof)), reverse=True)
        ranked = [
            Line(
                pv=self._pv(
                    here, move, found[move].child, proven=(found[move].proof if n else proof) != NONE
                ),
                value=None if (mean := found[move].value) is None else Value(mean, turn),
                visits=found[move].visits,
                prior=found[move].prior,
                proven=PROOFS.get(found[move].proof),
                plies=found[move].plies,
            )
            for n, move in enumerate(moves[: max(lines, 1)])
        ]
        moves.sort(key=lambda m: (m != best, -found[m].visits, -found[m].prior, m))
        return SearchResult(
            lines=ranked,
            visits=MoveMap({move: found[move].visits for move in moves}),
            priors=MoveMap({move: found[move].prior for move in moves}),
            proofs=MoveMap({m: (PROOFS[found[m].proof], found[m].plies) for m in moves if found[m].proof}),
            depth=self.depth(),
            **figures,
        )

    def _edges(self, node: int) -> dict[int, Figures]:
        """Return the figures of the hops at a node; none if there is no such node, or it is not expanded."""
        trees, t = self.searcher.tree_batch, self.t
        if node < 0 or trees.nodes[t, node]["status"] != OPEN:
            return {}
        first = int(trees.nodes[t, node]["first_edge"])
        last = first + int(trees.nodes[t, node]["num_edges"])
        columns = trees.edges[t, first:last]
        names = ("action", "visits", "value_sum", "prior", "proof", "plies", "child")
        return {
            action: Figures(visits, total, prior, proof, plies if proof in (WIN, LOSS) else None, child)
            for action, visits, total, prior, proof, plies, child in zip(
                *(columns[name].tolist() for name in names), strict=True
            )
        }

    def _figures(self, position: Any, node: int, move: Any) -> Figures:
        """Return the figures that the tree has of a legal move of the position at a node."""
        figures, prior = Figures(child=node), 1.0
        for action in move.actions:
            edges = self._edges(figures.child)
            if not edges:
                # The figures so far are of the best continuation, which may be another move.
                figures = self._table_figures(position.push(move))
                break
            if action not in edges:  # a repetition that the search forbids
                figures = figures._replace(child=-1)
                break
            figures = edges[action]
            prior *= figures.prior
        return figures._replace(prior=prior)

    def _best(self, position: Any, node: int) -> Any:
        """Return the move to play at a node, its hops chosen as `best_root_edge` does; None without edges."""
        actions: list[int] = []
        at, moves = node, position.legal_moves()
        while edges := self._edges(at):
            proof = int(self.searcher.tree_batch.nodes[self.t, at]["proof"])
            best = max(edges, key=lambda action: (edges[action].rank(proof), -action))
            actions.append(best)
            at = edges[best].child
            if (move := next((m for m in moves if m.actions == tuple(actions)), None)) is not None:
                return move
        if not actions:
            return None
        # A capture whose last hops were not searched: the best one by the tables, then by the network.
        candidates = [m for m in moves if m.actions[: len(actions)] == tuple(actions)]
        priors, _ = move_priors(self.searcher.evaluator, position)
        return max(candidates, key=lambda m: (self._figures(position, node, m).rank(DRAW)[:4], priors[m]))

    def _table_figures(self, after: Position) -> Figures:
        """Return the proof of a move by the tables' value of the position after it."""
        if self._tables is None:
            return Figures()
        if not after.legal_moves():
            return Figures(proof=WIN, plies=1)
        if not self._tables.knows(after):
            return Figures()
        result = self._tables.probe(after)
        if result.plies is None:
            return Figures(proof=DRAW)
        return Figures(proof=WIN if result.value == "loss" else LOSS, plies=result.plies + 1)

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
        while len(pv) < MAX_PV and (move := self._best(position, node)) is not None:
            figures = self._figures(position, node, move)
            if figures.visits == 0 and not proven:
                break
            pv.append(move)
            position, node = position.push(move), figures.child
        if self._tables is not None and self._tables.knows(position):
            pv += self._tables.line(position, MAX_PV - len(pv))
        return pv
