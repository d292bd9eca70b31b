"""How many games one process can commit, with workers that only replay recorded shards.

    python benchmarks/speed/commits.py --workers 200 --size 16

Plays some games with an evaluator that knows nothing, and packs them as shards under other numbers. Then
simulated workers take leases and leave these shards in the folder of a run, as fast as the run commits them;
nothing is trained. Prints one JSON object: games a minute, shards/s, CPU milliseconds of the process of
the run for each game, in which it reads a shard, checks it and writes it, and those of the end of the
generation, in which it reads all shards and writes one file.
"""

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.leases.folder import LeaseClient, LeaseFolder
from ckai.rl.leases.lease import Lease, ShardInfo, pack_shard
from ckai.rl.leases.ledger import Ledger
from ckai.rl.leases.ledgers import Ledgers
from ckai.rl.leases.workers import Heartbeat
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.shards import ShardWriter, merge, read_shards, write_table
from ckai.rl.selfplay.workers import play_games

GAMES = 1_000_000


def recorded(size: int) -> list[FinishedGame]:
    """Play games to replay."""
    games: list[FinishedGame] = []
    config = SelfPlayConfig(sims=4, in_flight=size, groups=1)
    play_games(UniformEvaluator(), config, range(size), seed=0, on_game=games.append)
    return games


def shard(games: list[FinishedGame], lease: Lease, worker: str) -> bytes:
    """Return recorded games as the shard of a lease."""
    renumbered = [replace(game, number=number) for game, number in zip(games, lease.numbers, strict=False)]
    return pack_shard(renumbered, ShardInfo(lease.name, 1, lease.network, worker, 1.0, 1000))


def measure(folder: Path, workers: int, size: int, seconds: float, deliver: bool) -> dict[str, Any]:
    """Commit shards for some time.

    Args:
        folder: an empty folder.
        workers: simulated workers.
        size: games of a lease.
        seconds: how long.
        deliver: whether shards cross the folder; else they are handed over in memory, as by Ray.
    """
    games, numbers = recorded(size), range(GAMES, 2 * GAMES)
    whole = Lease("", "run", 1, tuple(numbers), 0, "a" * 32)
    writer = ShardWriter(folder / "shards", 1)
    ledger = Ledger(whole, numbers, writer, SelfPlayCounts(), groups=1)
    ledgers = Ledgers(ledger, (), DEFAULT_GAME.schema)
    clients = []
    for n in range(workers if deliver else 0):
        clients.append(LeaseClient(folder))
        clients[-1].name = f"worker-{n}"
        clients[-1].send(Heartbeat())
    run = LeaseFolder(folder, 2 * size, silence=3600)
    cpu = spent = 0.0
    while spent < seconds:
        # The workers' turn, which costs the run nothing.
        shards = []
        for n in range(workers):
            lease = clients[n].take() if deliver else ledgers.lease(size)
            if lease is not None and deliver:
                clients[n].deliver(lease, shard(games, lease, clients[n].name))
            elif lease is not None:
                shards.append(shard(games, lease, f"worker-{n}"))
        begun, before = time.monotonic(), time.process_time()
        if deliver:
            run.exchange(ledgers)
        for data in shards:
            ledgers.commit(data)
        spent += time.monotonic() - begun
        cpu += time.process_time() - before
    done = ledger.counts.games
    before = time.process_time()
    write_table(merge(read_shards(writer.folder, DEFAULT_GAME.schema)[0]), folder / "rows.parquet")
    merged = time.process_time() - before
    return {
        "games_per_minute": round(60 * done / spent),
        "shards_per_second": round(done / size / spent, 1),
        "milliseconds_per_game": round(1000 * cpu / done, 3),
        "milliseconds_per_game_merged": round(1000 * merged / done, 3),
        "kib_per_game": round(ledger.counts.moved / done / 1024, 2),
    }


@click.command()
@click.option("--workers", default=200, show_default=True)
@click.option("--size", default=16, show_default=True, help="Games of a lease.")
@click.option(
    "--seconds", default=20.0, show_default=True, help="Time of the run's process in each of the two."
)
def main(workers: int, size: int, seconds: float) -> None:
    """Measure."""
    found: dict[str, Any] = {"workers": workers, "size": size, "seconds": seconds}
    for name, deliver in (("memory", False), ("folder", True)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = measure(Path(folder), workers, size, seconds, deliver)
    click.echo(json.dumps(found))


if __name__ == "__main__":
    main()
