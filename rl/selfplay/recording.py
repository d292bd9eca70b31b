"""Games in the making: a search tree plays each, and every hop is written down. All in Numba.

`advance` is the whole work of self-play between two calls of the network: it hands the answers to the
trees, plays a move wherever a search has its visits, starts the next search, and fills the next batch.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import LOSS, NONE, WIN
from ckai.rl.games.rng import uniform
from ckai.rl.search.arrays import TERMINAL
from ckai.rl.search.batch import expand_and_backup, prefetch_paths, select_leaves
from ckai.rl.search.mcts import PROOF_VALUE, choose, get_tree, keep_subtree, reset
from ckai.rl.search.selection import GUMBEL, gumbel_choice, improved_policy, policy_kl_of, policy_target

IDLE, PLAYING, FINISHED = 0, 1, 2

UNDECIDED = 2
"""Result of a game stopped by `max_plies`: nobody knows."""

RECORD = np.dtype(
    [
        ("game", np.int64),  # number of the game
        ("status", np.uint8),
        ("side", np.uint8),  # 0: the first player is to move
        ("result", np.int8),  # 1, 0, -1 for the first player, or UNDECIDED
        ("ply", np.int32),
        ("hop", np.int32),
        ("rows", np.int32),
        ("counts", np.int32),
        ("full", np.uint8),  # whether the search under way is a full one
        ("adjudicated", np.uint8),  # whether it ended where its result is known
        ("resigned", np.uint8),  # whether it ended because a side gave up
        ("played_out", np.uint8),  # whether nobody may give up
        ("opponent", np.uint8),  # who is played by a past network: 1 the first player, 2 the other, 0 nobody
        ("resigner", np.uint8),  # who would have given up there: 1 the first player, 2 the other, 0 nobody
    ],
    align=True,
)

_ROW_FIELDS: list[Any] = [
    ("q", np.float32),  # the search's value for the side to move
    ("policy_kl", np.float32),  # of the search over the network, see `policy_kl_of`
    ("ply", np.int32),
    ("hop", np.int32),
    ("first_count", np.int32),  # first of its visit counts
    ("side", np.uint8),
    ("action", np.uint8),
    ("num_counts", np.uint8),  # number of visit counts: the legal actions
    (
        "full",
        np.uint8,
    ),  # whether the policy learns it: a full search, no opponent's; else the counts are 0
]


def row_dtype(state_words: int) -> np.dtype[Any]:
    """Return the record of a hop, ROW below, for a game whose states have so many int64 words."""
    return np.dtype([("state", np.int64, (state_words,)), *_ROW_FIELDS], align=True)


COUNT = np.dtype([("visits", np.uint32), ("action", np.uint8)], align=True)

COUNTS_PER_ROW = 14


class Records(NamedTuple):
    """What T games in the making have written down."""

    games: NDArray[Any]
    """[T] RECORD."""
    rows: NDArray[Any]
    """[T, R] ROW."""
    counts: NDArray[Any]
    """[T, V] COUNT."""


class PlayRules(NamedTuple):
    """How a game of self-play is played."""

    visits: int = 100
    """Visits at the root before a move is played; those of the kept subtree count."""
    single_move_visits: int = 1
    """The same where only one action is legal: nothing is to be decided, only q is wanted."""
    full_search_prob: float = 1.0
    """Share of the searches that are full (playout cap randomisation, Wu 2019): the others have `fast_visits`
    and no noise, and their visits are not learned."""
    fast_visits: int = 20
    leaves: int = 1
    """Leaves a tree sends to the network at once."""
    temperature: float = 1.0
    """Exponent 1/T on the visits when a move is drawn; under GUMBEL the factor of the noise."""
    temperature_plies: int = 16
    """Plies at the full temperature; after them it halves every `temperature_halflife`."""
    temperature_halflife: float = 6.0
    temperature_floor: float = 0.1
    """Below it the best edge is played (`choose`)."""
    max_plies: int = 300
    """A game as long as this is stopped without a result."""
    adjudicate: bool = False
    """End a game where its result is known (see `ckai.rl.games.contract.tablebase_value`)."""
    resign: float = 0.0
    """A side gives up where the search's value is -resign or less for it; 0: never."""
    played_out: float = 0.1
    """Share of the games in which nobody may, to see how often it would have been wrong."""


