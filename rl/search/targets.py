"""What the policy learns from a search: its target, and how far that is from the network's policy.

Arguments are named as in `ckai.rl.search.selection`.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.search.selection import GUMBEL, improved_policy

TARGET_UNIT = 65536
"""An improved policy is stored as counts that sum to about this."""


@inner
def policy_kl(tree, constants, target):
    """Return the KL divergence of the policy target from the network's policy at the root: KL(target || P).

    Args:
        tree: the tree.
        constants: the `SearchConstants`.
        target: int64, one entry per root edge, the counts of `policy_target`.

    Returns:
        The divergence in nats, 0 or more, from the priors without noise; 0 for a target of zeros.
    """
    first, total = np.int64(tree.nodes[0].first_edge), 0
    for i in range(len(target)):
        total += target[i]
    if total == 0:
        return 0.0
    divergence = 0.0
    for i in range(len(target)):
        if target[i] > 0:
            p = target[i] / total
            divergence += p * np.log(p / max(prior_without_noise(tree, first + i, constants), 1e-6))
    return max(0.0, divergence)


@inner
def prior_without_noise(tree, e, constants):
    """Return the prior of root edge `e` before the Dirichlet noise.

    Rounding may leave it a little below 0. Noise of weight 1 leaves nothing of it: then the noise itself.
    """
    edge = tree.edges[e]
    prior = edge.prior
    if constants.root_rule != GUMBEL and tree.info[0].root_prepared and constants.noise_epsilon < 1.0:
        prior = (prior - constants.noise_epsilon * edge.noise) / (1.0 - constants.noise_epsilon)
    return prior


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
