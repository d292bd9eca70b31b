"""What the policy learns from a search: its target, and how far that is from the network's policy.

Arguments are named as in `ckai.rl.search.selection`.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games.contract import DRAW, LOSS, NONE
from ckai.rl.search.selection import FORCED, GUMBEL, exploration_factor, forced_playouts, improved_policy

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
        The divergence in nats, 0 or more, from the priors without noise (but with the root temperature); 0
        for a target of zeros.
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
    """Return the prior of root edge `e` before the Dirichlet noise, but with the root temperature.

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

    Under PUCT the visit counts, with `prune_target` without those of `prune_unjustified`; under FORCED the
    visit counts after policy target pruning (Wu 2019, section 3.2); under GUMBEL the improved policy, as
    counts that sum to about TARGET_UNIT.

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
    best, visits = 0, 0
    for i in range(count):
        out[i] = tree.edges[first + i].visits
        visits += out[i]
        if out[i] > out[best]:
            best = i
    if out[best] == 0:
        return
    if constants.root_rule != FORCED:
        if constants.prune_target:
            prune_unjustified(tree, constants, best, out)
        return
    # Take forced visits off an edge while its PUCT score stays below that of the most visited edge.
    exploration = exploration_factor(np.int64(tree.nodes[0].visits), constants)
    edge = tree.edges[first + best]
    best_puct = edge.value_sum / edge.visits + exploration * edge.prior / (1 + edge.visits)
    for i in range(count):
        edge = tree.edges[first + i]
        if i == best or out[i] == 0 or edge.proof != NONE:
            continue
        q = edge.value_sum / edge.visits
        prunable = np.int64(forced_playouts(tree, first + i, visits, constants))
        while prunable > 0 and out[i] > 0 and q + exploration * edge.prior / out[i] < best_puct:
            out[i] -= 1
            prunable -= 1
        if out[i] == 1:
            out[i] = 0


@inner
def prune_unjustified(tree, constants, best, out):
    """Take off visits that PUCT with the priors without noise would not have spent, given the final values.

    An edge other than the most visited one keeps n visits if, before the last of them, its score Q + c P / n
    was not below that of the most visited edge as it is now: policy target pruning (Wu 2019, section 3.2) of
    all visits, not only of those that were forced, as KataGo came to do. Visits that noise or early, wrong
    values drew are gone from the target. A proven loss keeps none, a proven draw has Q = 0. If the most
    visited edge turned out to lose, nothing is taken off.

    Args:
        tree: the tree.
        constants: the `SearchConstants`.
        best: which root edge, counted from 0, has the most visits, 1 or more.
        out: int64, the visit counts of the root edges, which are reduced.
    """
    first = np.int64(tree.nodes[0].first_edge)
    if tree.edges[first + best].proof == LOSS:
        return
    exploration = exploration_factor(np.int64(tree.nodes[0].visits), constants)
    prior = prior_without_noise(tree, first + best, constants)
    best_puct = final_value(tree, first + best) + exploration * prior / (1 + out[best])
    for i in range(len(out)):
        if i == best or out[i] == 0:
            continue
        if tree.edges[first + i].proof == LOSS:
            out[i] = 0
            continue
        q = final_value(tree, first + i)
        prior = prior_without_noise(tree, first + i, constants)
        while out[i] > 0 and q + exploration * prior / out[i] < best_puct:
            out[i] -= 1


@inner
def final_value(tree, e):
    """Return Q of a visited root edge that is not a proven loss, as PUCT has it: 0 for a proven draw."""
    edge = tree.edges[e]
    return 0.0 if edge.proof == DRAW else edge.value_sum / edge.visits
