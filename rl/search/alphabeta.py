"""Alpha-beta search with a network of integers, in Numba: a search that shares nothing with the tree search.

Iterative deepening with a null window around the principal variation (principal variation search, Marsland
1983), a transposition table, late move reductions, and a quiescence search: below its depth the search goes
on while the position is not quiet, which in checkers means while a capture is compulsory. Moves are ordered
by the table, the network's policy, killer moves and the history heuristic (Schaeffer 1989).

Scores are integers for the side to move: `VALUE_SCALE` times the network's value; a win in n plies is
`WON - n`. A position that occurred before, in the game or on the path, is a draw; so is one whose halfmove
clock has run out. The table does not know the path, so near such draws its scores may be wrong, as in every
program of this kind.
"""

from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.splitmix import mix
from ckai.game.jit import inner, kernel, recursive_kernel
from ckai.models.inference.integers import forward, logit
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, NONE, WIN

VALUE_SCALE = 10_000
"""Score of the network's value 1."""
WON = 30_000
"""Score of a won position, less the plies to the end of the game."""
PROVEN = 20_000
"""Scores from here on are of won games, below its negative of lost ones."""
INFINITE = 32_000
"""Above every score."""
MOST_HOPS = 512
"""Longest path in hops, with the states before the root that can be repeated."""
POLICY_DEPTH = 2
"""Least depth at which the network's policy orders the moves; below it costs more than it saves."""

EXACT, LOWER, UPPER = 1, 2, 3
"""What a score in the table is of the true one; 0: the entry is empty."""
NODES, EVALUATIONS, LIMIT = 0, 1, 2
"""Counters: positions searched, positions evaluated, and the number of positions at which to stop."""

ENTRY = np.dtype(
    [("score", np.int16), ("depth", np.int16), ("action", np.uint8), ("bound", np.uint8)], align=True
)


class Memory(NamedTuple):
    """The arrays of a search; one position is searched at a time."""

    keys: Any
    """[T, STATE_WORDS] int64: the state of each table entry without its halfmove clock, so a hit is exact."""
    entries: Any
    """[T] ENTRY."""
    path: Any
    """[MOST_HOPS, STATE_WORDS] int64: keys of the game's states and of the path, oldest first."""
    actions: Any
    """[MOST_HOPS, MAX_LEGAL_ACTIONS] uint8: the legal actions at each state of the path."""
    order: Any
    """[MOST_HOPS, MAX_LEGAL_ACTIONS] float32: their ranks, highest first."""
    killers: Any
    """[MOST_HOPS, 2] int16: the last two actions that refuted a sibling, -1 if there are none."""
    history: Any
    """[NUM_ACTIONS] int64: how often an action refuted, weighted by depth; in the view of the mover."""
    counters: Any
    """[3] int64, see `NODES`."""
    stop: Any
    """[1] uint8: set to 1 by any thread, ends the search soon."""


class Constants(NamedTuple):
    """Reductions of the depth; the defaults are usual values, not tuned by matches."""

    full_depth_moves: int = 2
    """Actions searched without a reduction."""
    reduction_depth: int = 3
    """Least depth for reductions."""
    unlikely: float = 3.0
    """Log odds below the likeliest action from which an action is reduced by one ply more."""


@inner
def table_slot(memory, key):
    """Return the index of a state's entry in the table."""
    h = np.uint64(0)
    for word in key:
        h = mix(h ^ np.uint64(word))
    return np.int64(h % np.uint64(len(memory.entries)))


@inner
def is_repeated(game, memory, state, key, at):
    """Return whether a state, number `at` of the path, occurred before."""
    first = max(0, at - contract.repetition_window(game, state))
    repeated = False
    for i in range(first, at):
        repeated |= contract.load_state(game, memory.path[i]) == key
    return repeated


@inner
def rank_actions(game, evaluation, memory, state, count, depth, at, table_action):
    """Fill `order` with a rank for every legal action at `at`: log-priors, or what refuted elsewhere.

    The likeliest action has rank 0 where the policy ranks; the table's action comes first, then killers.
    """
    actions, order = memory.actions[at], memory.order[at]
    if depth >= POLICY_DEPTH and count > 1:
        contract.encode(game, state, evaluation.board)
        forward(evaluation.weights, evaluation.board, evaluation.hidden)
        memory.counters[EVALUATIONS] += 1
        best = -np.inf
        for i in range(count):
            order[i] = logit(evaluation.weights, evaluation.hidden, np.int64(actions[i]))
            best = max(best, order[i])
        for i in range(count):
            order[i] -= best
    else:
        for i in range(count):
            order[i] = -100.0 + memory.history[actions[i]] / (1.0 + memory.history[actions[i]])
            if actions[i] == memory.killers[at, 0] or actions[i] == memory.killers[at, 1]:
                order[i] += 50.0
    for i in range(count):
        if actions[i] == table_action:
            order[i] += 1000.0


@inner
def take_best(memory, at, i, count):
    """Move the highest ranked of the actions from `i` on to place `i`."""
    actions, order = memory.actions[at], memory.order[at]
    best = i
    for j in range(i + 1, count):
        if order[j] > order[best]:
            best = j
    actions[i], actions[best] = actions[best], actions[i]
    order[i], order[best] = order[best], order[i]


@inner
def static_score(game, evaluation, memory, state):
    """Return the network's score of a state."""
    contract.encode(game, state, evaluation.board)
    memory.counters[EVALUATIONS] += 1
    return np.int64(VALUE_SCALE * forward(evaluation.weights, evaluation.board, evaluation.hidden))


