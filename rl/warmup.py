"""Compiles every kernel once, so that no later command waits for it.

Each step is a small piece of real work: it calls kernels as the commands do, with arguments of the same
types. A test compares the kernels that were called with all that are defined.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np

from ckai.datasets.convert import parse_files
from ckai.datasets.tables import Tables, build_tables
from ckai.datasets.tables.probe import compile_probes
from ckai.game import Game, Position
from ckai.game.jit import compiled
from ckai.game.position import compile_rules, perft
from ckai.models.tactics import append_changes
from ckai.pdn import read_games
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.distill.config import DistillConfig
from ckai.rl.distill.distill import distill
from ckai.rl.engine.alphabeta import MaterialEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.games.contract import as_state
from ckai.rl.games.registry import DEFAULT_GAME, game_names, get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.searcher import Searcher
from ckai.rl.selfplay.play import compile_selfplay, small_network


def warm_up(progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Compile every kernel for every game, or load it where the cache has it.

    `progress` is called with the number of steps done and their total. Returns the number of functions
    compiled; 0 if the cache had all of them.
    """
    before, work = compiled.functions, list(steps())
    for done, step in enumerate(work):
        progress(done, len(work))
        step()
    progress(len(work), len(work))
    return compiled.functions - before


def steps() -> Iterator[Callable[[], object]]:
    """Yield the steps, in an order in which each needs about as much time as the others."""
    yield compile_rules
    yield lambda: perft(Position.start(), 3)
    yield _compile_conversion
    yield _compile_tables
    yield lambda: MaterialEngine().play(Game(), Limit(depth=1))
    yield lambda: append_changes(np.full((1, 34), -1, np.int8), (1,))
    yield _compile_engine
    yield _compile_walks
    for spec in map(get_game, game_names()):
        yield partial(compile_positions, spec)
        yield partial(compile_search, spec)
        yield partial(compile_selfplay, spec, small_network(spec) is not None)


def _compile_conversion() -> None:
    pdn = b'[FEN "B:W32:B1"] 1. 1-5 {a comment} 32-28 (32-27) 1-0 \n[Event "2"] 1. 11-15 22-18 2. 15x22 *'
    list(read_games(BytesIO(pdn)))
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "games.pdn"
        source.write_bytes(pdn)
        parse_files(source, source.with_suffix(".parquet"))


def _compile_tables() -> None:
    with tempfile.TemporaryDirectory() as name:
        build_tables(2, Path(name) / "tables-2.ckt")
    compile_probes(Tables.open(3))


def _compile_engine() -> None:
    """Compile what an engine calls, with tables and without."""
    with TreeEngine(UniformEvaluator(), nodes=100, tables=Tables.open(3)) as engine:
        engine.search("B:W32,31,30,29:B1,2,3,4", Limit(depth=2, visits=20), lines=2)


def compile_positions(spec: GameSpec) -> None:
    """Compile what positions of a game and its solver call: a random game is played, read and solved."""
    game, rng = spec.game(), random.Random(0)
    while moves := game.position.legal_moves():
        game.push(rng.choice(moves))
    game.outcome()
    spec.encoded(game.position)
    spec.repetition_key(game.position)
    spec.read_position(spec.position_text(game.position))
    if spec.solver is not None:
        spec.solver().solve(game.positions[-3])


def compile_search(spec: GameSpec) -> None:
    """Compile the searches of a game."""
    rules, actions, integers = spec.rules, spec.num_actions, small_network(spec)
    state = as_state(spec.state(spec.position()))
    for evaluator in filter(None, [UniformEvaluator(actions), RolloutEvaluator(actions), integers]):
        searcher = Searcher(evaluator, nodes=50, game=rules)
        searcher.set_root(0, state)
        searcher.run(np.array([8], np.int32))
        searcher.play(0, searcher.best(0))
        searcher.close()
    if integers is not None:
        integers.evaluate(np.zeros((2, rules.POSITION_BYTES), np.int8))
        AlphaBetaSearch(integers, game=rules, entries=64).search(state, [state], depth=2)


def _compile_walks() -> None:
    """Compile the walks and the games of a distillation in checkers."""
    config = DistillConfig(positions=1, plies=2, opening_share=0.5)
    with tempfile.TemporaryDirectory() as name:
        rows, teacher = Path(name) / "rows.parquet", UniformEvaluator()
        distill(teacher, rows, config)
        distill(teacher, rows.with_name("more.parquet"), config, data=[rows])
        if (integers := small_network(DEFAULT_GAME)) is not None:
            distill(integers, rows.with_name("games.parquet"), replace(config, nodes=1))
