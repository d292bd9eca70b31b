"""Measure the overhead of Lightning: epochs of `train` and of a plain loop, alternately.

    python benchmarks/speed/lightning.py rows.parquet

Both train their own network on the same data module with the same loss, optimizer, clipping and schedule,
without evaluation. Prints medians of several rounds and their ratio.
"""

import statistics
import time
from pathlib import Path

import click
import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.models.layers.network import Network
from ckai.models.registry import build
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import planes_of, policy_loss, value_loss
from ckai.models.training.trainer import train


def lightning_epoch(network: Network, data: RowsDataModule, precision: str) -> float:
    """Return the seconds of an epoch of `train`."""
    config = TrainConfig(epochs=1, patience=0, batch_size=data.batch_size, precision=precision)
    return float(train(network, data, config)["history"][0]["seconds"])


def plain_epoch(network: Network, data: RowsDataModule, precision: str) -> float:
    """Return the seconds of an epoch in a plain loop."""
    config = TrainConfig(epochs=1)
    weights = [p for p in network.parameters() if p.ndim > 1]
    others = [p for p in network.parameters() if p.ndim <= 1]
    groups = [
        {"params": weights, "weight_decay": config.optimizer.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.optimizer.lr, fused=True)
    steps = data.steps_per_epoch
    begun = time.perf_counter()
    network.train()
    for step, batch in enumerate(data.epoch(0)):
        for group in optimizer.param_groups:
            group["lr"] = config.optimizer.lr * config.optimizer.factor(step, steps)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits, raw = network.forward_planes(planes_of(network, batch))
        policy = policy_loss(logits, batch)
        error = value_loss(raw, batch, config.loss.target)
        optimizer.zero_grad()
        (policy + config.loss.value_weight * error).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), config.optimizer.clip)
        optimizer.step()
    return time.perf_counter() - begun


@click.command()
@click.argument("rows", type=click.Path(path_type=Path))
@click.option("--model", default="cnn2x2", show_default=True)
@click.option("--precision", default="bf16", show_default=True, type=click.Choice(["32", "bf16"]))
@click.option("--rounds", default=5, show_default=True)
def main(rows: Path, model: str, precision: str, rounds: int) -> None:
    """Measure and print the medians."""
    data = RowsDataModule([rows], batch_size=TrainConfig().batch_size, heldout=0, need_both_sides=False)
    times: dict[str, list[float]] = {"Lightning": [], "plain loop": []}
    networks = {name: build(model) for name in times}
    for number in range(rounds + 1):  # the first round warms up
        for name, epoch in (("Lightning", lightning_epoch), ("plain loop", plain_epoch)):
            seconds = epoch(networks[name], data, precision)
            if number:
                times[name].append(seconds)
                print(f"round {number}, {name}: {seconds:.1f} s", flush=True)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    ratio = statistics.median(a / b for a, b in zip(*times.values(), strict=True))
    print(
        f"{model}, {precision}, {data.train_rows:,} rows: Lightning {medians['Lightning']:.1f} s per epoch, "
        f"plain loop {medians['plain loop']:.1f} s; ratio {ratio:.2f}"
    )


if __name__ == "__main__":
    main()
