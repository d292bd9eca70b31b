"""What a generation of self-play will cost, for the screen of `ckai selfplay` and `--dry-run`."""

from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import count_text, print_json, time_text

if TYPE_CHECKING:
    from ckai.models.layers.network import Network
    from ckai.rl.run.config import RunConfig, WorkersConfig

EVALUATIONS = 0.85
"""Network evaluations per visit, on average."""
PLY_BYTES = 55
"""Disk space per ply in bytes: rows, headers and PDN."""
CORE_FLOPS = 2e11
"""Operations of a core a second: measured are 1.8e11 with the default network, 2.5e11 with a ResNet."""
LOSS_SECONDS, FEWEST = 120, 64
"""Most time of playing that a kill may cost by default, and the fewest games in flight for it."""


def estimate(config: "RunConfig", rate: float, network_bytes: int) -> str:
    """Estimate the time, memory and disk space of a generation, as text.

    Args:
        config: settings of the run.
        rate: evaluations/s of the network.
        network_bytes: size of a checkpoint.
    """
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.group import memory

    play, spec = config.selfplay, get_game(config.game)
    gate = config.gate.games * spec.plies
    seconds = (evaluations_of(config, config.games) + gate * play.sims * EVALUATIONS) / rate
    disk = ((config.games * spec.plies + gate) * PLY_BYTES + network_bytes) / 2**20
    return (
        f"each generation takes about {time_text(max(1, seconds))} of games, "
        f"{memory(play, spec) / 2**20:.0f} MiB of memory for search trees and {max(1, disk):.0f} MiB of disk"
    )


def evaluations_of(config: "RunConfig", games: int) -> float:
    """Estimate the network evaluations of games of self-play."""
    from ckai.rl.games.registry import get_game

    play = config.selfplay
    return games * play.sims * get_game(config.game).plies * EVALUATIONS


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


def print_dry_run(
    config: "RunConfig", source: Any, evaluator: str, work: "WorkersConfig | None", as_json: bool
) -> None:
    """Measure the network on one core, or its share of the GPU, and print what a generation will take.

    Args:
        config: settings of the run.
        source: checkpoint of the network, or the network.
        evaluator: evaluator backend.
        work: settings of the workers on Ray; None: no Ray.
        as_json: print the result as JSON.
    """
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.backends import evaluations_per_second as measure
    from ckai.models.inference.backends import make_evaluator, sample_positions
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.models.layers.network import Network
    from ckai.rl.games.registry import get_game
    from ckai.rl.run.on_ray import RayWorkers
    from ckai.rl.selfplay.group import memory

    if work is None:
        places, threads = [("this machine", 1)], config.selfplay.group_count
    else:
        workers_there = RayWorkers(evaluator, work)
        places, threads = workers_there.room(), work.cpus_per_worker
        workers_there.close()
    network = source if isinstance(source, Network) else load_network(source, game=None)
    play, loaded = config.selfplay, make_evaluator(network, evaluator)
    callers = threads if isinstance(loaded, CudaEvaluator) else 1  # the threads share a GPU
    batch = -(-play.in_flight // callers)
    rate = measure(loaded, sample_positions(batch, network.encode), callers) / callers
    workers = sum(count for _, count in places)
    seconds = evaluations_of(config, config.games) / max(1.0, rate * workers * threads)
    trees = memory(play, get_game(config.game))
    moved = config.games * get_game(config.game).plies * PLY_BYTES
    size = 4 * sum(weights.numel() for weights in network.parameters())
    if as_json:
        print_json(
            {
                "nodes": [{"name": name, "workers": count} for name, count in places],
                "workers": workers,
                "threads": threads,
                "evaluator": loaded.name,
                "evaluations_per_second_of_a_core": round(rate, 1),
                "games": config.games,
                "seconds": round(seconds, 1) if workers else None,
                "worker_memory": trees,
                "shard_bytes": moved,
                "network_bytes": size,
            }
        )
        return
    rooms = ", ".join(f"{name}: {count}" for name, count in places) or "none"
    click.echo(f"workers: {workers} of {count_text(threads, 'core')} each ({rooms})")
    click.echo(f"one core of this machine: {rate:,.0f} eval/s with {loaded.name}, {EVALUATIONS} per visit")
    if workers:
        click.echo(
            f"a generation of {count_text(config.games, 'game')} takes about "
            f"{time_text(max(1, seconds))} to play if all cores are like that one, without learning and the "
            "gate match"
        )
    else:
        click.echo("no node has room for a worker; start nodes with `ray start --address HOST:PORT`")
    click.echo(
        f"each worker takes {trees / 2**20:,.0f} MiB for search trees; a generation moves "
        f"{max(1, moved / 2**20):,.0f} MiB of games to this process and {max(1, size / 2**20):,.0f} MiB of "
        "weights to each node"
    )
