"""Games of alpha-beta against itself at a fixed number of positions a move, in one kernel.

A game begins in a position of other rows or in an opening, after some random plies that are not recorded.
If random actions are to be played throughout, it has no result and ends after some plies. Else it ends by the
rules, in the tablebases, with a proof, with a position that occurred before, or as a draw
after `QUIET_PLIES`. Rows are of positions without a capture to make, which alone alpha-beta evaluates; their
value is the search's, their policy the action that it chose.
"""

import numpy as np

from ckai.game.jit import inner, kernel, lent
from ckai.rl.alphabeta.kernel import INFINITE, MAX_DEPTH, PROVEN, VALUE_SCALE, WON, alpha_beta, terminal_score
from ckai.rl.distill.walks import SHARES, add_count, add_row
from ckai.rl.games import contract
from ckai.rl.games.rng import uniform
from ckai.rl.selfplay.recording import FINISHED, count_action

QUIET_PLIES = 40
"""A game is drawn after so many plies without a capture or a move of a man."""


@kernel
def play_game(
    game, evaluation, constants, memory, records, stream, state, random_plies, explore, plies, nodes
):
    """Play and record a game, as record 0.

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
