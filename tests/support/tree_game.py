"""A game made from a small tree, whose nodes are its states, so that a search can be checked by hand."""

from typing import Any, NamedTuple

import numpy as np

from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements

WIDTH = 4


@game(num_actions=WIDTH, position_bytes=2, max_legal_actions=WIDTH)
class TreeGame(NamedTuple):
    """Tables over the nodes 0..n-1; node 0 is the start."""

    children: np.ndarray[Any, Any]
    """[n, WIDTH] int32, -1: no such action."""
    passes: np.ndarray[Any, Any]
    """[n, WIDTH] int8, whether the turn passes to the other side."""
    values: np.ndarray[Any, Any]
    """[n] float64, value of a node without children for the side to move there."""
    knows_path: bool = False
    """Whether the states of a node that is reached in several ways differ."""


class Leaf:
    """A node of the tree: `value` is the result if the game ends there, `guess`, `prior` the evaluation."""

    def __init__(self, *children: Any, value: float = 0.0, guess: float = 0.0, prior: Any = None) -> None:
        # A child is a node, or (node, False) if the same side moves again.
        self.children = [c if isinstance(c, tuple) else (c, True) for c in children]
        self.value, self.guess, self.prior = value, guess, prior


def draw(root: Leaf) -> tuple[TreeGame, "Oracle", list[Leaf]]:
    """The game, its network, and the nodes in order of their numbers."""
    nodes = [root]
    for node in nodes:
        nodes += [child for child, _ in node.children]
    number = {id(node): i for i, node in enumerate(nodes)}
    children = np.full((len(nodes), WIDTH), -1, np.int32)
    passes = np.zeros((len(nodes), WIDTH), np.int8)
    for i, node in enumerate(nodes):
        for action, (child, passed) in enumerate(node.children):
            children[i, action] = number[id(child)]
            passes[i, action] = passed
    values = np.array([node.value for node in nodes])
    logits = np.zeros((len(nodes), WIDTH), np.float32)
    for i, node in enumerate(nodes):
        if node.prior is not None:
            logits[i, : len(node.prior)] = np.log(np.array(node.prior) + 1e-9)
    guesses = np.array([node.guess for node in nodes], np.float32)
    return TreeGame(children, passes, values), Oracle(logits, guesses), nodes


def endless(rng: np.random.Generator, states: int = 300) -> tuple[TreeGame, "Oracle"]:
    """A game whose moves lead from any state to some others, so that it never ends, and its network."""
    children = rng.integers(0, states, (states, WIDTH)).astype(np.int32)
    children[np.arange(WIDTH) >= rng.integers(2, WIDTH + 1, (states, 1))] = -1
    passes = (rng.random((states, WIDTH)) < 0.8).astype(np.int8)
    logits = rng.normal(0.0, 1.0, (states, WIDTH)).astype(np.float32)
    values = (rng.integers(-63, 64, states) / 64).astype(np.float32)
    return TreeGame(children, passes, np.zeros(states)), Oracle(logits, values)


class Oracle:
    """The evaluator of such a game: one evaluation per node."""

    name = "oracle"

    def __init__(self, logits: Any, values: Any) -> None:
        self.logits, self.values = logits, values

    def evaluate(self, boards: Any, out_logits: Any = None, out_values: Any = None) -> Any:
        nodes = boards[:, 0].astype(int) + 128 * boards[:, 1].astype(int)
        out_logits[:] = self.logits[nodes]
        out_values[:] = self.values[nodes]
        return out_logits, out_values

    def close(self) -> None:
        pass


@implements(contract.legal, TreeGame)
def _legal(game, state, out):
    n = 0
    for action in range(WIDTH):
        if game.children[state[0], action] >= 0:
            out[n] = action
            n += 1
    return n


@implements(contract.play, TreeGame)
def _play(game, state, action):
    path = np.int64(state[1] * (WIDTH + 1) + action + 1 if game.knows_path else 0)
    return (np.int64(game.children[state[0], action]), path), game.passes[state[0], action] != 0


@implements(contract.outcome, TreeGame)
def _outcome(game, state, count):
    return count == 0, game.values[state[0]]


@implements(contract.encode, TreeGame)
def _encode(game, state, out):
    out[0] = state[0] % 128
    out[1] = state[0] // 128
