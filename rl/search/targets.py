"""What the policy learns from a search.

Arguments are named as in `ckai.rl.search.selection`.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.search.selection import GUMBEL, improved_policy

TARGET_UNIT = 65536
"""An improved policy is stored as counts that sum to about this."""


@inner
def policy_target(tree, constants, out):
    """Compute the policy target of the root as counts.

    Under PUCT the visit counts; under GUMBEL the improved policy, as counts that sum to about TARGET_UNIT.

    Args:
        tree: the tree.
        constants: the `SearchConstants`.
        out: int64, one entry per root edge; filled with counts of 0 or more.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    if constants.root_rule == GUMBEL:
        policy = np.empty(count)
        improved_policy(tree, constants, policy)
        for i in range(count):
            out[i] = np.int64(round(policy[i] * TARGET_UNIT))
        return
    for i in range(count):
        out[i] = tree.edges[first + i].visits
