"""Kernels of distillation: walks by a network's policy, and games of alpha-beta against itself.

In every kernel `records` is the `Records` of `ckai.rl.selfplay.recording`, `walks` the `Walks`, `t` the index
of a walk.
"""

from typing import Any, NamedTuple

import numpy as np

from ckai.datasets.split import uniform
from ckai.game.jit import inner, kernel, lent
from ckai.rl.alphabeta.kernel import INFINITE, MAX_DEPTH, PROVEN, VALUE_SCALE, WON, alpha_beta, terminal_score
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.selfplay.recording import FINISHED, PLAYING, count_action

SHARES = 1_000_000
"""Sum of the visit counts that stand for a policy in a row."""
QUIET_PLIES = 40
"""A game is drawn after so many plies without a capture or a move of a man."""
STREAM = np.dtype([("rng", np.uint64)])


class Walks(NamedTuple):
    """T walks at a time: short games by a network's policy alone, labelled with its policy and value.

    A position costs one evaluation, which labels it and draws the next action. In place of some actions a
    random one is played, so that the walks also see what good play avoids. A walk ends with the game, after
    some plies, or in the tablebases.
    """

    states: Any
    """[T, STATE_WORDS] int64: where each walk is."""
    streams: Any
    """[T] STREAM: a random stream for each."""
    boards: Any
    """[T, POSITION_BYTES] int8: the positions to evaluate."""


@kernel
def arrive(game, walks, records, t, state):
    """Move walk `t` to a state; it is FINISHED if the game is over or the tablebases have the state."""
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    count = contract.legal(game, state, actions)
    over, _ = contract.outcome(game, state, count)
    if not over:
        proof, _ = contract.tablebase_value(game, state)
        over = proof != NONE
    contract.store_state(walks.states[t], state)
    contract.encode(game, state, walks.boards[t])
    records.games[t].status = FINISHED if over else PLAYING


@kernel
def step_walks(game, walks, records, explore, plies, logits, values):
    """Label the position of every walk and play an action in it, a random one with probability `explore`.

    `logits` `[T, NUM_ACTIONS]` and `values` `[T]`, float32, are of `walks.boards`. A walk ends after `plies`.
    Returns whether the values and the logits of all legal actions are finite.
    """
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    policy = np.empty(contract.max_legal_actions(game))
    for t in range(len(walks.states)):
        here = records.games[t]
        if here.status != PLAYING:
            continue
        state = contract.load_state(game, walks.states[t])
        count = contract.legal(game, state, actions)
        total = softmax(logits[t], actions, count, policy)
        if not (np.isfinite(total) and np.isfinite(values[t])):
            return False
        chosen = choose(walks, t, policy, count, explore)
        add_row(records, t, state, actions[chosen], np.float64(values[t]))
        for i in range(count):
            add_count(records, t, actions[i], np.uint32(policy[i] * SHARES + 0.5))
        state, passed = contract.play(game, state, np.int64(actions[chosen]))
        count_action(here, passed)
        full = here.rows == records.rows.shape[1] or here.counts + len(policy) > records.counts.shape[1]
        arrive(game, walks, records, t, state)
        if here.ply >= plies or full:
            here.status = FINISHED
    return True


@inner
def softmax(logits, actions, count, policy):
    """Fill `policy` with the probabilities of `count` actions; return the sum before the division."""
    highest = -np.inf
    for i in range(count):
        highest = max(highest, logits[actions[i]])
    total = 0.0
    for i in range(count):
        policy[i] = np.exp(np.float64(logits[actions[i]]) - highest)
        total += policy[i]
    for i in range(count):
        policy[i] /= total
    return total


@inner
def choose(walks, t, policy, count, explore):
    """Return the index of the action that walk `t` plays."""
    stream = walks.streams[t : t + 1]
    if uniform(stream) < explore:
        return np.int64(uniform(stream) * count)
    remainder = uniform(stream)
    for i in range(count):
        remainder -= policy[i]
        if remainder < 0.0:
            return np.int64(i)
    return np.int64(count - 1)


