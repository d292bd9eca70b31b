"""Runs of self-play that are over in a second, for tests of the board."""

from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig


def played_run(folder, game, encoding, generations=2):
    """A run of self-play with tiny settings."""
    network = folder / f"{game}.ckpt"
    settings = {"channels": 4, "hidden": 16, "encoding": encoding}
    save_checkpoint(network, build("cnn2x2", settings))
    config = RunConfig(
        game=game,
        games=4,
        selfplay=SelfPlayConfig(sims=4, in_flight=4, max_plies=12, tables=0),
        learn=LearnConfig(batch_size=16),
        gate=GateConfig(games=2),
    )
    run = Run.create(folder / "runs" / game, network, config)
    run.go(generations, lambda event: None)
    return run
