"""Which edge a search follows: PUCT below the root, and at the root PUCT or one of two other rules.

PUCT as in AlphaZero (Silver et al. 2018) takes the edge with the largest

    Q(s, a) + c(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)),    c(s) = log((1 + N(s) + c_base) / c_base) + c_init

where a leaf on its way to the network counts as a visit in N, and as `virtual_loss` visits that lost in Q
(Chaslot et al. 2008; with 0 it is the watching of unobserved visits of Liu et al. 2020), and an edge without
visits has Q = the node's own mean value - fpu_reduction. Ties go to the lower action. N(s)
counts the node's own evaluation.

FORCED adds forced playouts (Wu 2019, "Accelerating Self-Play Learning in Go", section 3.2): an edge that
has been visited gets at least sqrt(forced_playouts_k P(a) N) visits, and what PUCT would not have spent is taken
away again from the policy target.

GUMBEL plans at the root by sequential halving over the `max_considered_actions` edges of the highest Gumbel score
(Danihelka et al. 2022, "Policy improvement by planning with Gumbel"), with completed Q values; below the
root PUCT goes on. It wants a fresh tree for every move. Halving looks at weak moves as often as at good ones,
so the root's value is that of the improved policy, not the mean of all visits.
"""

from typing import NamedTuple

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.games.rng import gamma, uniform

PUCT, FORCED, GUMBEL = 0, 1, 2
"""Numbers of the rules at the root; `ckai.rl.search.rules.ROOT_RULES` has their names in this order."""

TARGET_UNIT = 65536
"""Counts of an improved policy sum to about this."""


class Puct(NamedTuple):
    """The constants of selection."""

    c_init: float = 4.0
    c_base: float = 19652.0
    fpu_reduction: float = 0.0
    """Subtracted from the node's mean value to give an unvisited edge's Q."""
    noise_alpha: float = 1.0
    """Dirichlet concentration for each legal action at the root."""
    noise_epsilon: float = 0.0
    """Share of the root's prior that is noise; 0 = none."""
    root_temperature: float = 1.0
    """Exponent 1/T on the root's priors before the noise."""
    virtual_loss: float = 0.0
    """Lost visits that a leaf counts as while it is evaluated, beside the visit; 0 played best."""
    root_rule: int = PUCT
    """PUCT, FORCED or GUMBEL."""
    forced_playouts_k: float = 2.0
    max_considered_actions: int = 16
    """Edges that sequential halving begins with."""
    c_visit: float = 50.0
    c_scale: float = 1.0
    """sigma(q) = (c_visit + most visits of an edge) c_scale q, with q in [0, 1]."""
    gumbel_noise: float = 1.0
    """Factor on the Gumbel noise; 0 to play the best."""


@inner
def exploration(node, visits, puct):
    """c(s) sqrt(N(s)) of a node with so many visits, those in flight included."""
    return (np.log((1.0 + visits + puct.c_base) / puct.c_base) + puct.c_init) * np.sqrt(visits)


@inner
def best_edge(tree, node, puct):
    """The edge PUCT selects at an open node that is not proven."""
    first = tree.nodes[node].first_edge
    last = first + tree.nodes[node].num_edges
    flying = 0
    for e in range(first, last):
        flying += tree.edges[e].in_flight
    visits = tree.nodes[node].visits + flying
    scale = exploration(node, visits, puct)
    unvisited = tree.nodes[node].value_sum / max(1, tree.nodes[node].visits) - puct.fpu_reduction
    best = -1
    best_score = -np.inf
    for e in range(first, last):
        proof = tree.edges[e].proof
        if proof == LOSS:
            continue
        n = tree.edges[e].visits + tree.edges[e].in_flight
        lost = puct.virtual_loss * tree.edges[e].in_flight
        if proof == DRAW:
            q = 0.0
        elif tree.edges[e].visits + lost == 0.0:
            q = unvisited
        else:
            q = (tree.edges[e].value_sum - lost) / (tree.edges[e].visits + lost)
        score = q + scale * tree.edges[e].prior / (1 + n)
        if score > best_score:
            best_score = score
            best = e
    return best