def make_records(game: Any, trees: int, max_plies: int) -> Records:
    """Make room for T games of up to `max_plies` plies (a quarter more rows for captures of several hops)."""
    rows = max_plies + max_plies // 4 + 16
    return Records(
        np.zeros(trees, RECORD),
        np.zeros((trees, rows), row_dtype(game.STATE_WORDS)),
        np.zeros((trees, rows * COUNTS_PER_ROW + 64), COUNT),
    )


@kernel
def begin(game, f, r, rules, t, number, state, seed):
    """Start game `number` in tree `t` from `state` (the first player to move) with its own random stream."""
    f.info[t].rng = seed
    f.info[t].history_length = 0
    reset(game, get_tree(f, t), state)
    here = r.games[t]
    here.game = number
    here.status = PLAYING
    here.side = 0
    here.result = UNDECIDED
    here.ply = 0
    here.hop = 0
    here.rows = 0
    here.counts = 0
    here.adjudicated = 0
    here.resigned = 0
    here.resigner = 0
    here.played_out = 0
    here.opponent = 0
    if rules.resign > 0.0:
        here.played_out = uniform(f.info[t : t + 1]) < rules.played_out
    draw_search_type(f, r, t, rules)


@inner
def draw_search_type(f, r, t, rules):
    """Decide whether the next search of tree `t` is a full one."""
    r.games[t].full = 1
    if rules.full_search_prob < 1.0:
        r.games[t].full = uniform(f.info[t : t + 1]) < rules.full_search_prob


@inner
def draw_edge(tree, temperature):
    """A root edge drawn by visits to the power 1/T, never a proven loss while there is another."""
    first, count = tree.nodes[0].first_edge, tree.nodes[0].num_edges
    weights = np.zeros(count)
    top = 0
    for i in range(count):
        if tree.edges[first + i].proof != LOSS:
            top = max(top, tree.edges[first + i].visits)
    if top == 0:
        return choose(tree)
    total = 0.0
    for i in range(count):
        if tree.edges[first + i].proof != LOSS:
            weights[i] = (tree.edges[first + i].visits / top) ** (1.0 / temperature)
            total += weights[i]
    pick = uniform(tree.info) * total
    best = -1
    for i in range(count):
        if weights[i] > 0.0:
            best = first + i
            pick -= weights[i]
            if pick < 0.0:
                break
    return best


@inner
def pick_edge(tree, puct, rules, ply):
    """The edge that self-play plays at this ply."""
    temperature = rules.temperature
    if ply >= rules.temperature_plies:
        temperature *= 0.5 ** ((ply - rules.temperature_plies + 1) / rules.temperature_halflife)
    if temperature < rules.temperature_floor:
        temperature = 0.0
    if tree.nodes[0].proof == WIN:
        return choose(tree)
    if puct.root_rule == GUMBEL:
        e = gumbel_choice(tree, puct, temperature)
        return e if e >= 0 else choose(tree)
    return draw_edge(tree, temperature) if temperature > 0.0 else choose(tree)


@inner
def root_value(tree, puct):
    """What the search thinks of the root, [-1, 1] for the side to move."""
    root = tree.nodes[0]
    if root.proof != NONE:
        return PROOF_VALUE[root.proof]
    if puct.root_rule == GUMBEL:
        return improved_policy(tree, puct, np.empty(root.num_edges))
    return root.value_sum / max(1, root.visits)


