"""Pretraining on the rows of games: from a data set to a checkpoint, continued after a kill.

A run folder beside the output (`pretrained.ckpt` -> `pretrained.run/`) holds

    config.json   the settings and the data sets' fingerprints
    last.ckpt     the newest state, written at each epoch's end and every minute
    metrics.csv   one line an epoch; curves.png the same as a plot; tensorboard/ for TensorBoard
"""

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.models import logs
from ckai.models.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.config import PretrainConfig
from ckai.models.metrics import measure
from ckai.models.registry import Network, build
from ckai.models.training import Progress, State, TrainingError, pick_device, train

PLOT_SECONDS = 30.0
"""Between two drawings of the curves."""


@dataclass(frozen=True)
class PretrainResult:
    """What came out."""

    output: Path
    run: Path
    config: PretrainConfig
    metrics: dict[str, Any]
    """On the held-out games, see `ckai.models.metrics`."""
    info: dict[str, Any]
    """What the checkpoint says of itself."""
    continued: str
    """"" for a new training, "continued", or "finished before"."""


def run_folder(output: Path) -> Path:
    """Where a training that ends in `output` keeps its state."""
    return output.with_suffix(".run")


def pretrain(
    paths: Sequence[Path],
    output: Path,
    config: PretrainConfig,
    *,
    fresh: bool = False,
    memory_mb: int = 1024,
    save_seconds: float = 60.0,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> PretrainResult:
    """Train a network on rows, measure it on the held-out games and write its checkpoint.

    The weights of the epoch with the lowest held-out policy loss are kept. Called again after a kill it
    continues; called again after it finished, with the same settings and data, it reports what is there.

    Args:
        paths: row files.
        output: the checkpoint to write.
        config: settings.
        fresh: forget an earlier training with this output.
        memory_mb: see `RowsDataModule`.
        save_seconds: between two saved states within an epoch.
        progress: called a few times a second.
        say: called with lines for people.

    Raises:
        DatasetError: data that cannot be used.
        ModelError: unknown model or settings.
        TrainingError: an unfinished training with other settings is in the way, or the loss is not finite.
        CheckpointError: the saved state is damaged.
    """
    torch.manual_seed(config.train.seed)
    network = build(config.model, config.settings)
    data = RowsDataModule(
        paths,
        batch_size=config.train.batch_size,
        heldout=config.heldout,
        split_seed=config.split_seed,
        seed=config.train.seed,
        memory_mb=memory_mb,
    )
    run = run_folder(output)
    settings = _describe(config, network, data)
    saved = None if fresh else _earlier(run, output, settings, say)
    if saved and saved.training and saved.training["finished"] and output.exists():
        done = load_checkpoint(output)
        if done.info.get("run") == saved.info.get("run"):
            say(f"{output} was trained with these settings before; --fresh trains it again")
            return PretrainResult(output, run, config, done.metrics, done.info, "finished before")
    state = None
    run_id = f"{time.time_ns():x}"
    if saved:
        network.load_state_dict(saved.network().state_dict())
        state, run_id = saved.training, saved.info["run"]
        assert state is not None
        say(f"continuing {run} at epoch {state['epoch'] + 1}, step {state['step']}")
    else:
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir(parents=True)
        _write_json(run / "config.json", settings)
    info = _info(config, data, run_id)
    state = _train(network, data, config, state, run, info, save_seconds, progress, say)
    if state["best_weights"] is not None:
        network.load_state_dict(state["best_weights"])
    metrics = _final_metrics(network, data)
    info |= {
        "epochs": state["epoch"],
        "best_epoch": state["best_epoch"] + 1,
        "steps": state["step"],
        "seconds": round(state["seconds"], 1),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    save_checkpoint(output, network, metrics=metrics, info=info)
    return PretrainResult(output, run, config, metrics, info, "continued" if saved else "")


def _train(
    network: Network,
    data: RowsDataModule,
    config: PretrainConfig,
    state: State | None,
    run: Path,
    info: Mapping[str, Any],
    save_seconds: float,
    progress: Callable[[Progress], None] | None,
    say: Callable[[str], None],
) -> State:
    history = state["history"] if state else []
    written = len(history)
    title = f"{config.model}, {data.train_rows:,} rows"
    writer = logs.tensorboard_writer(run / "tensorboard", history)
    if writer is None:
        say("TensorBoard is not installed and its log left out; metrics.csv holds the same numbers")
    if history:
        logs.write_csv(run / "metrics.csv", history)
    plotted = time.monotonic()

    def save(now: State) -> None:
        nonlocal written, plotted
        save_checkpoint(run / "last.ckpt", network, info=info, training=now)
        if len(now["history"]) > written:
            written = len(now["history"])
            logs.write_csv(run / "metrics.csv", now["history"])
            if writer is not None:
                logs.write_tensorboard(writer, now["history"][-1])
            say(describe_epoch(now["history"][-1], config.train.epochs))
        if time.monotonic() - plotted > PLOT_SECONDS and written:
            logs.plot_curves(run / "curves.png", now["history"], title)
            plotted = time.monotonic()

    try:
        state = train(
            network,
            data,
            config.train,
            state=state,
            save=save,
            save_seconds=save_seconds,
            progress=progress,
        )
        logs.plot_curves(run / "curves.png", state["history"], title)
        return state
    finally:
        if writer is not None:
            writer.close()


def describe_epoch(row: Mapping[str, float], epochs: int) -> str:
    """One line about an epoch of a history."""
    text = f"epoch {int(row['epoch'])}/{epochs}: policy loss {row['train_policy_loss']:.3f}"
    if "heldout_policy_loss" in row:
        text += f", held out {row['heldout_policy_loss']:.3f}, top-1 {row['heldout_top1']:.1%}"
        text += f", top-5 {row['heldout_top5']:.1%}"
        if "heldout_value_mse" in row:
            text += f", value error {row['heldout_value_mse']:.3f}"
    return f"{text} ({row['seconds']:.0f} s)"


def _final_metrics(network: Network, data: RowsDataModule) -> dict[str, Any]:
    if not data.heldout:
        return {}
    device = pick_device()
    network.to(device)
    metrics = measure(network, data.batches("heldout"), seen=data.train_positions(), device=device)
    network.cpu()
    return metrics


def _describe(config: PretrainConfig, network: Network, data: RowsDataModule) -> dict[str, Any]:
    """All that must be equal for a training to be continued."""
    return {
        **asdict(config),
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "data": [
            {"path": str(file.path), "rows": file.rows, "fingerprint": file.fingerprint()}
            for file in data.files.files
        ],
        "in_memory": data.in_memory,
    }


def _earlier(
    run: Path, output: Path, settings: dict[str, Any], say: Callable[[str], None]
) -> Checkpoint | None:
    """The saved state of an earlier training with these settings, if there is one."""
    try:
        before = json.loads((run / "config.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"{run / 'config.json'}: cannot be read ({error}); --fresh starts anew"
        ) from error
    last = run / "last.ckpt"
    if not last.exists():
        return None
    try:
        saved = load_checkpoint(last)
        saved.network()
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --fresh starts anew") from error
    if saved.training is None:
        raise CheckpointError(f"{last}: expected a training state, found none; --fresh starts anew")
    differences = _differences(before, settings)
    if not differences:
        return saved
    named = "; ".join(differences)
    if saved.training["finished"] and output.exists():
        say(f"{run} holds a finished training with other settings ({named}); starting anew")
        return None
    raise TrainingError(
        f"{run} holds an unfinished training with other settings ({named}); "
        "repeat it with those, give another --output, or --fresh to start anew"
    )


def _differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Settings that differ, as `train.epochs: 8, now 3`; of data sets only the content counts."""
    if isinstance(before, dict) and isinstance(now, dict) and name != "data":
        found = []
        for key in [*before, *(k for k in now if k not in before)]:
            inner = f"{name}.{key}" if name else key
            found += _differences(before.get(key), now.get(key), inner)
        return found
    if name == "data":
        known = [[file["fingerprint"] for file in files] for files in (before or [], now)]
        if known[0] == known[1]:
            return []
        told = [
            ", ".join(f"{f['path']} with {f['rows']} rows" for f in files) for files in (before or [], now)
        ]
        return [f"data: {told[0]}, now {told[1]}"]
    return [] if before == now else [f"{name}: {before}, now {now}"]


def _info(config: PretrainConfig, data: RowsDataModule, run_id: str) -> dict[str, Any]:
    return {
        "kind": "pretrained",
        "run": run_id,
        "config": asdict(config),
        "split": {"seed": config.split_seed, "heldout": config.heldout},
        "data": [{"name": file.path.name, "rows": file.rows} for file in data.files.files],
        "train_rows": data.train_rows,
        "heldout_rows": data.heldout_rows,
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
    }


def _write_json(path: Path, content: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
