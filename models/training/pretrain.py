"""Pretraining on the rows of games: from a data set to a checkpoint, resumable after a kill.

The run folder next to the output (`pretrained.ckpt` -> `pretrained.run/`) contains

    config.json   the settings and the data sets' fingerprints
    .lock         held while it trains: two trainings never write one output
    last.ckpt     Lightning's state, written at the end of each epoch and every minute; gone at the end
    best.ckpt     the same after the epoch with the lowest held-out policy loss; gone at the end
    metrics.csv   one line an epoch; also as curves.png, and in tensorboard/ if that is installed
"""

import json
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from pytorch_lightning.loggers import TensorBoardLogger

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import locked, plot_panels, refuse_to_replace, remove_temporaries, write_whole
from ckai.datasets.machine import SharedCores
from ckai.datasets.settings import flat_settings
from ckai.models.checkpoint import CheckpointError, load_checkpoint, read_plain, save_checkpoint
from ckai.models.evaluation import check_held_out, origin
from ckai.models.network import Network, build
from ckai.models.training.config import PretrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.runs import (
    BEST,
    CONFIG,
    LAST,
    LOCK,
    METRICS,
    PANELS,
    best_epoch,
    describe_epoch,
)
from ckai.models.training.trainer import History, TrainingError, TrainingProgress, fit, loss_kept

PLOT_SECONDS = 30.0
"""Least time between two plots of the curves."""


@dataclass(frozen=True)
class PretrainResult:
    """The checkpoint `output` with its `metrics` and `info`, and the folder `run`."""

    output: Path
    run: Path
    config: PretrainConfig
    metrics: dict[str, Any]
    info: dict[str, Any]
    continued: bool
    """Whether it continued one that was interrupted."""


def network_and_data(paths: Sequence[str | Path], config: PretrainConfig) -> tuple[Network, RowsDataModule]:
    """Seed PyTorch, then build the network and open the data of a pretraining; see `pretrain` for errors."""
    torch.manual_seed(config.train.seed % 2**63)
    network = load_checkpoint(config.init).network() if config.init else build(config.model, config.settings)
    data = RowsDataModule(
        paths,
        batch_size=config.train.batch_size,
        heldout=config.heldout,
        split_seed=config.split_seed,
        seed=config.train.seed,
        game=network.encode.GAME,
        weights=config.weights,
    )
    return network, data