@inner
def root_edge(tree, puct):
    """The edge to follow from the root."""
    if puct.root_rule == GUMBEL:
        return halving_edge(tree, puct)
    if puct.root_rule == FORCED:
        first = tree.nodes[0].first_edge
        total = 0
        for e in range(first, first + tree.nodes[0].num_edges):
            total += tree.edges[e].visits + tree.edges[e].in_flight
        for e in range(first, first + tree.nodes[0].num_edges):
            n = tree.edges[e].visits + tree.edges[e].in_flight
            if n > 0 and tree.edges[e].proof != LOSS and n < forced_playouts(tree, e, total, puct):
                return e
    return best_edge(tree, 0, puct)


@inner
def forced_playouts(tree, e, total, puct):
    """Visits that a root edge is due among `total` of all edges."""
    return np.sqrt(puct.forced_playouts_k * tree.edges[e].prior * total)


# --- Gumbel ----------------------------------------------------------------------------------------


@inner
def considered_visits(simulation, max_considered_actions, simulations):
    """How many visits the edges have that sequential halving looks at in a simulation (from 0)."""
    if max_considered_actions <= 1:
        return simulation
    rounds = np.int64(np.ceil(np.log2(max_considered_actions)))
    place, visits, width = 0, 0, max_considered_actions
    while True:
        for _ in range(max(1, simulations // (rounds * width))):
            if simulation < place + width:
                return visits
            place += width
            visits += 1
        width = max(2, width // 2)


@inner
def completed_values(tree, puct, out):
    """Fill `out` with the completed Q of the root's edges, [-1, 1]; return the factor of sigma.

    sigma(q) is the factor times q, but for a constant. An edge without visits has the mixed value of the
    paper (appendix D): the network's value of the root and the mean of the visited edges, weighted by their
    priors.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    visits, most = 0, 0
    of_edges, prior, weighted = 0.0, 0.0, 0.0
    for i in range(count):
        edge = tree.edges[first + i]
        visits += edge.visits
        most = max(most, edge.visits)
        of_edges += edge.value_sum
        if edge.visits > 0:
            prior += edge.prior
            weighted += edge.prior * edge.value_sum / edge.visits
    own = tree.nodes[0].value_sum - of_edges
    mixed = own
    if prior > 0.0:
        mixed = (own + visits * weighted / prior) / (1 + visits)
    for i in range(count):
        edge = tree.edges[first + i]
        q = mixed
        if edge.proof == WIN:
            q = 1.0
        elif edge.proof == LOSS:
            q = -1.0
        elif edge.proof == DRAW:
            q = 0.0
        elif edge.visits > 0:
            q = edge.value_sum / edge.visits
        out[i] = q
    return (puct.c_visit + most) * puct.c_scale / 2.0


@inner
def halving_edge(tree, puct):
    """The edge that sequential halving visits next: the best score among those with the visits wanted."""
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    done, alive = 0, 0
    for e in range(first, first + count):
        done += tree.edges[e].visits + tree.edges[e].in_flight
        alive += tree.edges[e].proof != LOSS
    wanted = considered_visits(done, min(puct.max_considered_actions, alive), tree.info[0].target_visits - 1)
    return best_score(tree, puct, wanted, 1.0)


@inner
def best_score(tree, puct, wanted, noise):
    """The root edge with the best score, those with `wanted` visits before others.

    The score is log prior + sigma(Q) + so much of the edge's Gumbel noise.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    q = np.empty(count)
    factor = completed_values(tree, puct, q)
    best, best_fits, top = -1, False, -np.inf
    for i in range(count):
        edge = tree.edges[first + i]
        if edge.proof == LOSS:
            continue
        fits = edge.visits + edge.in_flight == wanted
        score = noise * edge.noise + np.log(max(edge.prior, 1e-30)) + factor * q[i]
        if best < 0 or (fits and not best_fits) or (fits == best_fits and score > top):
            best, best_fits, top = first + i, fits, score
    return best


@inner
def gumbel_choice(tree, puct, temperature):
    """The root edge that the search ends on: the best score among the most visited; -1 if all lose.

    With the noise at `temperature` 1 this draws from the improved policy, with none it is the best move.
    """
    most = 0
    for e in range(tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges):
        if tree.edges[e].proof != LOSS:
            most = max(most, tree.edges[e].visits)
    return best_score(tree, puct, most, temperature)


@inner
def improved_policy(tree, puct, out):
    """Fill `out` with softmax(log prior + sigma(completed Q)) of the root's edges; return its value.

    A proven loss has no share while there is another move.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    q = np.empty(count)
    factor = completed_values(tree, puct, q)
    top, total, value = -np.inf, 0.0, 0.0
    lost = tree.nodes[0].proof == LOSS
    for i in range(count):
        edge = tree.edges[first + i]
        out[i] = np.log(max(edge.prior, 1e-30)) + factor * q[i]
        if edge.proof == LOSS and not lost:
            out[i] = -np.inf
        top = max(top, out[i])
    for i in range(count):
        out[i] = np.exp(out[i] - top)
        total += out[i]
    for i in range(count):
        out[i] /= total
        value += out[i] * q[i]
    return value


# --- before and after a search ---------------------------------------------------------------------


@inner
def prepare_root(tree, puct):
    """Once a root is open: its temperature and noise, one time (Silver et al. 2017, Dirichlet noise)."""
    tree.info[0].root_prepared = 1
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    if puct.root_temperature != 1.0:
        total = 0.0
        for e in range(first, first + count):
            tree.edges[e].prior = tree.edges[e].prior ** (1.0 / puct.root_temperature)
            total += tree.edges[e].prior
        for e in range(first, first + count):
            tree.edges[e].prior /= total
    if puct.root_rule == GUMBEL:
        for e in range(first, first + count):
            tree.edges[e].noise = 0.0
            if puct.gumbel_noise > 0.0:
                u = max(uniform(tree.info), 1e-300)
                tree.edges[e].noise = -np.log(-np.log(u)) * puct.gumbel_noise
    elif puct.noise_epsilon > 0.0:
        noise = np.empty(count)
        total = 1e-300
        for i in range(count):
            noise[i] = gamma(tree.info, puct.noise_alpha)
            total += noise[i]
        for i in range(count):
            edge = tree.edges[first + i]
            edge.noise = noise[i] / total
            edge.prior = (1.0 - puct.noise_epsilon) * edge.prior + puct.noise_epsilon * edge.noise


@inner
def policy_kl_of(tree, puct, target):
    """How far the policy's target is from what the network said of the root.

    The Kullback-Leibler divergence in nats, 0 or more, of the shares of `target` (int64, one entry a root
    edge) from the priors before noise.
    """
    first, total = np.int64(tree.nodes[0].first_edge), 0
    for i in range(len(target)):
        total += target[i]
    if total == 0:
        return 0.0
    share = puct.noise_epsilon if puct.root_rule != GUMBEL and tree.info[0].root_prepared else 0.0
    found = 0.0
    for i in range(len(target)):
        if target[i] > 0:
            edge = tree.edges[first + i]
            prior = edge.prior
            if share < 1.0:
                prior = (prior - share * edge.noise) / (1.0 - share)
            p = target[i] / total
            found += p * np.log(p / max(prior, 1e-6))
    return max(0.0, found)


@inner
def policy_target(tree, puct, out):
    """Fill `out` (int64, one entry a root edge) with the counts that the policy is to learn.

    The visits; under FORCED without those that only the rule spent; under GUMBEL the improved policy, as
    counts that sum to about TARGET_UNIT.
    """
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    if puct.root_rule == GUMBEL:
        share = np.empty(count)
        improved_policy(tree, puct, share)
        for i in range(count):
            out[i] = np.int64(round(share[i] * TARGET_UNIT))
        return
    best, visits = 0, 0
    for i in range(count):
        out[i] = tree.edges[first + i].visits
        visits += out[i]
        if out[i] > out[best]:
            best = i
    if puct.root_rule != FORCED or out[best] == 0:
        return
    scale = exploration(0, np.int64(tree.nodes[0].visits), puct)
    edge = tree.edges[first + best]
    bar = edge.value_sum / edge.visits + scale * edge.prior / (1 + edge.visits)
    for i in range(count):
        edge = tree.edges[first + i]
        if i == best or out[i] == 0 or edge.proof != NONE:
            continue
        q = edge.value_sum / edge.visits
        spare = np.int64(forced_playouts(tree, first + i, visits, puct))
        while spare > 0 and out[i] > 0 and q + scale * edge.prior / out[i] < bar:
            out[i] -= 1
            spare -= 1
        if out[i] == 1:
            out[i] = 0
