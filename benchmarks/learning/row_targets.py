"""Compare rules for a weight w per row in the value target (1 - w) z + w q.

    python benchmarks/learning/row_targets.py runs/run-001 --first 5 --last 8

Trains the network that played the first of some generations on their games, once for each rule, with the same
rows, steps and order. Compares how well the value predicts the results of held-out games.
"""

import json
import statistics
from collections.abc import Callable
from pathlib import Path

import click
import torch
from torch import Tensor

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import load_network
from ckai.models.training import lightning_module as lit
from ckai.models.training.config import LossConfig, OptimizerConfig, TargetConfig, TrainConfig
from ckai.models.training.trainer import train

Rule = Callable[[dict[str, Tensor]], Tensor | float]
RULES: dict[str, Rule] = {
    "w = 0, z only": lambda batch: 0.0,
    "w = 1/4": lambda batch: 0.25,
    "w = 1/2": lambda batch: 0.5,
    "w = 3/4": lambda batch: 0.75,
    "w = 1, q only": lambda batch: 1.0,
    "w = |q|": lambda batch: batch["q"].abs(),
    "w = 1 - |q|": lambda batch: 1 - batch["q"].abs(),
    "w falls from 1 to 0 in 80 plies": lambda batch: (1 - batch["ply"].float() / 80).clamp(min=0),
    "w rises from 0 to 1 in 80 plies": lambda batch: (batch["ply"].float() / 80).clamp(max=1),
}
SHOWN = ("heldout_value_mse", "heldout_value_auc", "heldout_value_calibration_error")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--first", default=5, show_default=True, help="First generation.")
@click.option("--last", default=8, show_default=True, help="Last generation.")
@click.option("--seeds", default=2, show_default=True)
@click.option("--epochs", default=1, show_default=True)
def main(run: Path, first: int, last: int, seeds: int, epochs: int) -> None:
    """Train with each rule and print the metrics."""
    rows = [run / f"gen_{n:04d}" / "rows.parquet" for n in range(first, last + 1)]
    start = run / f"gen_{first - 1:04d}" / "network.ckpt"
    for name, rule in RULES.items():

        def target(batch: dict[str, Tensor], _: TargetConfig, rule: Rule = rule) -> Tensor:
            w = rule(batch)
            return torch.where(batch["z_known"], (1 - w) * batch["z"] + w * batch["q"], batch["q"])

        lit.value_target = target
        results = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            config = TrainConfig(
                epochs=epochs,
                batch_size=512,
                patience=0,
                seed=seed,
                loss=LossConfig(mask_illegal=True),
                optimizer=OptimizerConfig(lr=5e-4),
            )
            data = RowsDataModule(rows, heldout=0.1, seed=seed)
            results.append(train(load_network(start), data, config)["history"][-1])
        means = {key: round(statistics.mean(each[key] for each in results), 4) for key in SHOWN}
        print(json.dumps({"rule": name, **means}), flush=True)


if __name__ == "__main__":
    main()
