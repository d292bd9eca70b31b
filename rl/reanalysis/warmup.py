"""Compiles what a reanalysis calls, before the clock of its speed."""

import tempfile
from functools import cache
from pathlib import Path

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.spec import GameSpec
from ckai.rl.reanalysis.reanalyze import reanalyze
from ckai.rl.selfplay.rows import FinishedGame, to_table
from ckai.rl.selfplay.shards import write_table
from ckai.rl.selfplay.warmup import compile_selfplay, small_network, smallest_config
from ckai.rl.selfplay.workers import play_games


def compile_reanalysis(spec: GameSpec, evaluator: Evaluator | None) -> None:
    """Compile the reanalysis of a game, with an evaluator of this class if there is one."""
    compile_selfplay(spec, evaluator)
    _compile(spec, isinstance(evaluator, IntegerEvaluator))


@cache
def _compile(spec: GameSpec, integers: bool) -> None:
    evaluator = small_network(spec) if integers else UniformEvaluator(spec.num_actions)
    assert evaluator is not None, "it was given"
    config, games = smallest_config(spec), list[FinishedGame]()
    play_games(evaluator, config, range(1), seed=0, on_game=games.append, spec=spec)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(to_table(games, 0), folder / "rows.parquet")
        reanalyze(
            folder / "rows.parquet",
            folder / "new.parquet",
            evaluator,
            config,
            spec=spec,
            folder=folder / "shards",
            share=0.5,
        )
