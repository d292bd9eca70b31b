"""Superko in the search of 9x9 Go: the edges of nodes against `GoPosition` and a slow twin."""

import numpy as np
import pytest
from slow_go import PASS, SlowGo

from ckai.rl.games.go import SPEC
from ckai.rl.search.searcher import Searcher

THREE_KOS = "bw.w...../.bw....../" + "........./" * 5 + ".bw...bw./bw.w.bw.w b"
"""White holds three kos: stones on B1, G1 and B9. Black to move."""
CYCLE = "C1 pass H1 pass C9 B1 pass G1 pass"
"""Black takes each ko, White takes two back. Retaking on B9, the tenth ply, would make the first board."""
B9, C1, H1, C9 = 73, 2, 7, 74
KO_POINTS = (1, C1, 6, H1, B9, C9)


def keys(positions):
    """What `Searcher.set_root` takes as the history."""
    return np.array([SPEC.repetition_key(each) for each in positions], np.int64).reshape(
        -1, SPEC.rules.STATE_WORDS
    )


def fight():
    """The cycle up to its last ply: the game, and the twin of it."""
    game, slow = SPEC.game(SPEC.read_position(THREE_KOS)), SlowGo()
    slow.boards = [{n - 1: stone for n, stone in SPEC.pieces(game.position).items()}]
    for text in CYCLE.split():
        slow.play(game.push(text).action)
    return game, slow


class Script:
    """Follows a line by ply; elsewhere it likes the kos and passing. Nobody is better."""

    name = "script"

    def __init__(self, moves=()):
        self.moves = dict(enumerate(move.action for move in moves))

    def evaluate(self, boards, out_logits=None, out_values=None):
        out_logits[:], out_values[:] = 0.0, 0.0
        out_logits[:, [*KO_POINTS, PASS]] = 6.0
        for logits, board in zip(out_logits, boards, strict=True):
            ply = 2 * int(board[-1]) + (-1 - int(board[-2]) & 1)
            if ply in self.moves:
                logits[self.moves[ply]] = 30.0
        return out_logits, out_values

    def close(self):
        pass


def make_searcher(moves=(), nodes=200):
    return Searcher(Script(moves), trees=1, nodes=nodes, game=SPEC.rules)


def search(searcher, visits):
    searcher.run(np.array([visits], np.int32))


def edges(searcher, node=0):
    """Actions and children of a node that was evaluated."""
    record, edges = searcher.tree_batch.nodes[0, node], searcher.tree_batch.edges[0]
    of_node = edges[record["first_edge"] : record["first_edge"] + record["num_edges"]]
    return dict(zip(of_node["action"].tolist(), of_node["child"].tolist(), strict=True))


def actions_of(position):
    return [move.action for move in position.legal_moves()]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(len(CYCLE.split()) + 1))
def test_the_path_forbids_an_action_below_the_root(first):
    """From every ply of the cycle: the boards before are the history, those after it the path."""
    game, slow = fight()
    searcher = make_searcher(game.moves)
    searcher.set_root(0, game.positions[first].state, keys(game.positions[:first]))
    search(searcher, 30)
    node = 0
    for position, move in zip(game.positions[first:], game.moves[first:], strict=False):
        assert list(edges(searcher, node)) == actions_of(position)
        node = edges(searcher, node)[move.action]
        if node < 0:  # White wins at once by passing as well, which ends the search
            assert (first, searcher.tree_batch.nodes[0, 0]["proof"]) == (7, 1)
            return
    assert list(edges(searcher, node)) == slow.legal()
    assert B9 not in slow.legal()
