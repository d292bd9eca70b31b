"""What a generation of self-play will cost, for the screen of `ckai selfplay` and `--dry-run`."""

from typing import TYPE_CHECKING

from ckai.cli.shared.output import time_text

if TYPE_CHECKING:
    from ckai.rl.loop.config import RunConfig

EVALUATIONS = 0.85
"""Network evaluations per visit, on average."""
EMPTY_TREE = 1.4
"""Network evaluations of a search from an empty tree, relative to one that reuses a tree."""
PLY_BYTES = 55
"""Disk space per ply in bytes: rows, headers and PDN."""
NETWORK_FILES = 2
"""Checkpoints per generation."""


def estimate(config: "RunConfig", rate: float, network_bytes: int) -> str:
    """Estimate the time, memory and disk space of a generation, as text.

    Args:
        config: settings of the run.
        rate: evaluations/s of the network; 0 if unknown.
        network_bytes: size of a checkpoint.
    """
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.setup import memory

    play, spec = config.selfplay, get_game(config.game)
    plies = (config.games + config.gate.games) * spec.plies
    time_of = ""
    if rate:
        gate = config.gate.games * (config.gate.sims or play.sims) * spec.plies * EVALUATIONS
        seconds = (evaluations_of(config, config.games) + gate + reanalysis_of(config)) / rate
        work = "games and reanalysis" if config.learn.reanalyze else "games"
        time_of = f"about {time_text(max(1, seconds))} of {work}, "
    disk = (plies * PLY_BYTES + NETWORK_FILES * network_bytes) / 2**20
    return (
        f"each generation takes {time_of}{memory(play, spec) / 2**20:.0f} MiB of memory for search trees and "
        f"{max(1, disk):.0f} MiB of disk"
    )


def evaluations_of(config: "RunConfig", games: int) -> float:
    """Estimate the network evaluations of games of self-play."""
    from ckai.rl.games.registry import get_game

    play = config.selfplay
    visits = play.full_search_prob * play.sims + (1 - play.full_search_prob) * min(
        play.fast_visits, play.sims
    )
    return games * visits * get_game(config.game).plies * EVALUATIONS


def reanalysis_of(config: "RunConfig") -> float:
    """Estimate the network evaluations of the reanalysis of a generation with a full window."""
    from ckai.rl.games.registry import get_game

    learn = config.learn
    rows = learn.reanalyze * max(0, learn.window - 1) * config.games * get_game(config.game).plies
    return rows * (learn.reanalyze_sims or config.selfplay.sims) * EVALUATIONS * EMPTY_TREE
