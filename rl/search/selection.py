"""Selection of edges: PUCT at interior nodes, and at the root PUCT or sequential halving.

PUCT, as in AlphaZero (Silver et al. 2018), selects the edge with the largest

    Q(s, a) + c(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)),    c(s) = log((1 + N(s) + c_base) / c_base) + c_init

N(s) includes the node's own evaluation. A leaf in flight counts as a visit in N(s) and N(s, a) but not in Q:
the unobserved sample count of WU-UCT (Liu et al. 2020). An edge without visits has Q = W(s) / N(s). Ties go
to the lower action.

GUMBEL searches the root by sequential halving over the `max_considered_actions` edges with the highest Gumbel
scores (Danihelka et al. 2022, "Policy improvement by planning with Gumbel"), with completed Q values, and
uses PUCT below the root. Every search needs a fresh tree. Sequential halving visits weak actions as often as
good ones, so the value of the root is that of the improved policy, not the mean over the visits.

In every kernel `tree` is a `ckai.rl.search.arrays.Tree`, `constants` the `SearchConstants`, and `e` or the
result the index of an edge; loops over `i` count the edges of the root from 0, in ascending order of their
actions.
"""

from typing import Any, NamedTuple

import numpy as np

from ckai.game.intrinsics import choose
from ckai.game.jit import hot, inner
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.games.rng import gamma, uniform

PUCT, GUMBEL = 0, 1
"""Rules at the root."""
ALPHAZERO_C_BASE = 19652.0
"""c_base of AlphaZero: c(s) hardly grows in searches of some thousand visits."""
TARGET_UNIT = 65536
"""An improved policy is stored as counts that sum to about this."""


class SearchConstants(NamedTuple):
    """Constants of the search, with the symbols of the papers that the module names."""

    c_init: float = 0.6
    """Exploration constant of PUCT, 0 or more."""
    c_base: float = 500.0
    """Visit count N(s) at which c(s) has grown by log 2, above 0; 19652 in AlphaZero."""
    noise_alpha: float = 1.0
    """Dirichlet concentration for each legal action at the root, above 0."""
    noise_epsilon: float = 0.0
    """Weight of the Dirichlet noise in the root's priors, 0 (no noise) to 1."""
    root_rule: int = PUCT
    """PUCT or GUMBEL."""
    max_considered_actions: int = 16
    """Number of edges that sequential halving starts with, 1 or more."""
    c_visit: float = 50.0
    """c_visit of sigma(q) = (c_visit + max_a N(s, a)) c_scale q, with q mapped to [0, 1]."""
    c_scale: float = 1.0
    """c_scale of sigma."""
    gumbel_noise: float = 1.0
    """Factor on the Gumbel noise; 0 makes the search deterministic."""

    def typed(self) -> "SearchConstants":
        """Return a copy with fields of their declared types: `c_init=4`, an int, would recompile kernels."""
        values: Any = (type(default)(x) for x, default in zip(self, SearchConstants(), strict=True))
        return SearchConstants(*values)


@hot
def exploration_factor(visits, constants):
    """Return c(s) sqrt(N(s)).

    Args:
        visits: N(s), visits in flight included.
        constants: the `SearchConstants`.
    """
    return (np.log((1.0 + visits + constants.c_base) / constants.c_base) + constants.c_init) * np.sqrt(visits)


@hot
def puct_edge(tree, node, constants):
    """Return the edge that PUCT selects at an OPEN node that is not proven; -1 if no score is a number."""
    here = tree.nodes[node]
    first, count = np.uint64(here.first_edge), np.uint64(here.num_edges)
    exploration = exploration_factor(here.visits + here.in_flight, constants)
    unvisited_q = here.value_sum / max(1, here.visits)
    best, best_score = np.int64(-1), -np.inf
    for e in range(first, first + count):
        # Most choices without branches: the CPU would guess too many of them wrong.
        edge = tree.edges[e]
        proof = edge.proof
        visits = np.float64(edge.visits)
        q = edge.value_sum / choose(visits == 0.0, 1.0, visits)
        q = choose(visits == 0.0, unvisited_q, q)
        if proof != NONE:  # seldom, so a branch that the CPU guesses right
            if proof == LOSS:
                continue
            q = choose(proof == DRAW, 0.0, q)
        score = q + exploration * edge.prior / (1 + edge.visits + edge.in_flight)
        better = score > best_score
        best = choose(better, np.int64(e), best)
        best_score = choose(better, score, best_score)
    return best


