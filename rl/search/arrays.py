"""Search trees in flat NumPy arrays: nodes, edges and counters of many trees at once.

There is no Python object per node. The capacity of a tree is fixed when it is allocated; the system gives
memory only for the part that is used. The edges of a node are contiguous, so selection reads them in one
pass.

The symbols are those of AlphaZero: N visit count, W value sum, Q = W / N mean value, P prior. Values are in
[-1, 1]: +1 win, 0 draw, -1 loss. A node's value is for the side to move at that node; an edge's value is for
the side to move at the node it leaves. An action is a single step or a single jump ("hop"), and after a jump
the same side may have to jump on: then both ends of the edge have the same side to move and the value
keeps its sign (`sign` +1); otherwise the value is negated (`sign` -1).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.machine import available_memory
from ckai.models.inference.integers import CACHE_LINE, aligned_zeros

Array = NDArray[Any]

PENDING, OPEN, TERMINAL, NEW = 0, 1, 2, 3
"""Status of a node.

NEW: a root that is in no batch yet. PENDING: a leaf in flight, that is in a batch and not yet evaluated; also
a node that was proven when it was added, which is never evaluated. OPEN: expanded, its edges have priors.
TERMINAL: the game is over.
"""

_NODE_FIELDS: list[Any] = [
    ("value_sum", np.float64),  # W(s), for the side to move here
    ("visits", np.int32),  # N(s), the node's own evaluation included
    ("parent", np.int32),  # index of the parent node, -1 at the root
    ("parent_edge", np.int32),  # index of the edge that leads here, -1 at the root
    ("first_edge", np.int32),  # index of its first edge
    ("in_flight", np.int32),  # leaves below its edges that are in a batch and not yet evaluated
    ("plies", np.int16),  # of a proven win or loss: plies to the end of the game
    ("depth", np.int16),  # plies from the root; a capture of several hops is one
    ("num_edges", np.uint8),  # number of legal actions
    ("sign", np.int8),  # -1 if the move to this node passed the turn, +1 if the same side moves again
    ("status", np.uint8),  # PENDING, OPEN, TERMINAL or NEW
    ("proof", np.uint8),  # NONE, WIN, LOSS or DRAW, for the side to move here
]


def node_dtype(state_words: int) -> np.dtype[Any]:
    """Return NODE, the record of a node, for a game whose states have `state_words` int64 words.

    Its size is a multiple of a cache line: 64 bytes for states of up to 3 words.
    """
    fields = [("state", np.int64, (state_words,)), *_NODE_FIELDS]
    padding = -np.dtype(fields).itemsize % CACHE_LINE
    return np.dtype([*fields, ("padding", np.uint8, (padding,))], align=True)


EDGE = np.dtype(
    [
        ("value_sum", np.float64),  # W(s, a), for the side to move at the node that the edge leaves
        ("prior", np.float32),  # P(s, a), sums to 1 over a node; at the root with noise
        ("visits", np.int32),  # N(s, a)
        ("child", np.int32),  # index of the node it leads to, -1 until first selected
        ("plies", np.int16),  # of a proven win or loss: plies to the end of the game
        ("in_flight", np.int16),  # leaves below this edge that are in a batch and not yet evaluated
        ("action", np.uint8),
        ("proof", np.uint8),  # NONE, WIN, LOSS or DRAW, for the side to move at the node that the edge leaves
    ],
    align=True,
)

TREE = np.dtype(
    [
        ("rng", np.uint64),  # state of the tree's own random stream, see `ckai.datasets.split`
        ("simulations", np.int64),  # simulations backed up since the batch of trees was allocated
        ("nodes", np.int32),  # nodes in use; node 0 is the root
        ("edges", np.int32),  # edges in use
        ("depth", np.int32),  # of the deepest node
        ("history_length", np.int32),  # rows of `history` in use
        ("table_size", np.int32),  # entries of the table of transpositions, from the first on
        ("table_used", np.int32),  # entries in use
        ("root_prepared", np.uint8),  # 1 once the root's priors have their noise
    ],
    align=True,
)

PATH = 6
"""Nodes above a leaf that its slot names."""

SLOT = np.dtype(
    [
        ("tree", np.int32),  # index of the tree
        ("node", np.int32),  # index of the leaf in it
        # What expansion and backup read of the tree, so that it can be prefetched at once:
        ("first_edge", np.int32),  # of the leaf
        ("num_edges", np.int32),  # of the leaf
        ("path", np.int32, (PATH,)),  # the nodes above it, its parent first; beyond the root the root again
        ("path_edges", np.int32, (PATH,)),  # path_edges[i] is the edge of path[i] towards the leaf
    ],
    align=True,
)
"""Where a leaf of a batch belongs. One cache line."""


class Tree(NamedTuple):
    """One tree of a `TreeBatch`: views, so that writing to them changes the batch."""

    nodes: Array
    """[C] NODE."""
    edges: Array
    """[E] EDGE."""
    info: Array
    """[1] TREE, the tree's counters and random stream; an array of one, so that kernels can write to it."""
    history: Array
    """[H, W] int64, repetition keys of the game's states before the root, oldest first."""
    transpositions: Array
    """[2 C] uint64, the nodes by their states, see `ckai.rl.search.transpositions`; [0]: not needed."""