@inner
def add_row(records, t, state, action, value):
    """Record a row: a state, the action played, and a value, cut to [-1, 1]; its counts come after it."""
    here = records.games[t]
    row = records.rows[t, here.rows]
    contract.store_state(row.state, state)
    row.q = min(1.0, max(-1.0, value))
    row.ply = here.ply
    row.hop = here.hop
    row.first_count = here.counts
    row.side = here.side
    row.action = action
    row.num_counts = 0
    here.rows += 1


@inner
def add_count(records, t, action, visits):
    """Add a visit count to the last row; those of a row sum to about `SHARES`."""
    here = records.games[t]
    records.counts[t, here.counts].action = action
    records.counts[t, here.counts].visits = visits
    records.rows[t, here.rows - 1].num_counts += 1
    here.counts += 1


@kernel
def play_game(
    game, evaluation, constants, memory, records, stream, state, random_plies, explore, plies, nodes
):
    """Play and record a game of alpha-beta against itself, as record 0, a search for every move.

    It begins after some random plies that are not recorded. If random actions are to be played throughout, it
    has no result and ends after some plies. Else it ends by the rules, in the tablebases, with a proof, with
    a position that occurred before, or as a draw after `QUIET_PLIES`. Rows are of positions without a capture
    to make, which alone alpha-beta evaluates; their value is the search's, their policy the action that it
    chose.

    Args:
        game: the rules.
        evaluation, constants, memory: of an `AlphaBetaSearch`, whose table is empty.
        records: the `Records`, with one game that has begun.
        stream: [1] `STREAM`, random numbers.
        state: the first state.
        random_plies: plies drawn at random at the beginning.
        explore: the probability of a random action; above 0 a game ends after `plies`.
        nodes: positions of each search.
    """
    here = records.games[0]
    root, passed = np.int64(0), True
    memory.progress[0].age = 0
    while True:
        actions = memory.actions[root]
        count = contract.legal(game, state, actions)
        key = contract.key(game, state)
        over, score = terminal_score(game, memory, state, key, count, root, np.int64(0), not passed)
        if over or contract.repetition_window(game, state) >= QUIET_PLIES:
            result = np.int64(np.sign(score))
            break
        drawn = np.int64(actions[np.int64(uniform(stream) * count)])
        if here.ply < random_plies or count == 1:
            action = drawn
        else:
            best, score = search_nodes(game, evaluation, constants, memory, state, root, nodes)
            action = drawn if uniform(stream) < explore else best
            if passed and contract.quiet(game, state):
                add_row(records, 0, state, action, score / VALUE_SCALE)
                add_count(records, 0, best, SHARES)
            if abs(score) >= PROVEN:
                result = np.int64(1) if score > 0 else np.int64(-1)
                break
            if here.rows == records.rows.shape[1] or (explore > 0.0 and here.ply >= plies):
                result = np.int64(0)
                break
        contract.store_state(memory.path[root], key)
        state, passed = contract.play(game, state, action)
        count_action(here, passed)
        root = root + 1 if contract.repetition_window(game, state) else np.int64(0)
    if explore == 0.0:
        here.result = result if here.side == 0 else -result
    here.status = FINISHED


@inner
def search_nodes(game, evaluation, constants, memory, state, root, nodes):
    """Return the action and the score of a search of so many positions, deeper and deeper."""
    memory.killers[:] = -1
    memory.history[:] //= 2
    memory.progress[0].nodes, memory.progress[0].limit = 0, nodes
    memory.progress[0].age += 1
    memory.stop[0] = 0
    action, score, depth = np.int64(-1), np.int64(0), np.int64(1)
    tools = lent((game, evaluation, constants, memory))
    zero, most = np.int64(0), np.int64(INFINITE)
    while True:
        memory.progress[0].action = -1
        alpha_beta(tools, state, depth, -most, most, root, root, zero, zero)
        if memory.progress[0].action >= 0 and not (memory.stop[0] and memory.progress[0].score <= -PROVEN):
            action, score = memory.progress[0].action, memory.progress[0].score
        if action < 0:  # not even one ply was searched
            memory.progress[0].limit, memory.stop[0] = np.iinfo(np.int64).max, 0
            continue
        late = memory.progress[0].nodes >= nodes
        if late or (abs(score) >= PROVEN and WON - abs(score) <= depth) or depth == MAX_DEPTH:
            return action, score
        depth += 1
