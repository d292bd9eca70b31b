"""Earlier states of a game in a search: repetitions on the path from the root and in the history, in Numba.

Arguments are named as in `ckai.rl.search.mcts`.
"""

import numpy as np

from ckai.game.jit import hot, inner
from ckai.rl.games import contract


@inner
def append_history(game, tree, state, next_state):
    """Add the key of `state`, whose successor is `next_state`, to the tree's history.

    The history is cleared instead if no state up to `state` can occur again after `next_state`.
    """
    if contract.repetition_window(game, next_state) == 0:
        tree.info[0].history_length = 0
        return
    n = tree.info[0].history_length
    capacity = tree.history.shape[0]
    if n == capacity:
        for i in range(1, n):
            for word in range(tree.history.shape[1]):
                tree.history[i - 1, word] = tree.history[i, word]
        n -= 1
    contract.store_state(tree.history[n], contract.key(game, state))
    tree.info[0].history_length = n + 1


@hot
def count_repetitions(game, tree, state, parent):
    """Return how often `state`, a child of node `parent`, has occurred, on the path and in the history."""
    window = contract.repetition_window(game, state)
    key = contract.key(game, state)
    occurrences = 1
    node = parent
    while node >= 0 and window > 0:
        other = contract.key(game, contract.load_state(game, tree.nodes[node].state))
        if other == key:
            occurrences += 1
        window -= 1
        node = tree.nodes[node].parent
    i = tree.info[0].history_length - 1
    while i >= 0 and window > 0:
        # One word tells almost all states apart; loading the others costs most of the time in a long game.
        if tree.history[i, 0] == key[0] and contract.load_state(game, tree.history[i]) == key:
            occurrences += 1
        window -= 1
        i -= 1
    return occurrences


@contract.only_with(
    "FORBIDS_REPETITION", lambda game, tree, state, parent, out: contract.legal(game, state, out)
)
def legal_in_tree(game, tree, state, parent, out):
    """Write the legal actions, ascending, into `out`, uint8; return their number.

    Those of `contract.legal`, without the ones that lead to a state which occurred before where the game has
    `FORBIDS_REPETITION`. `state` is a child of node `parent`, which is -1 at the root.
    """
    count = contract.legal(game, state, out)
    kept = 0
    for i in range(count):
        action = np.int64(out[i])
        if not (contract.may_repeat(game, state, action) and _repeats(game, tree, state, parent, action)):
            out[kept] = action
            kept += 1
    return kept


@inner
def _repeats(game, tree, state, parent, action):
    """Return whether an action in `state`, a child of `parent`, leads to a state that occurred before."""
    after, _ = contract.play(game, state, action)
    return contract.key(game, after) == contract.key(game, state) or (
        count_repetitions(game, tree, after, parent) > 1
    )
