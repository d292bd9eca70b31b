"""Searches whose leaves are evaluated inside the kernels: no batches, no threads, no calls of Python.

`evaluate_leaf` is chosen at compile time by the type of its first argument:

`Playouts`: a random playout, with equal priors. In the spirit of UCT (Kocsis, Szepesvari 2006), but with the
trees, proofs and repetitions of the other searches, and PUCT instead of UCB1. An opponent without a network,
of any strength.

`InlineNetwork`: an integer network (`ckai.models.inference.integers`). A quiescence search values positions
that are not quiet, such as those with a capture: these networks learn from quiet ones.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from ckai.game.intrinsics import borrowed, lent, taken
from ckai.game.jit import INNER, compile_for, inner, kernel
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import Hidden, IntegerEvaluator, IntegerWeights, activate, logit, value
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.games.playouts import playout
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import BACKED_UP, LEAF, backup, descend, get_tree, logits_to_priors, prepare
from ckai.rl.search.proofs import PROOF_VALUE, shorten_proof
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import ALPHAZERO_C_BASE, SearchConstants

ROLLOUT_CONSTANTS = SearchConstants(c_init=3.0, c_base=ALPHAZERO_C_BASE)
"""Constants that suit equal priors over about 8 actions."""
PLAYOUTS_PER_STEP, EVALUATIONS_PER_STEP = 512, 256
"""Most simulations of one tree in a `step`, of playouts and of a network: they take about 2 ms."""

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


def evaluate_leaf(evaluation, game, tree, node):
    """Give the edges of a new node their priors and return its value, for the side to move there."""
    raise TypeError("only inside jitted code")


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


@overload(evaluate_leaf, jit_options=INNER, strict=False)
def _select(evaluation, game, tree, node):
    return _playout_leaf if evaluation.instance_class is Playouts else _network_leaf


@kernel
def search_trees(game, trees, target_visits, chunk, constants, evaluation):
    """Search every tree until its root is proven, the tree is full or the root has enough visits.

    Args:
        game, trees, constants: see `ckai.rl.search.batch`.
        target_visits: `[T]` int32, visit counts at which the searches of the roots end.
        chunk: int64, most visits of a root in this call.
        evaluation: `Playouts` or `InlineNetwork`.

    Returns:
        The number of evaluations, of all trees.
    """
    game, trees, evaluation = borrowed(game), borrowed(trees), borrowed(evaluation)
    num_evaluations = 0
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
                num_evaluations += 1
            elif ending != BACKED_UP:
                break
        shorten_proof(game, tree, np.int64(0))
    return num_evaluations


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


class InlineSearcher(Searcher):
    """A `Searcher` whose leaves are evaluated inside the kernels, one after the other."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        constants: SearchConstants | None = None,
        game: Any = None,
        chunk: int | None = None,
        **settings: Any,
    ) -> None:
        """Allocate the trees; those of a network share evaluations, see `ckai.rl.search.transpositions`.

        Args:
            evaluator: an `IntegerEvaluator`, or a `RolloutEvaluator`.
            constants: constants of the search; None: those that suit the evaluator.
            game: see `Searcher`.
            chunk: most simulations of one tree in a `step`; None: a few milliseconds' worth.
            **settings: `trees`, `nodes` and `seed`, see `Searcher`; the seed is of the playouts too.
        """
        rules: Any = DEFAULT_GAME.rules if game is None else game
        network = isinstance(evaluator, IntegerEvaluator)
        self._evaluation: Playouts | InlineNetwork
        if isinstance(evaluator, IntegerEvaluator):
            self._evaluation = inline_network(evaluator, rules)
        else:
            self._evaluation = Playouts()
            constants = constants or ROLLOUT_CONSTANTS
        self.chunk = chunk or (EVALUATIONS_PER_STEP if network else PLAYOUTS_PER_STEP)
        # Two playouts of a position are two samples.
        super().__init__(evaluator, constants=constants, game=rules, transpositions=network, **settings)

    def _compile_step(self, batch: Any, visits: NDArray[np.int32]) -> None:
        constants, evaluation = self.constants, self._evaluation
        trees, chunk = self.tree_batch, self.chunk
        self._search = compile_for(search_trees, self.game, trees, visits, chunk, constants, evaluation)

    def step(self, visits: NDArray[np.int32]) -> int:
        """See `Searcher.step`: runs at most `chunk` simulations in every tree and returns their number."""
        before = self.tree_batch.info["simulations"].sum()
        visits = np.ascontiguousarray(visits, np.int32)
        num_evaluations: int = self._search(
            self.game, self.tree_batch, visits, self.chunk, self.constants, self._evaluation
        )
        self.evaluations += num_evaluations
        return int(self.tree_batch.info["simulations"].sum() - before)


def runs_inline(evaluator: Evaluator) -> bool:
    """Return whether an `InlineSearcher` can search with an evaluator."""
    return isinstance(evaluator, IntegerEvaluator | RolloutEvaluator)


def make_searcher(
    evaluator: Evaluator, *, batching: Mapping[str, Any] | None = None, **settings: Any
) -> Searcher:
    """Return the searcher of an engine or player, which keeps its trees from move to move.

    Args:
        evaluator: evaluates the leaves. For some this is an `InlineSearcher`, see `runs_inline`.
        batching: `leaves`, `visits_per_leaf`, `batches` and `threads` of a `Searcher` that is none.
        **settings: `trees`, `nodes`, `constants`, `game` and `seed`, see `Searcher`.
    """
    if runs_inline(evaluator):
        return InlineSearcher(evaluator, **settings)
    return Searcher(evaluator, **settings, **(batching or {}))