@inner
def remember(memory, slot, key, action, score, depth, bound, plies):
    """Write a table entry; the score of a proven game counts from this state, not from the root."""
    if score >= PROVEN:
        score += plies
    elif score <= -PROVEN:
        score -= plies
    contract.store_state(memory.keys[slot], key)
    memory.entries[slot].score = score
    memory.entries[slot].depth = depth
    memory.entries[slot].action = action
    memory.entries[slot].bound = bound


@inner
def remembered_score(entry, plies):
    """Return the score of a table entry, with wins and losses counted from the root."""
    score = np.int64(entry.score)
    if score >= PROVEN:
        return score - plies
    if score <= -PROVEN:
        return score + plies
    return score


@inner
def terminal_score(game, memory, state, key, count, at, plies):
    """Return (whether a state below the root needs no search, its score): game over, repeated, in a table."""
    over, value = contract.outcome(game, state, count)
    if over:
        return True, np.int64(value * (WON - plies))
    if is_repeated(game, memory, state, key, at):
        return True, np.int64(0)
    proof, distance = contract.tablebase_value(game, state)
    if proof == NONE:
        return False, np.int64(0)
    if proof == DRAW:
        return True, np.int64(0)
    score = np.int64(WON - plies - distance)
    return True, score if proof == WIN else -score


@recursive_kernel
def alpha_beta(game, evaluation, constants, memory, state, depth, alpha, beta, at, root, plies):
    """Return the score of a state for the side to move: exact between `alpha` and `beta`, else a bound.

    Args:
        game: the rules.
        evaluation: the `InlineNetwork`.
        constants: the `Constants`.
        memory: the `Memory`.
        state: the state.
        depth: int64, plies left; 0 or below: quiescence search.
        alpha, beta: int64, the window.
        at: int64, index of the state in `memory.path`.
        root: int64, index of the root there.
        plies: int64, plies from the root.
    """
    memory.counters[NODES] += 1
    if memory.stop[0] or memory.counters[NODES] >= memory.counters[LIMIT]:
        memory.stop[0] = 1
        return np.int64(0)
    key = contract.key(game, state)
    contract.store_state(memory.path[at], key)
    actions = memory.actions[at]
    count = contract.legal(game, state, actions)
    if at > root:
        settled, score = terminal_score(game, memory, state, key, count, at, plies)
        if settled:
            return score
    quiet = contract.quiet(game, state)
    if (depth <= 0 and quiet) or at + 1 == MOST_HOPS:
        return static_score(game, evaluation, memory, state)
    depth = max(depth, np.int64(0))
    slot = table_slot(memory, key)
    entry = memory.entries[slot]
    table_action = -1
    if entry.bound and contract.load_state(game, memory.keys[slot]) == key:
        table_action = np.int64(entry.action)
        if at > root and entry.depth >= depth:
            score = remembered_score(entry, plies)
            if (
                entry.bound == EXACT
                or (entry.bound == LOWER and score >= beta)
                or (entry.bound == UPPER and score <= alpha)
            ):
                return score
    rank_actions(game, evaluation, memory, state, count, depth, at, table_action)
    best, best_action, low = np.int64(-INFINITE), np.int64(actions[0]), alpha
    for i in range(count):
        take_best(memory, at, i, count)
        action, rank = np.int64(actions[i]), memory.order[at, i]
        after, passed = contract.play(game, state, action)
        left = depth - 1 if passed else depth
        reduction = np.int64(0)
        if quiet and passed and depth >= constants.reduction_depth and i >= constants.full_depth_moves:
            reduction = np.int64(2) if rank < -constants.unlikely else np.int64(1)
        # All but the first are expected to be no better: a null window, first at a lower depth.
        high = beta if i == 0 else low + 1
        while True:
            if passed:
                score = -alpha_beta(
                    game, evaluation, constants, memory, after, left - reduction, -high, -low, at + 1, root,
                    plies + 1,
                )  # fmt: skip
            else:
                score = alpha_beta(
                    game, evaluation, constants, memory, after, left, low, high, at + 1, root, plies
                )
            if memory.stop[0]:
                return np.int64(0)
            if score <= low or (reduction == 0 and (high == beta or score >= beta)):
                break
            if reduction > 0:
                reduction = np.int64(0)
            else:
                high = beta
        if score > best:
            best, best_action = score, action
            low = max(low, score)
            if score >= beta:
                if quiet:
                    if memory.killers[at, 0] != action:
                        memory.killers[at, 1] = memory.killers[at, 0]
                        memory.killers[at, 0] = action
                    memory.history[action] += depth * depth
                break
    bound = UPPER if best <= alpha else LOWER if best >= beta else EXACT
    remember(memory, slot, key, best_action, best, depth, bound, plies)
    return best


@kernel
def principal_variation(game, memory, state, out):
    """Fill `out` (uint8) with the actions of the table's main line from a state; return their number."""
    legal = np.empty(contract.max_legal_actions(game), np.uint8)
    for n in range(len(out)):
        key = contract.key(game, state)
        slot = table_slot(memory, key)
        if not memory.entries[slot].bound or contract.load_state(game, memory.keys[slot]) != key:
            return n
        action = memory.entries[slot].action
        count = contract.legal(game, state, legal)
        playable = False
        for i in range(count):
            playable |= legal[i] == action
        if not playable:
            return n
        out[n] = action
        state, _ = contract.play(game, state, np.int64(action))
    return len(out)


@kernel
def set_path(game, memory, n, state):
    """Make `state` number `n` of the path."""
    contract.store_state(memory.path[n], contract.key(game, state))
