"""Many search trees in flat arrays: no Python object a node, bounded memory, known before a run starts.

A node's edges lie side by side, so selection reads them in one sweep. All values are in [-1, 1] for the
side to move at the node named; an edge's values are in the view of the node it leaves. When a capture goes
on the same side moves at both ends of an edge (`sign` +1), else the sign changes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PENDING, OPEN, TERMINAL, NEW = 0, 1, 2, 3
"""Status of a node: is at the network, has priors, the game is over; NEW is a root on its way there."""

_NODE_FIELDS: list[Any] = [
    ("value_sum", np.float64),  # W(s), sum of the values backed up, for the side to move
    ("visits", np.int32),  # N(s), the node's own evaluation included
    ("parent", np.int32),  # -1 at the root
    ("parent_edge", np.int32),  # the edge that leads here
    ("first_edge", np.int32),  # first edge
    ("plies", np.int16),  # distance of a proven end
    ("num_edges", np.uint8),  # number of edges
    ("sign", np.int8),  # +1 if the side to move is the parent's, else -1
    ("status", np.uint8),
    ("proof", np.uint8),
]


def node_dtype(state_words: int) -> np.dtype[Any]:
    """Return the record of a node, NODE below, for a game whose states have so many int64 words."""
    return np.dtype([("state", np.int64, (state_words,)), *_NODE_FIELDS], align=True)


EDGE = np.dtype(
    [
        ("value_sum", np.float64),  # W(s, a), for the side to move at the node the edge leaves
        ("prior", np.float32),  # P(s, a), sums to 1 over a node; noise mixed in at the root
        ("visits", np.int32),  # N(s, a)
        ("child", np.int32),  # -1 until visited
        ("noise", np.float32),  # noise of a root edge, 0 elsewhere: Gumbel's, or its share of Dirichlet's
        ("plies", np.int16),  # distance of a proven end
        ("in_flight", np.int16),  # leaves below that wait for the network
        ("action", np.uint8),
        ("proof", np.uint8),  # for the side to move at the node the edge leaves
    ],
    align=True,
)

TREE = np.dtype(
    [
        ("rng", np.uint64),  # one random stream a tree
        ("simulations", np.int64),  # backed up since the tree_batch was planted
        ("nodes", np.int32),  # used; node 0 is the root
        ("edges", np.int32),  # used
        ("history_length", np.int32),  # used
        ("target_visits", np.int32),  # visits that the root is searched to
        ("root_prepared", np.uint8),  # whether the root's priors had their temperature and noise
    ],
    align=True,
)

SLOT = np.dtype([("tree", np.int32), ("node", np.int32)], align=True)


class Tree(NamedTuple):
    """One tree of a tree_batch."""

    nodes: Array
    """[C] NODE."""
    edges: Array
    """[E] EDGE."""
    info: Array
    """[1] TREE."""
    history: Array
    """[H, W] int64, keys of the states before the root that a repetition can reach, oldest first."""


class TreeBatch(NamedTuple):
    """T trees of up to C nodes and E edges, and a batch of B leaves on the way to the network."""

    nodes: Array
    """[T, C] NODE."""
    edges: Array
    """[T, E] EDGE."""
    info: Array
    """[T] TREE."""
    history: Array
    """[T, H, W] int64."""
    slots: Array
    """[B] SLOT, where each leaf of the batch hangs."""
    boards: Array
    """[B, POSITION_BYTES] int8, the encoded leaves."""
    scratch: Array
    """[C, 2] int32, for keeping a subtree."""


EDGES_PER_NODE = 14
"""Room for edges: a checkers position has 6 legal hops on average, 12 and more with several kings."""


def _shapes(game: Any, trees: int, nodes: int, leaves: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    edges = nodes * min(EDGES_PER_NODE, game.MAX_LEGAL_ACTIONS) + game.MAX_LEGAL_ACTIONS
    return {
        "nodes": ((trees, nodes), node_dtype(game.STATE_WORDS)),
        "edges": ((trees, edges), EDGE),
        "info": ((trees,), TREE),
        "history": ((trees, game.history, game.STATE_WORDS), np.int64),
        "slots": ((trees * leaves,), SLOT),
        "boards": ((trees * leaves, game.POSITION_BYTES), np.int8),
        "scratch": ((nodes, 2), np.int32),
    }


def allocate_trees(game: Any, trees: int, nodes: int, leaves: int) -> TreeBatch:
    """Make a batch of empty trees.

    Args:
        game: the rules, see `ckai.rl.games.contract`.
        trees: T, how many searches at once.
        nodes: C, nodes a tree can hold.
        leaves: most leaves a tree sends in one batch; B = T * leaves.
    """
    shapes = _shapes(game, trees, nodes, leaves)
    return TreeBatch(**{name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()})


def tree_batch_bytes(game: Any, trees: int, nodes: int, leaves: int) -> int:
    """Return the memory of a batch of trees of this size, in bytes."""
    shapes = _shapes(game, trees, nodes, leaves)
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())
