"""`ckai selfplay --dry-run`: what a generation will take, without playing one."""

from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import count_text, print_json, time_text
from ckai.cli.shared.run_estimate import EVALUATIONS, PLY_BYTES, evaluations_of

if TYPE_CHECKING:
    from ckai.rl.loop.config import RunConfig


def print_dry_run(
    config: "RunConfig",
    source: Any,
    evaluator: str,
    places: list[tuple[str, int]],
    threads: int,
    as_json: bool,
) -> None:
    """Measure the network on one core, or its share of the GPU, and print what a generation will take.

    Args:
        config: settings of the run.
        source: checkpoint of the network, or the network.
        evaluator: evaluator backend.
        places: nodes, and how many workers each has room for.
        threads: threads of a worker.
        as_json: print the result as JSON.
    """
    from ckai.models.inference.backends import (
        AUTO,
        FASTEST,
        as_network,
        choose_evaluator,
        make_evaluator,
        sample_positions,
    )
    from ckai.models.inference.backends import evaluations_per_second as measure
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.setup import memory

    network, play = as_network(source), config.selfplay
    if evaluator in (AUTO, FASTEST):
        loaded, _ = choose_evaluator(network, batch=play.in_flight, threads=1)
    else:
        loaded = make_evaluator(network, evaluator)
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