@inner
def write_row(tree, r, t, puct, chosen):
    """Write down the root, the counts that the policy is to learn (`policy_target`), and the edge played.

    A proven win by few visits would teach the many visits of before it: then all go to the edge played.
    """
    here = r.games[t]
    root = tree.nodes[0]
    row = r.rows[t, here.rows]
    for i in range(len(root.state)):
        row.state[i] = root.state[i]
    row.q = root_value(tree, puct)
    row.ply = here.ply
    row.hop = here.hop
    row.first_count = here.counts
    row.side = here.side
    row.action = tree.edges[chosen].action
    row.num_counts = root.num_edges
    row.full = here.full and here.opponent != here.side + 1
    target = np.empty(root.num_edges, np.int64)
    policy_target(tree, puct, target)
    for i in range(root.num_edges):
        e = root.first_edge + i
        if not row.full:
            target[i] = 0
        elif root.proof == WIN:
            target[i] = root.visits if e == chosen else 0
        elif root.num_edges == 1:
            target[i] = max(target[i], 1)
        r.counts[t, here.counts].action = tree.edges[e].action
        r.counts[t, here.counts].visits = target[i]
        here.counts += 1
    row.policy_kl = policy_kl_of(tree, puct, target)
    here.rows += 1


@inner
def play_move(game, f, r, t, puct, rules):
    """Play the move of tree `t`, whose search is done; end its game if it is over."""
    tree = get_tree(f, t)
    here = r.games[t]
    if (
        rules.resign > 0.0
        and here.rows > 0
        and here.hop == 0
        and np.float32(root_value(tree, puct)) <= -rules.resign
    ):
        if not here.played_out:
            here.result = -1 if here.side == 0 else 1
            here.resigned = 1
            here.status = FINISHED
            return
        if here.resigner == 0:
            here.resigner = here.side + 1
    e = pick_edge(tree, puct, rules, here.ply)
    write_row(tree, r, t, puct, e)
    keep_subtree(game, tree, e, f.scratch)
    other_network = here.opponent > 0 and tree.nodes[0].sign < 0
    if (puct.root_rule == GUMBEL or other_network) and tree.nodes[0].status != TERMINAL:
        # Sequential halving counts visits from none: the next search begins with a fresh tree. So does that
        # of another network.
        sign = tree.nodes[0].sign
        reset(game, tree, contract.load_state(game, tree.nodes[0].state))
        tree.nodes[0].sign = sign
    if tree.nodes[0].sign < 0:
        here.side = 1 - here.side
        here.ply += 1
        here.hop = 0
    else:
        here.hop += 1
    root = tree.nodes[0]
    proof = NONE
    if root.status == TERMINAL:
        proof = root.proof
    elif rules.adjudicate and root.sign < 0:  # between two moves
        proof, _ = contract.tablebase_value(game, contract.load_state(game, root.state))
        here.adjudicated = proof != NONE
    if proof != NONE:
        value = 1 if proof == WIN else -1 if proof == LOSS else 0
        here.result = value if here.side == 0 else -value
        here.status = FINISHED
    elif (
        here.ply >= rules.max_plies
        or here.rows == r.rows.shape[1]
        or here.counts + contract.max_legal_actions(game) > r.counts.shape[1]
    ):
        here.status = FINISHED
    draw_search_type(f, r, t, rules)


@kernel
def advance(game, f, r, puct, fast, rules, slots, logits, values):
    """Hand out the network's answers, play what is ready, fill the next batch.

    Args:
        puct, fast: constants of full searches and of the others.
        slots: leaves of the last batch, with their `logits` and `values` (see `expand_and_backup`).

    Returns:
        (leaves in the batch, games finished and waiting to be taken away); (-1, 0) if an answer is no number.
    """
    prefetch_paths(f, slots)
    if expand_and_backup(f, slots, logits, values) >= 0:
        return np.int64(-1), 0
    slot, finished = np.int64(0), 0
    for t in range(len(r.games)):
        while r.games[t].status == PLAYING:
            full = r.games[t].full == 1
            wanted = rules.visits if full else rules.fast_visits
            if f.nodes[t, 0].num_edges == 1:
                wanted = rules.single_move_visits
            after = select_leaves(game, f, t, puct if full else fast, wanted, rules.leaves, slot)
            if after > slot:
                slot = after
                break
            play_move(game, f, r, t, puct if full else fast, rules)
        if r.games[t].status == FINISHED:
            finished += 1
    return slot, finished
