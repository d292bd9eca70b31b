"""Alpha-beta search with an integer network, in Numba; it shares only rules and network with the tree search.

Iterative deepening with a null window around the principal variation (principal variation search, Marsland
1983), a transposition table, and a quiescence search: below its depth the search continues while the position
is not quiet, which in checkers means while a capture is compulsory. Moves are ordered by the table, the
network's policy, killer moves and the history heuristic (Schaeffer 1989).

What is unlikely to matter is searched less: late moves to a lower depth, by the logarithms of depth and move
number and by the policy; positions far outside the window not at all (static null move pruning and razoring);
positions that the table does not know one ply less. Forced captures take no depth.

Scores are integers for the side to move: `VALUE_SCALE` times the network's value; a win in n plies is
`WON - n`. A position that occurred before, in the game or on the path, is a draw; so is one whose halfmove
clock has run out. Where the depth reaches as far as the clock, the table's key has the clock in it, and no
proof is taken from the table that takes longer than the clock leaves. The table does not know the path, so
near repetitions its scores may be wrong, as in every program of this kind.

Row `[STATE_WORDS + 1]` int64 of the table: a state, so a hit is exact, and a word of fields, its entry. The
state is without its halfmove clock unless the search of it reaches as far as the clock. It has two places,
neighbours; the entry of the lower depth, or of an earlier search, gives way (Breuker, Uiterwijk, van den
Herik 1994). Several threads may use a table, without locks: the words of the state are stored exclusive-or
the entry, so that a row which two of them wrote at once matches no state (Hyatt, Mann 2002).
"""

from typing import Any, NamedTuple

import numpy as np

from ckai.game.jit import hot, inner, kernel, lent, prefetch, taken
from ckai.models.inference.integers import activate, logit, value
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, NONE, WIN
from ckai.rl.search.transpositions import hash_of, place_of

VALUE_SCALE = 10_000
"""Score of the network's value 1."""
WON = 30_000
"""Score of a won position, less the plies to the end of the game."""
PROVEN = 20_000
"""Scores from here on are of won games, below its negative of lost ones."""
INFINITE = 32_000
"""Above every score."""
MAX_PATH = 512
"""Longest path in hops, with the states before the root that can be repeated."""
MAX_HISTORY = 16_384
"""Bound of the absolute history of an action; it stands for 1."""

PROGRESS = np.dtype(
    [
        ("nodes", np.int64),  # searched
        ("limit", np.int64),  # of nodes
        ("age", np.int64),  # number of the search
        ("action", np.int64),  # the best at the root so far, -1 before any
        ("score", np.int64),  # of that action
    ]
)
"""How far a search has come."""

STATIC_ONLY, EXACT, LOWER, UPPER = 0, 1, 2, 3
"""How an entry's score bounds the true one; `STATIC_ONLY`: it has no score and no action."""
NO_SCORE = 32_767
"""Stands for a static score that was not computed."""
MAX_DEPTH = 255
"""Greatest depth of an entry."""
AGES = 1 << 13
"""Numbers of searches that an entry can tell apart."""
_OFFSET, _SHORT, _BYTE = 32_768, 0xFFFF, 0xFF
_AGED = 8
"""Plies taken off the depth of an entry, when one is replaced, for each search since it was written."""

TOP_RANK = 1000.0
"""Rank of the table's action, above that of any other."""
KILLER_BONUS = 1.0
"""Log odds that a killer move is worth, as the best history of an action is."""
POLICY_DEPTH = 2
"""Least depth at which the network's policy orders the moves, and late moves are reduced."""
UNLIKELY = 3.0
"""An action more than this many log odds below the likeliest is reduced by one more ply."""
_LOGS = np.log([1, *range(1, 64)])
REDUCTIONS = np.maximum(np.floor(0.8 + np.outer(_LOGS, _LOGS) / 2.5), 1).astype(np.int8)
"""[depths, moves] int8: plies that a late move is reduced by; what is beyond is reduced as the last."""


class Memory(NamedTuple):
    """The arrays of a search; one position is searched at a time."""

    table: Any
    """[T, STATE_WORDS + 1] int64, see the top."""
    path: Any
    """[MAX_PATH, STATE_WORDS] int64: keys of the game's states and of the path, oldest first."""
    actions: Any
    """[MAX_PATH, MAX_LEGAL_ACTIONS] uint8: the legal actions at each state of the path."""
    order: Any
    """[MAX_PATH, MAX_LEGAL_ACTIONS] float32: their ranks, highest first."""
    killers: Any
    """[MAX_PATH, 2] int16: the last two actions that refuted a sibling, -1 if there are none."""
    history: Any
    """[NUM_ACTIONS] int64: how well an action did, 0 being average; in the view of the mover."""
    progress: Any
    """[1] PROGRESS."""
    stop: Any
    """[1] uint8: set to 1 by any thread, ends the search soon."""


