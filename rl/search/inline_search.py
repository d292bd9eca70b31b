"""Evaluation of leaves inside the kernels: no batches, no threads, no calls of Python.

`evaluate_leaf` is chosen at compile time by the type of its first argument:

`Playouts`: a random playout, with equal priors. In the spirit of UCT (Kocsis, Szepesvari 2006), but with the
trees, proofs and repetitions of the other searches, and PUCT instead of UCB1. An opponent without a network,
of any strength.

`InlineNetwork`: an integer network (`ckai.models.inference.integers`). A quiescence search values positions
that are not quiet, such as those with a capture: these networks learn from quiet ones.
"""

from typing import Any, NamedTuple

import numpy as np

from ckai.game.jit import INNER, borrowed, inner, kernel, lent, taken
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import Hidden, IntegerEvaluator, IntegerWeights, activate, logit, value
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE, playout
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import (
    BACKED_UP,
    LEAF,
    PROOF_VALUE,
    backup,
    descend,
    get_tree,
    logits_to_priors,
    prepare,
)

MOST_CAPTURES = 32
"""Longest line of a quiescence search, in actions."""


class Playouts(NamedTuple):
    """Evaluates leaves by random playouts."""


class InlineNetwork(NamedTuple):
    """Evaluates leaves by an integer network."""

    weights: IntegerWeights
    hidden: Hidden
    board: Any
    """[POSITION_BYTES] int8, working memory."""
    actions: Any
    """[MOST_CAPTURES, MAX_LEGAL_ACTIONS] uint8, working memory of the quiescence search."""


def inline_network(evaluator: IntegerEvaluator, game: Any) -> InlineNetwork:
    """Return the network of an evaluator for the kernels of one thread."""
    return InlineNetwork(
        evaluator.weights,
        evaluator.working_memory(),
        np.zeros(game.POSITION_BYTES, np.int8),
        np.zeros((MOST_CAPTURES, game.MAX_LEGAL_ACTIONS), np.uint8),
    )


def inline_evaluation(evaluator: Evaluator, game: Any) -> Playouts | InlineNetwork | None:
    """Return what evaluates leaves in place of an evaluator inside the kernels, None if nothing does."""
    if isinstance(evaluator, RolloutEvaluator):
        return Playouts()
    return inline_network(evaluator, game) if isinstance(evaluator, IntegerEvaluator) else None


def _playout_leaf(evaluation, game, tree, node):
    here = tree.nodes[node]
    for e in range(here.first_edge, here.first_edge + here.num_edges):
        tree.edges[e].prior = 1.0 / here.num_edges
    state = contract.load_state(game, here.state)
    value, stream = playout(game, state, tree.info[0].rng)
    tree.info[0].rng = stream
    return value


@inner
def settled_value(evaluation, game, state):
    """Return the value of a state that was activated last, for the side to move, [-1, 1]."""
    if contract.quiet(game, state):
        return value(evaluation.weights, evaluation.hidden)
    return quiescence(lent((evaluation, game)), state, -1.0, 1.0, np.int64(0))


@inner
def quiescence(tools, state, alpha, beta, at):
    """Return the value of a state, for the side to move: exact between `alpha` and `beta`, else a bound.

    `tools` points to the `InlineNetwork` and the rules; `at`, int64, are the actions from the first state.
    """
    evaluation, game = taken(tools)
    actions = evaluation.actions[at]
    count = contract.legal(game, state, actions)
    over, result = contract.outcome(game, state, count)
    if over:
        return np.float64(result)
    proof, _ = contract.tablebase_value(game, state)
    if proof != NONE:
        return PROOF_VALUE[proof]
    if contract.quiet(game, state) or at + 1 == MOST_CAPTURES:
        contract.encode(game, state, evaluation.board)
        activate(evaluation.weights, evaluation.board, evaluation.hidden, at & 1)
        return value(evaluation.weights, evaluation.hidden)
    best = -1.0
    for i in range(count):
        after, passed = contract.play(game, state, np.int64(actions[i]))
        low = max(alpha, best)
        if passed:
            score = -quiescence(tools, after, -beta, -low, at + 1)
        else:
            score = quiescence(tools, after, low, beta, at + 1)
        best = max(best, score)
        if best >= beta:
            break
    return best


def _network_leaf(evaluation, game, tree, node):
    here = tree.nodes[node]
    state = contract.load_state(game, here.state)
    contract.encode(game, state, evaluation.board)
    activate(evaluation.weights, evaluation.board, evaluation.hidden, 0)
    for e in range(here.first_edge, here.first_edge + here.num_edges):
        tree.edges[e].prior = logit(evaluation.weights, evaluation.hidden, np.int64(tree.edges[e].action))
    logits_to_priors(tree, node)
    return settled_value(evaluation, game, state)


@contract.by_class(INNER)
def evaluate_leaf(evaluation):
    """Let kernels give the edges of a new node their priors, and get its value for the side to move there."""
    return _playout_leaf if evaluation is Playouts else _network_leaf


@kernel
def search_trees(game, trees, target_visits, chunk, constants, evaluation):
    """Search every tree until its root is proven, the tree is full or the root has enough visits.

    `target_visits` is `[T]` int32, `chunk` the most visits of a root in this call, `evaluation` `Playouts`
    or an `InlineNetwork`.
    """
    game, trees, evaluation = borrowed(game), borrowed(trees), borrowed(evaluation)
    for t in range(len(target_visits)):
        tree = get_tree(trees, t)
        until = min(np.int64(target_visits[t]), tree.nodes[0].visits + chunk)
        while tree.nodes[0].visits < until:
            prepare(game, tree, constants)
            if tree.nodes[0].proof != NONE:
                break
            ending, node = descend(game, tree, constants, np.int64(-1), np.int64(-1))
            if ending == LEAF:
                value = evaluate_leaf(evaluation, game, tree, node)
                tree.nodes[node].status = OPEN
                backup(tree, node, value, 1)
            elif ending != BACKED_UP:
                break


@kernel
def evaluate_slots(evaluation, game, trees, slots, logits, values):
    """Evaluate the first `slots` leaves of the batch: their values, and the logits of legal actions only.

    `evaluation` is the `InlineNetwork`; `logits` and `values` are filled, see `expand_and_backup`.
    """
    evaluation, game, trees = borrowed(evaluation), borrowed(game), borrowed(trees)
    logits, values = borrowed(logits), borrowed(values)
    for slot in range(slots):
        activate(evaluation.weights, trees.boards[slot], evaluation.hidden, 0)
        tree = get_tree(trees, np.int64(trees.slots[slot].tree))
        here = tree.nodes[trees.slots[slot].node]
        for e in range(here.first_edge, here.first_edge + here.num_edges):
            action = np.int64(tree.edges[e].action)
            logits[slot, action] = logit(evaluation.weights, evaluation.hidden, action)
        values[slot] = settled_value(evaluation, game, contract.load_state(game, here.state))
