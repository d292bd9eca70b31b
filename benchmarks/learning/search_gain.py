"""What do searches of a network know that the network does not, by the number of visits?

    python benchmarks/learning/search_gain.py runs/b --generation 64 --sims 25,100,400,1600 -o gain

Searches the same positions of a generation with different visits, as `ckai reanalyze` does, without noise.
Prints, over positions with a choice: the entropy of the visits, their KL divergence from the network's
policy, how often both have the same first action, the mean squared difference of q and the network's value,
and the mean squared errors of q and of the value against the game's result. The files of the searches are
kept in the folder; a second call makes only those that are missing.
"""

import json
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from ckai.datasets.reader import read_rows
from ckai.datasets.rows import Rows
from ckai.models.checkpoint import load_network
from ckai.models.inference.predict import predict
from ckai.models.pretrained import network_path
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.leases.lease import hash_of
from ckai.rl.loop.run import Run
from ckai.rl.reanalysis.reanalyze import drawn_rows, reanalyze

PIECES = ((1, 24), (1, 8), (9, 16), (17, 24))
"""Ranges of the number of pieces, each a block of the table."""


def report(rows: Rows, policy: NDArray[np.float32], value: NDArray[np.float32]) -> dict[str, float]:
    """Return the figures of B rows with searches; the network's `policy` is [B, 128], its `value` [B]."""
    assert rows.visits is not None
    assert rows.q is not None
    assert rows.surprise is not None
    target = rows.visits.dense(rows.label, policy.shape[1])
    logs = np.log(target, out=np.zeros_like(target), where=target > 0)
    known = rows.z_known
    return {
        "rows": len(rows),
        "entropy": float(-(target * logs).sum(1).mean()),
        "KL": float(rows.surprise.mean()),
        "same first action": float((target.argmax(1) == policy.argmax(1)).mean()),
        "q - value": float(((rows.q - value) ** 2).mean()),
        "q - z": float(((rows.q - rows.z) ** 2)[known].mean()),
        "value - z": float(((value - rows.z) ** 2)[known].mean()),
    }


@click.command()
@click.argument("run", type=click.Path(path_type=Path, file_okay=False))
@click.option("--generation", required=True, type=click.IntRange(min=1), help="Generation of the positions.")
@click.option("--engine", type=click.Path(path_type=Path), help="Network.  [default: the newest of RUN]")
@click.option("--sims", default="25,100,400,1600", show_default=True, help="Visits, separated by commas.")
@click.option(
    "--share", default=0.05, show_default=True, type=click.FloatRange(0, 1), help="Share of the rows."
)
@click.option("--evaluator", default="auto", show_default=True, help="Backend that runs the network.")
@click.option("-o", "--output", default=Path("gain"), show_default=True, type=click.Path(path_type=Path))
def main(
    run: Path, generation: int, engine: Path | None, sims: str, share: float, evaluator: str, output: Path
) -> None:
    """Search, and print one JSON object for each number of visits and range of pieces."""
    opened = Run.open(run)
    source, file = opened.path(generation, "rows.parquet"), network_path(engine or opened.network)
    drawn = drawn_rows(source, share, 0)
    positions = read_rows(source).take(drawn)
    policy, value = predict(load_network(file), positions)
    choice = positions.legal_mask().sum(1) > 1
    pieces = (positions.board != 0).sum(1)
    output.mkdir(parents=True, exist_ok=True)
    for visits in map(int, sims.split(",")):
        config = replace(opened.config.selfplay.of_generation(generation), sims=visits)
        searched = output / f"{visits}.parquet"
        if not searched.exists():
            loaded = load_evaluator(file, evaluator, threads=config.group_count, game=opened.spec.name)
            reanalyze(
                source,
                searched,
                loaded,
                config,
                spec=opened.spec,
                folder=searched.with_suffix(".shards"),
                share=share,
                network=hash_of(file.read_bytes()),
            )
        rows = read_rows(searched).take(drawn)
        for low, high in PIECES:
            index = np.flatnonzero(choice & (pieces >= low) & (pieces <= high))
            figures = report(rows.take(index), policy[index], value[index])
            shown = {name: round(figure, 4) for name, figure in figures.items()}
            print(json.dumps({"visits": visits, "pieces": f"{low} to {high}"} | shown), flush=True)


if __name__ == "__main__":
    main()