class Constants(NamedTuple):
    """What is searched less; margins are scores. See docs/search.md."""

    full_depth_moves: int = 3
    """Actions searched without a reduction."""
    static_depth: int = 4
    """Greatest depth at which a position is pruned for its network's score alone."""
    static_margin: int = 1250
    """How far that score must be above the window, per ply of depth."""
    razor_margin: int = 750
    """How far it must be below the window, per ply of depth."""
    internal_depth: int = 4
    """Least depth at which a state without an action in the table is searched one ply less."""


# --- the table --------------------------------------------------------------------------------------


@hot
def bucket_index(table, key):
    """Return the index of the first of a state's two rows."""
    return place_of(hash_of(key), len(table))


@hot
def entry_if(row, key):
    """Return the entry of a row if it is a state's, else 0."""
    entry = row[len(key)]
    for n, word in enumerate(key):
        if row[n] ^ entry != word:
            return np.int64(0)
    return entry


@hot
def probe(table, place, key):
    """Return the entry of a state, 0 if it is not in the table; `place` is its `bucket_index`."""
    entry = entry_if(table[place], key)
    other = place ^ 1
    if entry == 0 and other < len(table):
        entry = entry_if(table[other], key)
    return entry


@hot
def unpacked(entry, plies):
    """Return (score, static score, depth in plies, best action, bound) of an entry.

    A score from `PROVEN` on counts from the state, and is made to count from the root, `plies` before it.
    """
    score = (entry & _SHORT) - _OFFSET
    if score >= PROVEN:
        score -= plies
    elif score <= -PROVEN:
        score += plies
    return score, (entry >> 16 & _SHORT) - _OFFSET, entry >> 32 & _BYTE, entry >> 40 & _BYTE, entry >> 48 & 3


@hot
def _worth(entry, age):
    """Return the worth of an entry when one is replaced: its depth, less for older searches."""
    if entry == 0:
        return np.int64(-1_000_000)
    return (entry >> 32 & _BYTE) - _AGED * (age - (entry >> 50) & AGES - 1)


@hot
def store(table, place, key, score, static, depth, action, bound, age, plies):
    """Write an entry over the one of the same state or over the less valuable one of two.

    `score` is from -32,000 to 32,000, and counts from the root where it is proven, see `unpacked`; `static`
    is the network's score, or `NO_SCORE`; `depth` is 0 or more, `age` the number of the search.
    """
    last = len(key)
    other = place ^ 1
    if other < len(table) and entry_if(table[place], key) == 0:
        worse = _worth(table[other, last], age) < _worth(table[place, last], age)
        if worse or entry_if(table[other], key) != 0:
            place = other
    if score >= PROVEN:
        score += plies
    elif score <= -PROVEN:
        score -= plies
    entry = np.int64(score + _OFFSET) | np.int64(static + _OFFSET) << 16
    entry |= np.int64(min(depth, MAX_DEPTH)) << 32 | np.int64(action) << 40
    entry |= np.int64(bound) << 48 | np.int64(age & AGES - 1) << 50
    for n, word in enumerate(key):
        table[place, n] = word ^ entry
    table[place, last] = entry


# --- the search -------------------------------------------------------------------------------------


@hot
def is_repeated(game, memory, state, key, at):
    """Return whether a state, number `at` of the path, occurred before."""
    first = max(0, at - contract.repetition_window(game, state))
    repeated = False
    for i in range(first, at):
        repeated |= contract.load_state(game, memory.path[i]) == key
    return repeated


@hot
def evaluate(game, evaluation, state, at):
    """Fill `evaluation.hidden` with a state, number `at` of the path."""
    contract.encode(game, state, evaluation.board)
    activate(evaluation.weights, evaluation.board, evaluation.hidden, at & 1)


@hot
def rank_actions(evaluation, memory, first, count, at, by_policy):
    """Fill `order` with a rank for the legal actions from number `first` on at `at`.

    The policy reads `evaluation.hidden`, which must be of this state; its likeliest action has about rank 0.
    """
    actions, order = memory.actions[at], memory.order[at]
    likeliest = np.float32(0.0)
    if by_policy:
        likeliest = np.float32(-np.inf)
        for i in range(first, count):
            order[i] = logit(evaluation.weights, evaluation.hidden, np.int64(actions[i]))
            likeliest = max(likeliest, order[i])
    else:
        order[first:count] = 0.0
    for i in range(first, count):
        rank = order[i] - likeliest + memory.history[actions[i]] / MAX_HISTORY
        if actions[i] == memory.killers[at, 0] or actions[i] == memory.killers[at, 1]:
            rank += KILLER_BONUS
        order[i] = rank


