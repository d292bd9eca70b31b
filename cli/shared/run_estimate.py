"""What a generation of self-play will cost, for the screen of `ckai selfplay` and `--dry-run`."""

from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import count_text, print_json, time_text

if TYPE_CHECKING:
    from ckai.models.layers.network import Network
    from ckai.rl.run.config import RunConfig

EVALUATIONS = 0.85
"""Network evaluations per visit, on average."""
PLY_BYTES = 55
"""Disk space per ply in bytes: rows, headers and PDN."""
CORE_FLOPS = 2e11
"""Operations of a core a second: measured are 1.8e11 with the default network, 2.5e11 with a ResNet."""
LOSS_SECONDS, FEWEST = 120, 64
"""Most time of playing that a kill may cost by default, and the fewest games in flight for it."""


def estimate(config: "RunConfig", rate: float, network_bytes: int) -> dict[str, float]:
    """Estimate what a generation takes: `seconds` of games, the match included, bytes of `memory` and `disk`.

    `rate` is the network's, in evaluations/s.
    """
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.group import memory

    spec, games = get_game(config.game), config.games + config.gate.games
    return {
        "seconds": evaluations_of(config, games) / max(1.0, rate),
        "memory": memory(config.selfplay, spec),
        "disk": games * spec.plies * PLY_BYTES + network_bytes,
    }


def estimate_text(found: dict[str, float]) -> str:
    """Return an estimate as text."""
    return (
        f"each generation takes about {time_text(max(1, found['seconds']))} of games, "
        f"{found['memory'] / 2**20:.0f} MiB of memory for search trees and "
        f"{max(1, found['disk'] / 2**20):.0f} MiB of disk"
    )


def evaluations_of(config: "RunConfig", games: int) -> float:
    """Estimate the network evaluations of games of self-play."""
    from ckai.rl.games.registry import get_game

    return games * config.selfplay.sims * get_game(config.game).plies * EVALUATIONS


def games_in_flight(config: "RunConfig", network: "Network") -> int:
    """Return how many games to play at the same time on a CPU: as set, or fewer of expensive ones.

    A kill loses half of each on average, which should take no more than `LOSS_SECONDS` to play again. The
    speed is estimated from the network's arithmetic, so that the same command gives the same games.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from ckai.datasets.machine import available_cores
    from ckai.models.inference.backends import sample_positions
    from ckai.models.inference.torch_backend import float32_copy

    packed = float32_copy(network)
    rows = torch.from_numpy(network.encode.append_extra(sample_positions(1, network.encode)))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        packed(rows)
    rate = CORE_FLOPS * available_cores() / max(1, counter.get_total_flops())
    games = config.selfplay.in_flight
    while games > FEWEST and games / 2 * evaluations_of(config, 1) > LOSS_SECONDS * rate:
        games //= 2
    return games


def print_dry_run(config: "RunConfig", network: "Network", evaluator: str, as_json: bool) -> None:
    """Measure the network on one core, or on the GPU, and print what a generation will take here."""
    from ckai.models.inference.backends import best_rate, make_evaluator
    from ckai.models.inference.cuda_backend import CudaEvaluator

    loaded, threads = make_evaluator(network, evaluator), config.selfplay.group_count
    callers = threads if isinstance(loaded, CudaEvaluator) else 1  # the threads share a GPU
    batch = -(-config.selfplay.in_flight // callers)
    rate = best_rate(loaded, network.encode, [batch], [callers])[0] * (threads // callers)
    found = estimate(config, rate, 4 * sum(weights.numel() for weights in network.parameters()))
    if as_json:
        told: dict[str, Any] = {"evaluator": loaded.name, "threads": threads}
        print_json(told | {"evaluations_per_second": round(rate, 1), "games": config.games, **found})
        return
    cores = count_text(threads, "thread")
    click.echo(f"{loaded.name}: {rate:,.0f} eval/s with {cores}, if each is as fast as one alone")
    click.echo(f"{estimate_text(found)}; learning comes on top")
