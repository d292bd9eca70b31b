"""Compiles what self-play calls, before the clock of its speeds runs."""

from dataclasses import replace
from functools import cache
from itertools import repeat

from ckai.models.encodings import encoding_type
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.registry import build
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig
from ckai.rl.selfplay.group import Player
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import FinishedGame, to_table


def small_network(spec: GameSpec) -> IntegerEvaluator | None:
    """Return an integer network for a game, None where its planes do not suit one."""
    if spec.encoding is not None and not encoding_type(spec.encoding).VALUES:
        return None
    sizes = {"hidden": 8, "narrow": 8, "narrowest": 8}
    encoding = {} if spec.encoding is None else {"encoding": spec.encoding}
    return IntegerEvaluator(build("swift", {**sizes, **encoding}))


def compile_selfplay(spec: GameSpec, evaluator: Evaluator | None) -> None:
    """Compile self-play of a game, also against past networks, and its rows, with such an evaluator."""
    _compile_selfplay(spec, isinstance(evaluator, IntegerEvaluator))


@cache
def _compile_selfplay(spec: GameSpec, integers: bool) -> None:
    game = spec.game()
    game.push(game.position.legal_moves()[0])
    game.outcome()
    evaluator = (small_network(spec) if integers else None) or UniformEvaluator(spec.num_actions)
    config, games = SelfPlayConfig(sims=3, in_flight=2, groups=1, max_plies=20), list[FinishedGame]()
    if not spec.supports_tables:
        config = replace(config, tables=0)
    pool = Pool(PoolConfig(share=0.5), 0, {0: evaluator})
    for past in (pool, None):  # without a pool the kernels evaluate a network of integers
        player = repeat(Player(evaluator, 0, past)).__next__
        play_games(player, config, range(2), seed=0, on_game=games.append, spec=spec)
    to_table(games)