@hot
def take_best(memory, at, i, count):
    """Move the highest ranked of the actions from `i` on to place `i`."""
    actions, order = memory.actions[at], memory.order[at]
    best = i
    for j in range(i + 1, count):
        if order[j] > order[best]:
            best = j
    actions[i], actions[best] = actions[best], actions[i]
    order[i], order[best] = order[best], order[i]


@hot
def take_action(memory, at, count, action):
    """Move an action to the first place; return whether it is legal."""
    actions = memory.actions[at]
    for i in range(count):
        if actions[i] == action:
            actions[0], actions[i] = actions[i], actions[0]
            memory.order[at, 0] = 0.0
            return True
    return False


@hot
def credit(memory, action, bonus):
    """Add a bonus to the history of an action, less the nearer it is to `MAX_HISTORY`."""
    memory.history[action] += bonus - memory.history[action] * abs(bonus) // MAX_HISTORY


@hot
def reward(memory, at, i, depth):
    """Reward action number `i` at `at`, which caused a cutoff, and penalize those tried before it."""
    actions = memory.actions[at]
    action = actions[i]
    if memory.killers[at, 0] != action:
        memory.killers[at, 1] = memory.killers[at, 0]
        memory.killers[at, 0] = action
    bonus = min(32 * depth * depth, MAX_HISTORY // 8)
    credit(memory, action, bonus)
    for j in range(i):
        credit(memory, actions[j], -bonus)


@hot
def reduction_of(depth, i, rank):
    """Return the plies that action number `i` is reduced by."""
    plies = np.int64(REDUCTIONS[min(depth, len(REDUCTIONS) - 1), min(i, len(REDUCTIONS) - 1)])
    if rank < -UNLIKELY:
        plies += 1
    return max(np.int64(0), min(plies, depth - 1))


@hot
def terminal_score(game, memory, state, key, count, at, plies, within):
    """Return (whether a state below the root needs no search, its score): game over, repeated, tablebase.

    A state within a move is searched even if a tablebase has it: else the rest of the move would be unknown.
    """
    over, value = contract.outcome(game, state, count)
    if over:
        return True, np.int64(value * (WON - plies))
    if is_repeated(game, memory, state, key, at):
        return True, np.int64(0)
    if within:
        return False, np.int64(0)
    proof, distance = contract.tablebase_value(game, state)
    if proof == NONE:
        return False, np.int64(0)
    if proof == DRAW:
        return True, np.int64(0)
    score = np.int64(WON - plies - distance)
    return True, score if proof == WIN else -score


@kernel
def search_depth(game, evaluation, constants, memory, state, depth, root):
    """Search a state to a depth, with an open window, and return its score; see `alpha_beta`."""
    zero, most = np.int64(0), np.int64(INFINITE)
    return alpha_beta(
        lent((game, evaluation, constants, memory)), state, depth, -most, most, root, root, zero, zero
    )


@inner
def alpha_beta(tools, state, depth, alpha, beta, at, root, plies, within):
    """Return the score of a state for the side to move: exact between `alpha` and `beta`, else a bound.

    The best action at the root is in `memory.progress`, also after a search that was stopped. `tools` points
    to the rules, the `InlineNetwork`, the `Constants` and the `Memory`; the rest are int64: `depth` plies
    left, from 0 on a quiescence search; `at` and `root` the indices of the state and the root in
    `memory.path`; `plies` those from the root; `within` 1 if the state is within a move, else 0.
    """
    game, evaluation, constants, memory = taken(tools)
    memory.progress[0].nodes += 1
    if memory.stop[0] or memory.progress[0].nodes >= memory.progress[0].limit:
        memory.stop[0] = 1
        return np.int64(0)
    key = contract.key(game, state)
    contract.store_state(memory.path[at], key)
    depth = max(depth, np.int64(0))
    left_plies = contract.plies_left(game, state)
    row = state if depth >= left_plies else key
    place = bucket_index(memory.table, row)
    # The two rows are seldom in the CPU's caches.
    prefetch(memory.table, place, np.int64(0))
    prefetch(memory.table, place ^ 1, np.int64(memory.table.shape[1] - 1))
    actions = memory.actions[at]
    count = contract.legal(game, state, actions)
    if at > root:
        settled, score = terminal_score(game, memory, state, key, count, at, plies, within)
        if settled:
            return score
        # Mate distance pruning: no line from here is better than a win on the next ply.
        beta = min(beta, np.int64(WON - plies - 1))
        if alpha >= beta:
            return beta
    quiet = contract.quiet(game, state)
    leaf = (depth == 0 and quiet) or at + 1 == MAX_PATH
    narrow = beta - alpha == 1
    entry = probe(memory.table, place, row)
    age = memory.progress[0].age
    table_action, static = np.int64(-1), np.int64(NO_SCORE)
    guess = static
    if entry:
        score, static, searched, action, bound = unpacked(entry, plies)
        guess = static
        if bound != STATIC_ONLY:
            table_action = action
            if at > root and searched >= depth and (narrow or leaf):
                in_time = abs(score) < PROVEN or WON - abs(score) - plies <= left_plies
                if in_time and (
                    bound == EXACT
                    or (bound == LOWER and score >= beta)
                    or (bound == UPPER and score <= alpha)
                ):
                    return score
            # Of any depth, it is nearer the truth than the network's own.
            if abs(score) < PROVEN and (bound == EXACT or (bound == LOWER) == (score > static)):
                guess = score
    by_policy = count > 1 and depth >= POLICY_DEPTH
    near = quiet and count > 1 and depth <= constants.static_depth
    known = static != NO_SCORE
    wanted = not known and (leaf or near or (quiet and by_policy))
    prunable = near and narrow and at > root and abs(beta) < PROVEN
    above, below = beta + constants.static_margin * depth, alpha - constants.razor_margin * depth
    if known and (leaf or (prunable and (guess >= above or guess <= below))):
        return static if leaf else guess
    # Often the actions after the table's are not needed.
    ranked = table_action >= 0 and not wanted and take_action(memory, at, count, table_action)
    if wanted or (by_policy and not ranked):
        evaluate(game, evaluation, state, at)
        if wanted:
            static = np.int64(VALUE_SCALE * value(evaluation.weights, evaluation.hidden))
            if not entry:
                nothing = np.int64(0)
                store(memory.table, place, row, nothing, static, nothing, nothing, STATIC_ONLY, age, plies)
            if leaf or (prunable and (static >= above or static <= below)):
                return static
    if at > root and table_action < 0 and depth >= constants.internal_depth:
        depth -= 1
    if not ranked:
        rank_actions(evaluation, memory, 0, count, at, by_policy)
        if table_action >= 0:
            for i in range(count):
                if actions[i] == table_action:
                    memory.order[at, i] = TOP_RANK
    best, best_action, low = np.int64(-INFINITE), np.int64(actions[0]), alpha
    for i in range(count):
        if i == 1 and ranked:
            if by_policy:
                evaluate(game, evaluation, state, at)
            rank_actions(evaluation, memory, 1, count, at, by_policy)
        if i > 0 or not ranked:
            take_best(memory, at, i, count)
        action, rank = np.int64(actions[i]), memory.order[at, i]
        after, passed = contract.play(game, state, action)
        left = depth - (passed and (count > 1 or quiet))
        reduction = np.int64(0)
        if quiet and passed and depth >= POLICY_DEPTH and i >= constants.full_depth_moves:
            reduction = reduction_of(depth, i, rank)
        # All but the first are expected to be no better: a null window, first at a lower depth.
        high = beta if i == 0 else low + 1
        while True:
            lower, upper = (-high, -low) if passed else (low, high)
            score = alpha_beta(
                tools, after, left - reduction, lower, upper, at + 1, root, plies + passed,
                np.int64(not passed),
            )  # fmt: skip
            if passed:
                score = -score
            if memory.stop[0]:
                return np.int64(0)
            if score <= low or (reduction == 0 and (high == beta or score >= beta)):
                break
            if reduction > 0:
                reduction = np.int64(0)
            else:
                high = beta
                if at == root:  # better than the others, even if the time is over before its score is known
                    memory.progress[0].action, memory.progress[0].score = action, score
        if score > best:
            best, best_action = score, action
            if score > low:
                low = score
                if at == root:
                    memory.progress[0].action, memory.progress[0].score = action, score
            if score >= beta:
                if quiet:
                    reward(memory, at, i, depth)
                break
    bound = UPPER if best <= alpha else LOWER if best >= beta else EXACT
    store(memory.table, place, row, best, static, depth, best_action, bound, age, plies)
    return best


@kernel
def principal_variation(game, memory, state, first, out):
    """Fill `out` (uint8) with the main line from a state, `first` and then the table's; return its length."""
    legal = np.empty(contract.max_legal_actions(game), np.uint8)
    action = np.int64(first)
    for n in range(len(out)):
        out[n] = action
        state, _ = contract.play(game, state, action)
        entry = probe(memory.table, bucket_index(memory.table, state), state)
        if entry == 0:
            key = contract.key(game, state)
            entry = probe(memory.table, bucket_index(memory.table, key), key)
        _, _, _, action, bound = unpacked(entry, np.int64(0))
        if entry == 0 or bound == STATIC_ONLY:
            return n + 1
        count = contract.legal(game, state, legal)
        playable = False
        for i in range(count):
            playable |= legal[i] == action
        if not playable:
            return n + 1
    return len(out)