class TreeBatch(NamedTuple):
    """T trees of up to C nodes and E edges each, and one batch of up to B leaves to evaluate."""

    nodes: Array
    """[T, C] NODE."""
    edges: Array
    """[T, E] EDGE."""
    info: Array
    """[T] TREE."""
    history: Array
    """[T, H, W] int64."""
    transpositions: Array
    """[T, 2 C] uint64; [T, 0]: every node is evaluated."""
    slots: Array
    """[B] SLOT, the node of each leaf in the batch."""
    boards: Array
    """[B, POSITION_BYTES] int8, each leaf as the network sees it, in the view of its side to move."""
    scratch: Array
    """[C, 2] int32, working memory of `ckai.rl.search.mcts.keep_subtree`."""


MEMORY_SHARE = 0.25
"""Share of the memory of this process that trees without a given capacity may take."""


def _shapes(
    game: Any, trees: int, nodes: int, leaves: int, transpositions: bool
) -> dict[str, tuple[tuple[int, ...], Any]]:
    edges = nodes * game.MEAN_LEGAL_ACTIONS + game.MAX_LEGAL_ACTIONS
    return {
        "nodes": ((trees, nodes), node_dtype(game.STATE_WORDS)),
        "edges": ((trees, edges), EDGE),
        "info": ((trees,), TREE),
        "history": ((trees, game.history, game.STATE_WORDS), np.int64),
        "slots": ((trees * leaves,), SLOT),
        "boards": ((trees * leaves, game.POSITION_BYTES), np.int8),
        "transpositions": ((trees, 2 * nodes if transpositions else 0), np.uint64),
        "scratch": ((nodes, 2), np.int32),
    }


def tree_batch_bytes(game: Any, trees: int, nodes: int, leaves: int, *, transpositions: bool = True) -> int:
    """Return the memory in bytes of what `allocate_trees` allocates for the same arguments."""
    shapes = _shapes(game, trees, nodes, leaves, transpositions)
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())


def allocate_trees(
    game: Any, trees: int, nodes: int | None, leaves: int, *, transpositions: bool = True
) -> TreeBatch:
    """Allocate a batch of empty trees. A tree is used after `ckai.rl.search.batch.set_root_state`.

    Args:
        game: the rules, see `ckai.rl.games.contract`.
        trees: T, number of trees, 1 or more.
        nodes: C, capacity of a tree in nodes, 1 or more; None: all trees together may take `MEMORY_SHARE` of
            the memory, or half of it where the system refuses so much, and so on.
        leaves: most leaves of one tree in a batch; B = T * leaves.
        transpositions: see `ckai.rl.search.transpositions`.
    """
    largest, size = nodes is None, partial(tree_batch_bytes, transpositions=transpositions)
    if nodes is None:
        thousand = size(game, trees, 1001, leaves) - size(game, trees, 1, leaves)
        nodes = max(1000, int(MEMORY_SHARE * available_memory() / thousand) * 1000)
    while True:
        shapes = _shapes(game, trees, nodes, leaves, transpositions)
        try:
            return TreeBatch(**{name: aligned_zeros(*shape) for name, shape in shapes.items()})
        except (MemoryError, OSError):
            if not largest or nodes <= 1000:
                raise
            nodes //= 2
