"""PUCT with proofs in plain Python over hand-made games: the reference for the tests of `ckai.rl.search`."""

import math
from collections.abc import Callable
from typing import Any

from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.selection import SearchConstants


class Twin:
    """A node of the reference search. `value_sum` is for the side to move at the node.

    Args:
        leaf: the node of the game tree.
        like: the edges of the same node in the search that is checked, if it has it: its float32 priors are
            taken over, so that both break ties alike.
    """

    def __init__(self, leaf: Any, like: Any = None) -> None:
        self.leaf, self.visits, self.value_sum = leaf, 0, 0.0
        self.like = like
        self.wins: set[int] = set()
        """Edges that are known to win at once, without a visit: those of a root."""
        self.children: list[Twin | None] = [None] * len(leaf.children)
        self.proof, self.plies = NONE, 0
        if not leaf.children:
            self.proof = WIN if leaf.value > 0 else LOSS if leaf.value < 0 else DRAW

    def prior(self, i: int) -> float:
        p = self.leaf.prior or [1.0] * len(self.children)
        drawn = p[i] / sum(p)
        if self.like is None:
            return drawn
        prior = float(self.like["prior"][i])
        assert math.isclose(prior, drawn, rel_tol=1e-5)
        return prior

    def edge(self, i: int) -> tuple[int, float, int, int]:
        """Visit count, value sum, proof and plies of edge i, for the side to move at this node."""
        child, passed = self.children[i], self.leaf.children[i][1]
        if child is None:
            return (0, 0.0, WIN, int(passed)) if i in self.wins else (0, 0.0, NONE, 0)
        if not passed:
            return child.visits, child.value_sum, child.proof, child.plies
        if child.proof == NONE:
            return child.visits, -child.value_sum, NONE, 0
        swapped = {WIN: LOSS, LOSS: WIN, DRAW: DRAW}[child.proof]
        return child.visits, -child.value_sum, swapped, child.plies + 1


def exploration(visits: int, c: float, base: float = SearchConstants().c_base) -> float:
    """c(s) sqrt(N(s)) of PUCT, where `c` is c_init."""
    return (math.log((1 + visits + base) / base) + c) * math.sqrt(visits)


def puct_scores(node: Twin, c: float) -> list[float]:
    """The PUCT score of every edge; minus infinity if it is a proven loss."""
    scale = exploration(node.visits, c)
    scores = []
    for i in range(len(node.children)):
        visits, total, proof, _ = node.edge(i)
        q = 0.0 if proof == DRAW else total / visits if visits else node.value_sum / node.visits
        scores.append(-math.inf if proof == LOSS else q + scale * node.prior(i) / (1 + visits))
    return scores


def puct(node: Twin, c: float) -> int:
    """The edge PUCT selects."""
    scores = puct_scores(node, c)
    return scores.index(max(scores))


def simulate(top: Twin, c: float, edges: Callable[[int], Any]) -> None:
    """Run one simulation; `edges` returns those of a node in the search under test, for their priors."""
    sign_value = {WIN: 1.0, LOSS: -1.0, DRAW: 0.0}
    path, node = [top], top
    while node.visits > 0 and node.proof == NONE:
        best = puct(node, c)
        if node.children[best] is None:
            number = -1 if node.like is None else int(node.like["child"][best])
            leaf, _ = node.leaf.children[best]
            node.children[best] = Twin(leaf, edges(number) if number >= 0 else None)
        node = node.children[best]
        path.append(node)
    value = sign_value[node.proof] if node.proof != NONE else node.leaf.guess
    for depth in range(len(path) - 1, -1, -1):
        node = path[depth]
        if depth < len(path) - 1:
            child = path[depth + 1]
            passed = next(
                p for c_, (_, p) in zip(node.children, node.leaf.children, strict=True) if c_ is child
            )
            value = -value if passed else value
            found = [node.edge(i) for i in range(len(node.children))]
            if node.proof == NONE:
                wins = [plies for _, _, proof, plies in found if proof == WIN]
                if wins:
                    node.proof, node.plies = WIN, min(wins)
                elif all(proof != NONE for _, _, proof, _ in found):
                    drawn = any(proof == DRAW for _, _, proof, _ in found)
                    node.proof = DRAW if drawn else LOSS
                    node.plies = 0 if drawn else max(plies for *_, plies in found)
            if node.proof != NONE:
                value = sign_value[node.proof]
        node.visits += 1
        node.value_sum += value


def twin_search(root: Any, sims: int, c: float, edges: Callable[[int], Any]) -> Twin:
    """Run the reference search; see `simulate`."""
    top = Twin(root, edges(0))
    while top.visits < sims and top.proof == NONE:
        simulate(top, c, edges)
        if top.visits == 1 and top.proof == NONE:
            ends = enumerate(
                (node.value if not node.children else 0.0, passed) for node, passed in root.children
            )
            top.wins = {i for i, (value, passed) in ends if (value < 0 if passed else value > 0)}
            if top.wins:
                top.proof, top.plies = WIN, min(int(root.children[i][1]) for i in top.wins)
    return top