@hot
def select_root_edge(tree, constants):
    """Return the edge that the root rule selects at an OPEN root that is not proven."""
    if constants.root_rule == GUMBEL:
        return sequential_halving_edge(tree, constants)
    return puct_edge(tree, 0, constants)


# --- Gumbel ----------------------------------------------------------------------------------------


@inner
def considered_visits(simulation, max_considered_actions, simulations):
    """Return the visit count of the edges that sequential halving considers in a simulation.

    The same as an entry of mctx's `get_sequence_of_considered_visits`.

    Args:
        simulation: index of the simulation, from 0.
        max_considered_actions: number of edges in the first phase.
        simulations: simulations of the whole search.
    """
    if max_considered_actions <= 1:
        return simulation
    phases = np.int64(np.ceil(np.log2(max_considered_actions)))
    start, visits, num_considered = 0, 0, max_considered_actions
    while True:
        for _ in range(max(1, simulations // (phases * num_considered))):
            if simulation < start + num_considered:
                return visits
            start += num_considered
            visits += 1
        num_considered = max(2, num_considered // 2)


@inner
def completed_values(tree, constants, out):
    """Compute the completed Q values of the root's edges (Danihelka et al. 2022, appendix D).

    A visited edge has its Q, a proven edge the value of its proof, an unvisited edge the mixed value: the
    mean of the network's value of the root and, weighted by their priors, the Q of the visited edges.

    Args:
        tree: the tree.
        constants: the `SearchConstants`.
        out: float64, one entry per root edge; filled with values in [-1, 1] for the side to move at the root.

    Returns:
        The factor of sigma: sigma(q) = factor * q, up to a constant that a softmax ignores.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    visits, max_visits = 0, 0
    edge_value_sum, visited_prior, weighted_q = 0.0, 0.0, 0.0
    for i in range(count):
        edge = tree.edges[first + i]
        visits += edge.visits
        max_visits = max(max_visits, edge.visits)
        edge_value_sum += edge.value_sum
        if edge.visits > 0:
            visited_prior += edge.prior
            weighted_q += edge.prior * edge.value_sum / edge.visits
    network_value = tree.nodes[0].value_sum - edge_value_sum
    mixed_value = network_value
    if visited_prior > 0.0:
        mixed_value = (network_value + visits * weighted_q / visited_prior) / (1 + visits)
    for i in range(count):
        edge = tree.edges[first + i]
        q = mixed_value
        if edge.proof == WIN:
            q = 1.0
        elif edge.proof == LOSS:
            q = -1.0
        elif edge.proof == DRAW:
            q = 0.0
        elif edge.visits > 0:
            q = edge.value_sum / edge.visits
        out[i] = q
    return (constants.c_visit + max_visits) * constants.c_scale / 2.0


@inner
def sequential_halving_edge(tree, constants):
    """Return the root edge that sequential halving visits next: the best score among the considered edges."""
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    simulation = 0
    for e in range(first, first + count):
        simulation += tree.edges[e].visits + tree.edges[e].in_flight
    # Of all edges, so that a loss that is proven meanwhile leaves the sequence of visits as it is.
    max_considered = min(constants.max_considered_actions, count)
    visits = considered_visits(simulation, max_considered, tree.info[0].target_visits - 1)
    return best_scored_edge(tree, constants, visits, 1.0)


@inner
def best_scored_edge(tree, constants, visits, noise_factor):
    """Return the root edge with the best score g(a) + log P(s, a) + sigma(Q(s, a)), Q completed.

    Edges with `visits` visits (those in flight included) come before all others; proven losses are left out,
    and if nothing is left the result is -1. `noise_factor` scales the Gumbel noise g(a).
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    q = np.empty(count)
    sigma_factor = completed_values(tree, constants, q)
    best, best_considered, best_score = -1, False, -np.inf
    for i in range(count):
        edge = tree.edges[first + i]
        if edge.proof == LOSS:
            continue
        considered = edge.visits + edge.in_flight == visits
        score = noise_factor * edge.noise + np.log(max(edge.prior, 1e-30)) + sigma_factor * q[i]
        if (
            best < 0
            or (considered and not best_considered)
            or (considered == best_considered and score > best_score)
        ):
            best, best_considered, best_score = first + i, considered, score
    return best


@inner
def gumbel_root_edge(tree, constants, temperature):
    """Return the root edge to play after a Gumbel search: the best score of the most visited, -1 if all lose.

    `temperature` is the factor on the Gumbel noise: 1 samples as in the paper, 0 plays the best edge.
    """
    max_visits = 0
    for e in range(tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges):
        if tree.edges[e].proof != LOSS:
            max_visits = max(max_visits, tree.edges[e].visits)
    return best_scored_edge(tree, constants, max_visits, temperature)


@inner
def improved_policy(tree, constants, out):
    """Compute the improved policy of the root, softmax(log P + sigma(completed Q)) (Danihelka et al. 2022).

    Args:
        tree: the tree.
        constants: the `SearchConstants`.
        out: float64, one entry per root edge; filled with probabilities. A proven loss has probability 0
            unless the root is a proven loss.

    Returns:
        The value of the improved policy, [-1, 1] for the side to move at the root.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    q = np.empty(count)
    sigma_factor = completed_values(tree, constants, q)
    max_logit, total, value = -np.inf, 0.0, 0.0
    root_lost = tree.nodes[0].proof == LOSS
    for i in range(count):
        edge = tree.edges[first + i]
        out[i] = np.log(max(edge.prior, 1e-30)) + sigma_factor * q[i]
        if edge.proof == LOSS and not root_lost:
            out[i] = -np.inf
        max_logit = max(max_logit, out[i])
    for i in range(count):
        out[i] = np.exp(out[i] - max_logit)
        total += out[i]
    for i in range(count):
        out[i] /= total
        value += out[i] * q[i]
    return value


# --- before and after a search ---------------------------------------------------------------------


@inner
def prepare_root(tree, constants):
    """Give an OPEN root its noise, once per root.

    Under GUMBEL it is one Gumbel(0) sample per edge, kept apart from the priors; else Dirichlet noise mixed
    into them (Silver et al. 2017).
    """
    tree.info[0].root_prepared = 1
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    if constants.root_rule == GUMBEL:
        for e in range(first, first + count):
            tree.edges[e].noise = 0.0
            if constants.gumbel_noise > 0.0:
                u = max(uniform(tree.info), 1e-300)
                tree.edges[e].noise = -np.log(-np.log(u)) * constants.gumbel_noise
    elif constants.noise_epsilon > 0.0:
        noise = np.empty(count)
        total = 1e-300
        for i in range(count):
            noise[i] = gamma(tree.info, constants.noise_alpha)
            total += noise[i]
        for i in range(count):
            edge = tree.edges[first + i]
            edge.noise = noise[i] / total
            edge.prior = (1.0 - constants.noise_epsilon) * edge.prior + constants.noise_epsilon * edge.noise


@inner
def policy_target(tree, constants, out):
    """Compute the policy target of the root as counts.

    Under PUCT the visit counts; under GUMBEL the improved policy, as counts that sum to about TARGET_UNIT.
    Proven losses count 0 unless the root is lost: visits of them are from before the proof.

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
        edge = tree.edges[first + i]
        out[i] = edge.visits if edge.proof != LOSS or tree.nodes[0].proof == LOSS else 0