def pretrain(
    paths: Sequence[str | Path],
    output: str | Path,
    config: PretrainConfig | None = None,
    *,
    force: bool = False,
    save_seconds: float = 60.0,
    progress: Callable[[TrainingProgress], None] = lambda progress: None,
    say: Callable[[str], None] = lambda text: None,
) -> PretrainResult:
    """Train a network on rows, evaluate it on the held-out games and write its checkpoint.

    Keeps the weights of the epoch with the lowest held-out policy loss (over the legal actions, if
    `mask_illegal` is set). Called again after a kill, with the same settings and data, it resumes.

    Args:
        paths: row files.
        output: the checkpoint to write; the run folder is next to it.
        config: the settings; None: the defaults.
        force: replace an existing checkpoint, and discard an interrupted training with other settings or with
            a damaged state.
        save_seconds: between two saved states within an epoch.
        progress: called a few times a second.
        say: called with lines of text for the user.

    Raises:
        DatasetError: data that cannot be used, or would hold out games that `config.init` has learned.
        ValueError: an unknown architecture or setting.
        FileExistsError: there is such a checkpoint, and `force` is not set.
        TrainingError: an interrupted training with other settings has this output, or the loss is not finite.
        LockedError: another process trains with this output.
        CheckpointError: the saved state is damaged, or `config.init` cannot be used.

    Examples:
        >>> from ckai.models import PretrainConfig, TrainConfig
        >>> config = PretrainConfig(model="mlp", heldout=0.5, train=TrainConfig(epochs=1))
        >>> result = pretrain(["games.parquet"], "mlp.ckpt", config)
        >>> result.info["epochs"], result.metrics["rows"] == result.info["heldout_rows"]
        (1, True)
    """
    output, config = Path(output), config or PretrainConfig()
    if output.suffix != ".ckpt":
        raise TrainingError(f"{output}: expected a name that ends in .ckpt: the run folder is named after it")
    refuse_to_replace(output, force)
    network, data = network_and_data(paths, config)
    run = run_folder(output)
    first = load_checkpoint(config.init) if config.init else None
    with locked(run / LOCK):
        if first:
            config = replace(config, model=network.architecture, settings=asdict(network.settings))
            check_held_out(config.init, first.info, data)
        remove_temporaries(run)
        remove_temporaries(output.parent, output.name)
        settings = _describe(config, network, data) | ({"init_digest": first.digest} if first else {})
        try:
            saved = _interrupted(run, settings)
        except (CheckpointError, TrainingError) as error:
            if not force:
                raise type(error)(f"{error}; use another -o to keep it, or --force to discard it") from error
            saved = None
        if saved is None:
            _remove_state(run)
            shutil.rmtree(run / "tensorboard", ignore_errors=True)
            for name in (METRICS, "curves.png"):
                (run / name).unlink(missing_ok=True)
            write_whole(run / CONFIG, json.dumps(settings, indent=2) + "\n")
        else:
            say(f"resuming {run} in epoch {saved['RowsDataModule']['epoch'] + 1}")
        installed = find_spec("tensorboard") is not None  # metrics.csv has the same numbers
        logger = installed and TensorBoardLogger(run, "", "tensorboard", default_hp_metric=False)
        title, drawn = f"{config.model}, {data.train_rows:,} rows", time.monotonic()

        def log(history: History) -> None:
            nonlocal drawn
            write_whole(run / METRICS, pd.DataFrame(history).to_csv(index=False))
            say(describe_epoch(history[-1], config.train.epochs, legal=config.train.loss.mask_illegal))
            if time.monotonic() - drawn > PLOT_SECONDS:
                plot_panels(run / "curves.png", PANELS, "epoch", history, title)
                drawn = time.monotonic()

        cores = SharedCores(torch.get_num_threads())

        def share(now: TrainingProgress) -> None:
            torch.set_num_threads(cores.free())
            progress(now)

        try:
            history = fit(
                PolicyValueModule.of(network, config.train),
                data,
                config.train,
                state=run / LAST,
                saved=saved,
                best=run / BEST,
                logger=logger,
                save_seconds=save_seconds,
                progress=share,
                on_epoch=log,
            )
        except TrainingError as error:
            _remove_state(run)  # it leads there again, and would refuse another learning rate
            raise TrainingError(f"{error}; try a lower --lr") from error
        finally:
            torch.set_num_threads(cores.most)
        plot_panels(run / "curves.png", PANELS, "epoch", history, title)
        last, best = history[-1], best_epoch(history, loss_kept(config.train))
        metrics = {
            name.removeprefix("heldout_"): int(value) if name.endswith("rows") else value
            for name, value in best.items()
            if name.startswith("heldout_") and not name.startswith("heldout_training")
        }
        info = {
            "kind": "pretrained",
            "config": asdict(config),
            **origin(first.info if first else {}, data),
            "train_rows": data.train_rows,
            "heldout_rows": data.heldout_rows,
            "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
            "epochs": int(last["epoch"]),
            "best_epoch": int(best["epoch"]),
            "steps": int(last["step"]),
            "seconds": round(last["seconds"], 1),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        save_checkpoint(output, network, metrics=metrics, info=info)
        _remove_state(run)
        return PretrainResult(output, run, config, metrics, info, saved is not None)


def run_folder(output: Path) -> Path:
    """The run folder of an output."""
    return output.with_suffix(".run")


def _interrupted(run: Path, settings: dict[str, Any]) -> Any:
    """The state of an interrupted training with these settings, None if there is none.

    Raises:
        TrainingError: its settings or data are others.
        CheckpointError: its state is damaged.
    """
    if not (run / LAST).exists():
        return None
    try:
        before = flat_settings(json.loads((run / CONFIG).read_text(encoding="utf-8")))
    except (OSError, ValueError, AttributeError) as error:
        raise TrainingError(f"{run / CONFIG}: cannot be read ({error})") from error
    now = flat_settings(settings)
    changed = [
        key
        for key in {**before, **now}
        if not key.startswith(("data", "changed")) and before.get(key) != now.get(key)
    ]
    if changed:
        key = changed[0]
        named = "other data" if key == "fingerprints" else f"{key}: {before.get(key)}, now {now.get(key)}"
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise TrainingError(f"{run}: holds an unfinished training with other settings ({named}{more})")
    saved = read_plain(run / LAST)
    if not isinstance(saved, dict) or "RowsDataModule" not in saved:
        raise CheckpointError(f"{run / LAST}: expected the state of a training, found another file")
    return saved


def _remove_state(run: Path) -> None:
    for name in (LAST, BEST):
        (run / name).unlink(missing_ok=True)


def _describe(config: PretrainConfig, network: Network, data: RowsDataModule) -> dict[str, Any]:
    """What must be equal to resume, as JSON would load it, and the paths of the data.

    `changed`: the settings that differ from the defaults, by the last part of their names.
    """
    settings = flat_settings(asdict(replace(config, settings={})) | asdict(network.settings))
    usual = flat_settings(asdict(PretrainConfig(model=config.model)) | asdict(type(network.settings)()))
    described = {
        **asdict(config),
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "changed": {key.rsplit(".")[-1]: value for key, value in settings.items() if usual[key] != value},
        "data": [str(file.path) for file in data.files.files],
        "fingerprints": [file.fingerprint() for file in data.files.files],
    }
    return dict(json.loads(json.dumps(described)))
