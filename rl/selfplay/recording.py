"""Self-play in Numba: games in progress, each with its search tree, and the rows recorded of them.

`advance` is the whole work between two calls of the network: it backs the evaluations up, plays an action
wherever a search has ended, starts the next search, and fills the next batch. One row is recorded per action,
in checkers per hop.

In every kernel `trees` is a `TreeBatch`, `records` the `Records`, `t` the index of a tree and of its game,
`tree` that tree, `rules` the `PlayRules`, `constants` the `SearchConstants`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.split import uniform
from ckai.game.jit import borrowed, hot, inner, kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import LOSS, NONE, WIN
from ckai.rl.search.arrays import TERMINAL
from ckai.rl.search.batch import (
    AHEAD,
    BLOCK,
    can_traverse,
    expand_slot,
    prefetch_leaves,
    select_leaves,
    traverse_trees,
)
from ckai.rl.search.mcts import PROOF_VALUE, best_root_edge, get_tree, keep_subtree, reset

IDLE, PLAYING, FINISHED = 0, 1, 2
"""Status of a game: there is none, it is in progress, it has ended and waits to be copied out."""

UNDECIDED = 2
"""Result of a game that was stopped at `max_plies`."""

GAME = np.dtype(
    [
        ("game", np.int64),  # number of the game
        ("status", np.uint8),  # IDLE, PLAYING or FINISHED
        ("side", np.uint8),  # side to move: 0 the first player, 1 the second
        ("result", np.int8),  # 1, 0, -1 for the first player, or UNDECIDED
        ("ply", np.int32),  # plies played
        ("hop", np.int32),  # hops played of the current move
        ("rows", np.int32),  # rows recorded
        ("counts", np.int32),  # visit counts recorded
        ("adjudicated", np.uint8),  # 1 if the game ended in a tablebase position
        ("resigned", np.uint8),  # 1 if the game ended by resignation
        ("resign_disabled", np.uint8),  # 1 if resignation is disabled in this game
        ("opponent", np.uint8),  # player that a past network plays: 1 the first, 2 the second, 0 neither
        ("resigner", np.uint8),  # if it is disabled, who would have resigned first: 1, 2, or 0 neither
    ],
    align=True,
)

_ROW_FIELDS: list[Any] = [
    ("q", np.float32),  # the search's value of the root, for the side to move
    ("ply", np.int32),  # plies played before this move
    ("hop", np.int32),  # hops played of this move before this one
    ("first_count", np.int32),  # index of its first visit count in `counts`
    ("side", np.uint8),  # side to move: 0 the first player, 1 the second
    ("action", np.uint8),  # the action played
    ("num_counts", np.uint8),  # number of visit counts, one per legal action
]


def row_dtype(state_words: int) -> np.dtype[Any]:
    """Return ROW, the record of an action, for a game whose states have `state_words` int64 words."""
    return np.dtype([("state", np.int64, (state_words,)), *_ROW_FIELDS], align=True)


NOT_FINITE = np.int64(-1)
"""What `advance` returns in place of a number of leaves."""

COUNT = np.dtype([("visits", np.uint32), ("action", np.uint8)], align=True)
"""The policy target of one action: its visit count, 0 throughout for moves of a past network."""


class Records(NamedTuple):
    """T games in progress and what was recorded of them: R rows and V visit counts at most for each."""

    games: NDArray[Any]
    """[T] GAME."""
    rows: NDArray[Any]
    """[T, R] ROW."""
    counts: NDArray[Any]
    """[T, V] COUNT."""


class PlayRules(NamedTuple):
    """How moves are chosen in self-play, and when games end: see `SelfPlayConfig`.

    Visits kept with the subtree count. Where only one action is legal, a search ends at one: it is then only
    for q. A side resigns at the start of its move, never in the first row of a game.
    """

    sims: int
    temperature: float
    temperature_plies: int
    temperature_halflife: float
    max_plies: int
    resign: float


TEMPERATURE_FLOOR = 0.1
"""Temperature below which the best edge is played (`best_root_edge`)."""


def make_records(game: Any, trees: int, max_plies: int) -> Records:
    """Allocate records for T games of up to `max_plies` plies, with spare rows for long captures."""
    rows = max_plies + max_plies // 4 + 16
    return Records(
        np.zeros(trees, GAME),
        np.zeros((trees, rows), row_dtype(game.STATE_WORDS)),
        np.zeros((trees, rows * game.MEAN_LEGAL_ACTIONS + 64), COUNT),
    )


def begin_record(records: Records, t: int, number: int) -> None:
    """Let record `t` begin game `number`."""
    records.games[t] = np.zeros((), GAME)
    here = records.games[t]
    here["game"], here["status"], here["result"] = number, PLAYING, UNDECIDED


@inner
def count_action(here, passed):
    """Count an action in a GAME record; `passed` says whether it completed the move."""
    if passed:
        here.side = 1 - here.side
        here.ply += 1
        here.hop = 0
    else:
        here.hop += 1


@inner
def root_value(tree):
    """Return the value of the root for the side to move: that of its proof, else the mean over all visits."""
    root = tree.nodes[0]
    if root.proof != NONE:
        return PROOF_VALUE[root.proof]
    return root.value_sum / max(1, root.visits)


@hot
def target_visits(tree, e):
    """Return the policy target of root edge `e`: its visits.

    Proven losses count 0 unless the root is lost: visits of them are from before the proof.
    """
    lost = tree.edges[e].proof == LOSS and tree.nodes[0].proof != LOSS
    return np.int64(0 if lost else tree.edges[e].visits)


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
def pick_edge(tree, rules, ply):
    """Return the root edge to play at this ply: drawn while the temperature is above 0, else the best one."""
    temperature = rules.temperature
    if ply >= rules.temperature_plies:
        temperature *= 0.5 ** ((ply - rules.temperature_plies + 1) / rules.temperature_halflife)
    if tree.nodes[0].proof == WIN or temperature < TEMPERATURE_FLOOR:
        return best_root_edge(tree)
    return draw_edge(tree, temperature)


@hot
def write_row(tree, records, t, played):
    """Record a row: the root, its value, its policy target (`target_visits`), and the edge `played`.

    At a root that is a proven win the target is the edge played alone: most visits may be from before the
    proof. So it is where the search visited nothing else that may be played.
    """
    here = records.games[t]
    root = tree.nodes[0]
    row = records.rows[t, here.rows]
    for i in range(len(root.state)):
        row.state[i] = root.state[i]
    row.q = root_value(tree)
    row.ply = here.ply
    row.hop = here.hop
    row.first_count = here.counts
    row.side = here.side
    row.action = tree.edges[played].action
    row.num_counts = root.num_edges
    total, first, end = 0, root.first_edge, root.first_edge + root.num_edges
    for e in range(first, end):
        total += target_visits(tree, e)
    by_past_network = here.opponent == here.side + 1
    for e in range(first, end):
        count = records.counts[t, here.counts]
        count.action = tree.edges[e].action
        if by_past_network:
            count.visits = 0
        elif root.proof == WIN or total == 0:
            count.visits = root.visits if e == played else 0
        else:
            count.visits = target_visits(tree, e)
        here.counts += 1
    here.rows += 1


@hot
def play_move(game, trees, records, t, rules):
    """Resign, or record and play an action, in game `t`, whose search has ended; finish it if it is over."""
    tree = get_tree(trees, t)
    here = records.games[t]
    if (
        rules.resign > 0.0
        and here.rows > 0
        and here.hop == 0
        and np.float32(root_value(tree)) <= -rules.resign
    ):
        if not here.resign_disabled:
            here.result = -1 if here.side == 0 else 1
            here.resigned = 1
            here.status = FINISHED
            return
        if here.resigner == 0:
            here.resigner = here.side + 1
    e = pick_edge(tree, rules, here.ply)
    write_row(tree, records, t, e)
    kept = keep_subtree(game, tree, e, trees.scratch)
    if not kept or (here.opponent > 0 and tree.nodes[0].sign < 0):  # two networks do not share a tree
        reset(game, tree, contract.load_state(game, tree.nodes[0].state), tree.nodes[0].sign < 0)
    count_action(here, tree.nodes[0].sign < 0)
    root = tree.nodes[0]
    proof = NONE
    if root.status == TERMINAL:
        proof = root.proof
    elif root.sign < 0:  # the turn passed: not within a capture
        proof, _ = contract.tablebase_value(game, contract.load_state(game, root.state))
        here.adjudicated = proof != NONE
    if proof != NONE:
        value = 1 if proof == WIN else -1 if proof == LOSS else 0
        here.result = value if here.side == 0 else -value
        here.status = FINISHED
    elif (
        here.ply >= rules.max_plies
        or here.rows == records.rows.shape[1]
        or here.counts + contract.max_legal_actions(game) > records.counts.shape[1]
    ):
        here.status = FINISHED


@hot
def search_visits(trees, t, rules):
    """Return the visit count at which the current search of tree `t` ends."""
    return np.int64(1 if trees.nodes[t, 0].num_edges == 1 else rules.sims)


@kernel
def advance(game, trees, records, constants, rules, slots, logits, values):
    """Back the last batch up, play an action wherever a search has ended, and fill the next batch.

    Args:
        game, trees, records, constants, rules: see the module.
        slots: number of leaves in the last batch.
        logits, values: their evaluations, see `expand_and_backup`.

    Returns:
        (number of leaves in the next batch, number of games that are FINISHED, simulations backed up since
        the trees were allocated); the first is NOT_FINITE if a logit or value is not finite.
    """
    game, trees, records = borrowed(game), borrowed(trees), borrowed(records)
    logits, values = borrowed(logits), borrowed(values)
    slot, used, num_trees = np.int64(0), np.int64(0), np.int64(len(records.games))
    finished, simulations = 0, np.int64(0)
    old = trees.slots[:slots].copy()
    collisions = np.empty(1, np.int32)
    end_node, end_edge = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    active_trees = np.empty(BLOCK, np.int64)
    prefetch_leaves(trees, old, np.int64(0), min(AHEAD, slots))
    # A block of trees goes through all steps while it is in the cache; leaves behind it are prefetched.
    for first in range(0, num_trees, BLOCK):
        end = min(num_trees, first + BLOCK)
        last = used
        while last < slots and old[last].tree < end:
            last += 1
        not_finite = 0.0
        for leaf in range(used, last):
            prefetch_leaves(trees, old, leaf + AHEAD, min(leaf + AHEAD + 1, slots))
            not_finite += expand_slot(trees, old, leaf, logits, values)
        if not_finite != 0.0:
            return NOT_FINITE, 0, simulations
        used = last
        for t in range(first, end):
            visits = search_visits(trees, t, rules)
            end_node[t - first] = (
                0 if records.games[t].status == PLAYING and can_traverse(trees, t, visits) else -1
            )
        traverse_trees(trees, first, end - first, constants, end_node, end_edge, active_trees)
        for t in range(first, end):
            node, e = end_node[t - first], end_edge[t - first]
            while records.games[t].status == PLAYING:
                visits = search_visits(trees, t, rules)
                next_slot = select_leaves(
                    game, trees, t, constants, visits, np.int64(1), slot, collisions, node, e
                )
                if next_slot > slot:
                    slot = next_slot
                    break
                play_move(game, trees, records, t, rules)
                e = np.int64(-1)
            if records.games[t].status == FINISHED:
                finished += 1
            simulations += trees.info[t].simulations
    return slot, finished, simulations
