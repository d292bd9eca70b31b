"""Ablation of network and training options for predicting expert moves.

    python benchmarks/learning/ablation.py rows.parquet -o folder

Each row of the table is a training that changes one thing in the row it is compared with; all use the same
games. The main rows use several seeds. Trainings are kept in the folder, and a second call continues an
interrupted one. `ckai runs folder` lists them.
"""

import json
import multiprocessing
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import torch

from ckai.datasets.files import write_whole
from ckai.datasets.machine import available_cores
from ckai.models.training.config import LossConfig, OptimizerConfig, PretrainConfig, TrainConfig
from ckai.models.training.pretrain import pretrain

SHOWN = {
    "top1_legal": "first",
    "top5_legal": "in five",
    "top1_unforced": "choice",
    "policy_loss_legal": "loss",
    "value_mse": "value",
    "value_auc": "AUC",
}
SIZES = {"channels": 32, "blocks": 4}


@dataclass(frozen=True)
class Variant:
    """A row of the table."""

    name: str
    against: str = ""
    """The row it is compared with."""
    model: str = "resnet"
    settings: dict[str, Any] = field(default_factory=dict)
    train: dict[str, Any] = field(default_factory=dict)
    loss: dict[str, Any] = field(default_factory=dict)
    main: bool = False
    """Whether to train it with all seeds."""

    def but(self, name: str, *, main: bool = False, **changes: Any) -> "Variant":
        """Return a copy with changes; dicts are merged."""
        merged = {k: {**getattr(self, k), **v} if isinstance(v, dict) else v for k, v in changes.items()}
        return replace(self, name=name, against=self.name, main=main, **merged)


BASE = Variant("residual network", main=True)
MASKED = BASE.but("legal moves masked in the loss", loss={"mask_illegal": True}, main=True)
MOVES = MASKED.but("sees legal moves", settings={"encoding": "moves"})
TACTICS = MOVES.but("sees tactics of 2 plies", settings={"encoding": "tactics"}, main=True)
DEEP = TACTICS.but("sees tactics of 4 plies", settings={"encoding": "tactics4"}, main=True)
DENSE = DEEP.but("dense part in the policy head", settings={"policy_hidden": 256})
SQUEEZE = DENSE.but("squeeze and excitation", model="senet", main=True)
AVERAGED = SQUEEZE.but("weights averaged", train={"ema": 0.999})
VARIANTS = [
    *(BASE, MASKED, MOVES, TACTICS, DEEP, DENSE, SQUEEZE, AVERAGED),
    AVERAGED.but("value head of win, draw and loss", settings={"value": "wdl"}),
]


def config(variant: Variant, seed: int, epochs: int) -> PretrainConfig:
    """Return the training settings of a variant."""
    return PretrainConfig(
        model=variant.model,
        settings={**SIZES, **variant.settings},
        train=replace(
            TrainConfig(
                epochs=epochs,
                patience=0,
                seed=seed,
                precision="bf16",
                loss=LossConfig(**variant.loss),
                optimizer=OptimizerConfig(lr=4e-3, weight_decay=0.05),
            ),
            **variant.train,
        ),
    )


def train_one(rows: Path, path: Path, setup: PretrainConfig, threads: int) -> dict[str, Any]:
    """Train once and return the metrics on held-out games."""
    torch.set_num_threads(threads)
    return pretrain([rows], path, setup).metrics


@click.command()
@click.argument("rows", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the trainings."
)
@click.option("--seeds", default=3, show_default=True)
@click.option("--epochs", default=2, show_default=True)
@click.option("--jobs", default=available_cores(), show_default=True, help="Number of trainings at once.")
def main(rows: Path, output: Path, seeds: int, epochs: int, jobs: int) -> None:
    """Train all variants and print the table."""
    output.mkdir(parents=True, exist_ok=True)
    threads = max(1, available_cores() // jobs)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        running = [
            [
                pool.submit(
                    train_one,
                    rows,
                    output / f"{number:02}-{seed}.ckpt",
                    config(variant, seed, epochs),
                    threads,
                )
                for seed in range(seeds if variant.main else 1)
            ]
            for number, variant in enumerate(VARIANTS)
        ]
        table = []
        for variant, futures in zip(VARIANTS, running, strict=True):
            table.append((variant, [future.result() for future in futures]))
            reached = ", ".join(f"{metrics['top1_legal']:.4f}" for metrics in table[-1][1])
            print(f"{variant.name}: {reached}", file=sys.stderr, flush=True)
    summary = []
    print(f"| what changed | against | {' | '.join(SHOWN.values())} | seeds |")
    print("|---" * (len(SHOWN) + 3) + "|")
    for variant, results in table:
        cells = []
        for key in SHOWN:
            values = [metrics[key] for metrics in results]
            share = key.startswith("top") or key == "value_auc"
            scale, digits = (100, 2) if share else (1, 4)
            spread = f" ± {statistics.stdev(values) * scale:.{digits}f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values) * scale:.{digits}f}{spread}")
        print(f"| {variant.name} | {variant.against} | {' | '.join(cells)} | {len(results)} |")
        summary.append({"name": variant.name, "metrics": results})
    write_whole(output / "ablation.json", json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
