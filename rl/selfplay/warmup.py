"""Compiles what self-play calls, before the clock of its speeds runs."""

from dataclasses import replace
from functools import cache

from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig
from ckai.rl.selfplay.pdn import finished_pdn
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import FinishedGame, to_table
from ckai.rl.selfplay.workers import play_games


@cache
def compile_selfplay(spec: GameSpec) -> None:
    """Compile self-play of a game: all its root rules, against past networks, and its rows."""
    position = spec.position()
    position.push(position.legal_moves()[0]).outcome()
    evaluator = UniformEvaluator(spec.num_actions)
    config = SelfPlayConfig(sims=3, in_flight=2, groups=1, max_plies=20)
    if not spec.supports_tables:
        config = replace(config, tables=0)
    games: list[FinishedGame] = []
    pool = Pool(PoolConfig(share=0.5), 0, [0], [evaluator])
    play_games(evaluator, config, range(2), seed=0, on_game=games.append, spec=spec, pool=pool)
    to_table(games, 0)
    for game in games:
        finished_pdn(game, 0)
