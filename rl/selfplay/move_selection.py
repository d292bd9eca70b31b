"""Choosing the action to play after a search of self-play, in Numba."""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games.contract import LOSS, WIN
from ckai.rl.games.rng import uniform
from ckai.rl.search.mcts import best_root_edge
from ckai.rl.search.selection import GUMBEL, gumbel_root_edge


@inner
def draw_edge(tree, temperature):
    """Draw a root edge with weights N ** (1 / T), T above 0; proven losses only if all edges lose."""
    first, count = tree.nodes[0].first_edge, tree.nodes[0].num_edges
    weights = np.zeros(count)
    max_visits = 0
    for i in range(count):
        if tree.edges[first + i].proof != LOSS:
            max_visits = max(max_visits, tree.edges[first + i].visits)
    if max_visits == 0:
        return best_root_edge(tree)
    total = 0.0
    for i in range(count):
        if tree.edges[first + i].proof != LOSS:
            weights[i] = (tree.edges[first + i].visits / max_visits) ** (1.0 / temperature)
            total += weights[i]
    remainder = uniform(tree.info) * total
    drawn = -1
    for i in range(count):
        if weights[i] > 0.0:
            drawn = first + i
            remainder -= weights[i]
            if remainder < 0.0:
                break
    return drawn


@inner
def pick_edge(tree, constants, rules, ply):
    """Return the root edge to play at this ply: drawn while the temperature is above 0, else the best one."""
    temperature = rules.temperature
    if ply >= rules.temperature_plies:
        temperature *= 0.5 ** ((ply - rules.temperature_plies + 1) / rules.temperature_halflife)
    if temperature < rules.temperature_floor:
        temperature = 0.0
    if tree.nodes[0].proof == WIN:
        return best_root_edge(tree)
    if constants.root_rule == GUMBEL:
        e = gumbel_root_edge(tree, constants, temperature)
        return e if e >= 0 else best_root_edge(tree)
    return draw_edge(tree, temperature) if temperature > 0.0 else best_root_edge(tree)
