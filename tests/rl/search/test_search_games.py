"""Other games and players of the same search: tic-tac-toe, Connect-4, random playouts, UCT with playouts."""

import pickle
import random
import subprocess
import sys
from collections import Counter
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, typeof
from numba.core import serialize

from ckai.game import HALFMOVE_LIMIT, Position
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.games import contract
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.contract import LOSS, playout
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GridMove
from ckai.rl.games.tictactoe import TicTacToe
from ckai.rl.search.searcher import Searcher


def choices(positions, make):
    """The best move after 800 simulations in each position, each in a tree of its own."""
    searcher = make(len(positions))
    for t, position in enumerate(positions):
        searcher.set_root(t, position.state)
    searcher.run(np.full(len(positions), 800, np.int32))
    return [GridMove(searcher.best(t)) for t in range(len(positions))]


def uniform(trees):
    return Searcher(UniformEvaluator(9), trees=trees, nodes=802, game=TicTacToe())


def rollout(trees):
    return Searcher(RolloutEvaluator(), trees=trees, nodes=802, game=TicTacToe(), seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("make", [uniform, rollout])
@pytest.mark.parametrize("first", [True, False])
def test_never_loses_tic_tac_toe_whatever_the_other_plays(make, first):
    # Every reply of the other side is followed; positions are searched once however they are reached.
    level, ends, searched = {get_game("tictactoe").position()}, Counter(), 0
    while level:
        ends += Counter(end.winner for end in (position.outcome() for position in level) if end)
        going = sorted((p for p in level if p.outcome() is None), key=lambda position: position.state)
        if going and going[0].black == first:
            searched += len(going)
            level = {p.push(move) for p, move in zip(going, choices(going, make), strict=True)}
        else:
            level = {position.push(move) for position in going for move in position.legal_moves()}
    assert ends.keys() == {"black" if first else "white", None}
    assert searched > 30


def test_a_numba_cache_with_an_unknown_game_can_be_read(monkeypatch):
    # Numba keeps the kernels of all games in one file: one that a process cannot import must not hurt it.
    class Somebodys(NamedTuple):
        size: int

    Somebodys.__module__, Somebodys.__qualname__ = "a_script", "Somebodys"
    theirs = contract.game(num_actions=1, position_bytes=1, max_legal_actions=1)(Somebodys)
    script = ModuleType("a_script")
    script.Somebodys = theirs
    monkeypatch.setitem(sys.modules, "a_script", script)
    data = serialize.dumps([typeof(theirs(3)), typeof(Checkers())])
    assert pickle.loads(data)[0].instance_class is theirs
    code = f"import pickle, ckai.rl.games.checkers; print(pickle.loads({data!r})[1].instance_class.__name__)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "Checkers\n"


@pytest.mark.slow
def test_a_new_node_is_searched_1_ply_for_the_end_of_the_game():
    # Wherever the side to move plays, the other completes one of two lines: five visits prove it, the root's
    # and one of each of its moves.
    searcher = Searcher(UniformEvaluator(9), nodes=50, game=TicTacToe())
    searcher.set_root(0, (0b010100000, 0b000001011))
    searcher.run(np.array([50], np.int32))
    assert (searcher.root(0)["proof"], searcher.root(0)["visits"]) == (LOSS, 5)
    assert searcher.root(0)["plies"] == 2


# --- playouts ------------------------------------------------------------------------------------------


@njit
def playouts(game, state, count):
    """Number of random games won and drawn by the side to move in a state."""
    stream, won, drawn = np.uint64(4), 0, 0
    for _ in range(count):
        value, stream = playout(game, state, stream)
        won, drawn = won + (value > 0), drawn + (value == 0)
    return won, drawn


def random_result(position, rng):
    """The result of a game of random hops for the side to move, by the rules of `Position`."""
    black = position.black
    while actions := position.legal_actions():
        if position.halfmove_clock >= HALFMOVE_LIMIT:
            return 0
        position = position.push_action(rng.choice(actions))
    return -1 if position.black == black else 1


@pytest.mark.parametrize(
    "fen", ["W:WK18:B14", "B:W32:BK1:H80", "B:W18:B", "B:W6,7,14,15,K30:B2,K1,K8", "W:W21,22,K30:B1,2,K7"]
)
def test_playouts_of_checkers_end_as_random_games_do(fen):
    position, rng = Position.from_fen(fen), random.Random(0)
    slow = [random_result(position, rng) for _ in range(400)]
    found = playouts(Checkers(), pack(position), 20_000)
    for result, count in zip((1, 0), found, strict=True):
        share = slow.count(result) / 400
        assert count / 20_000 == pytest.approx(share, abs=5 * (share * (1 - share) / 400) ** 0.5)


# --- UCT with playouts -----------------------------------------------------------------------------------


def search(fen, sims, seed=0):
    searcher = Searcher(RolloutEvaluator(), nodes=sims + 1, seed=seed)
    searcher.set_root(0, pack(Position.from_fen(fen)))
    searcher.run(np.array([sims], np.int32))
    return searcher


def test_uct_follows_from_the_seed_and_not_from_the_chunk():
    fen = Position.start().fen
    one, same, other = search(fen, 3000), search(fen, 3000), search(fen, 3000, seed=1)
    assert (
        one.tree_batch.nodes.tobytes() == same.tree_batch.nodes.tobytes() != other.tree_batch.nodes.tobytes()
    )
    chunks = Searcher(RolloutEvaluator(), nodes=3001)
    chunks.chunk = 7
    chunks.set_root(0, pack(Position.start()))
    chunks.run(np.array([3000], np.int32))
    assert chunks.tree_batch.nodes.tobytes() == one.tree_batch.nodes.tobytes()
    assert one.root(0)["visits"] == 3000
