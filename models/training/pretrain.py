"""Pretraining on the rows of games: from a data set to a checkpoint, resumable after a kill.

The run folder beside the output (`pretrained.ckpt` -> `pretrained.run/`) contains

    config.json   the settings and the data sets' fingerprints
    .lock         held while it trains: two trainings never write one output
    replaces      a hash of the checkpoint that it is going to replace, until it has
    last.ckpt     the latest state, written at the end of each epoch and every minute
    metrics.csv   one line an epoch; also as curves.png and in tensorboard/
    filters.png   the first layer's filters, at the end

A checkpoint and the folder beside it are replaced only if that is asked for (`fresh`).
"""

import json
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import file_digest, locked, remove_temporaries, write_whole
from ckai.models.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.evaluation import plots
from ckai.models.evaluation.data_splits import check_split, data_entries
from ckai.models.evaluation.metrics import measure
from ckai.models.inference.devices import pick_device
from ckai.models.layers.network import Network
from ckai.models.registry import build
from ckai.models.training.config import PretrainConfig
from ckai.models.training.folder import check_output, clear, differences, run_folder, with_defaults
from ckai.models.training.logs import RunLog
from ckai.models.training.resuming import StateError, check_state
from ckai.models.training.runs import LOCK, REPLACES
from ckai.models.training.trainer import State, TrainingError, TrainingProgress, load_best, train
from ckai.models.validation import check_type


@dataclass(frozen=True)
class PretrainResult:
    """Result of `pretrain`."""

    output: Path
    """The checkpoint."""
    run: Path
    """The run folder."""
    config: PretrainConfig
    metrics: dict[str, Any]
    """On the held-out games, see `ckai.models.evaluation.metrics`."""
    info: dict[str, Any]
    """The checkpoint's `info`."""
    continued: str
    """How it ran: empty for a new training, else "continued" or "finished before"."""


def network_and_data(
    paths: Sequence[str | Path], config: PretrainConfig, memory_mb: int
) -> tuple[Network, RowsDataModule]:
    """Seed PyTorch, then build the network and open the data of a pretraining.

    Raises:
        DatasetError: data that cannot be used.
        ModelError: an unknown architecture or setting.
        CheckpointError: `config.init` cannot be read.
    """
    torch.manual_seed(config.train.seed % 2**63)
    network = load_checkpoint(config.init).network() if config.init else build(config.model, config.settings)
    data = RowsDataModule(
        paths,
        batch_size=config.train.batch_size,
        heldout=config.heldout,
        split_seed=config.split_seed,
        seed=config.train.seed,
        memory_mb=memory_mb,
        game=network.encode.GAME,
        weights=config.weights,
    )
    return network, data


def pretrain(
    paths: Sequence[str | Path],
    output: str | Path,
    config: PretrainConfig | None = None,
    *,
    fresh: bool = False,
    memory_mb: int = 1024,
    save_seconds: float = 60.0,
    progress: Callable[[TrainingProgress], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> PretrainResult:
    """Train a network on rows, evaluate it on the held-out games and write its checkpoint.

    Keeps the weights of the epoch with the lowest held-out policy loss (over the legal actions, if
    `mask_illegal` is set). Called again after a kill, it resumes; called again after it finished, with the
    same settings and data, it returns the earlier result. With other settings, or where the output is a
    checkpoint from elsewhere, it replaces nothing unless `fresh` is set.

    Args:
        paths: row files.
        output: the checkpoint to write; the run folder is beside it.
        config: the settings; None: the defaults.
        fresh: discard an earlier training with this output, and replace its checkpoint at the end.
        memory_mb: see `RowsDataModule`.
        save_seconds: between two saved states within an epoch.
        progress: called a few times a second.
        say: called with lines of text for the user.

    Raises:
        DatasetError: data that cannot be used, or would hold out games that `config.init` has learned.
        ModelError: an unknown architecture or setting.
        TrainingError: a training with other settings has this output, the output comes from elsewhere, or
            the loss is not finite.
        LockedError: another process trains with this output.
        CheckpointError: the saved state is damaged.

    Examples:
        >>> from ckai.models import PretrainConfig, TrainConfig
        >>> config = PretrainConfig(model="mlp", heldout=0.5, train=TrainConfig(epochs=1))
        >>> result = pretrain(["games.parquet"], "mlp.ckpt", config)
        >>> result.info["epochs"], result.metrics["rows"] == result.info["heldout_rows"]
        (1, True)
        >>> pretrain(["games.parquet"], "mlp.ckpt", config).continued
        'finished before'
    """
    output, config = Path(output), config or PretrainConfig()
    check_output(output)
    network, data = network_and_data(paths, config, memory_mb)
    with locked(run_folder(output) / LOCK):
        return _pretrain(network, data, output, config, fresh, save_seconds, progress, say)


def _pretrain(
    network: Network,
    data: RowsDataModule,
    output: Path,
    config: PretrainConfig,
    fresh: bool,
    save_seconds: float,
    progress: Callable[[TrainingProgress], None] | None,
    say: Callable[[str], None],
) -> PretrainResult:
    """`pretrain` under its lock."""
    run = run_folder(output)
    first = load_checkpoint(config.init) if config.init else None
    if first:
        config = replace(config, model=network.architecture, settings=asdict(network.settings))
        check_split(config.init, first.info, data.files.files, _split(config))
    remove_temporaries(run)
    remove_temporaries(output.parent, output.name)
    settings = _describe(config, network, data) | ({"init_digest": first.identity} if first else {})
    saved = None if fresh else _earlier(run, settings)
    if not fresh and output.exists():
        done = _finished(saved, run, output)
        if done is not None:
            say(f"{output} was trained with these settings before; use --fresh to train it again")
            return PretrainResult(output, run, config, done.metrics, done.info, "finished before")
    state = None
    run_id = f"{time.time_ns():x}"
    if saved:
        network.load_state_dict(saved.network().state_dict())
        state, run_id = saved.training, saved.info["run"]
        assert state is not None
        say(f"resuming {run} at epoch {state['epoch'] + 1}, step {state['step']}")
    else:
        clear(run)
        if output.exists():
            write_whole(run / REPLACES, file_digest(output))
        write_whole(run / "config.json", json.dumps(settings, indent=2) + "\n")
    info = _info(config, data, run_id, first.info if first else {})
    try:
        state = _train(network, data, config, state, run, info, save_seconds, progress, say)
    except StateError as error:
        raise CheckpointError(f"{run / 'last.ckpt'}: {error}; use --fresh to start again") from error
    metrics = _final_metrics(network, data)
    info |= {
        "epochs": state["epoch"],
        "best_epoch": state["best_epoch"] + 1,
        "steps": state["step"],
        "seconds": round(state["history"][-1]["seconds"], 1),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    save_checkpoint(output, network, metrics=metrics, info=info)
    (run / REPLACES).unlink(missing_ok=True)
    plots.plot_filters(run / "filters.png", network)
    return PretrainResult(output, run, config, metrics, info, "continued" if saved else "")


def _train(
    network: Network,
    data: RowsDataModule,
    config: PretrainConfig,
    state: State | None,
    run: Path,
    info: Mapping[str, Any],
    save_seconds: float,
    progress: Callable[[TrainingProgress], None] | None,
    say: Callable[[str], None],
) -> State:
    """Train a network, resuming from `state`; it ends with its best weights loaded."""
    log = RunLog(run, config, data.train_rows, say)

    def save(now: State) -> None:
        save_checkpoint(run / "last.ckpt", network, info=info, training=now)
        log.update(now["history"])

    try:
        log.begin(state["history"] if state else [])
        state = train(
            network,
            data,
            config.train,
            state=state,
            save=save,
            save_seconds=save_seconds,
            progress=progress,
        )
        load_best(network, state)
        log.draw(state["history"])
        return state
    finally:
        log.close()


def pretrain_nothing_kept(
    paths: Sequence[Path],
    config: PretrainConfig,
    *,
    memory_mb: int = 1024,
    progress: Callable[[TrainingProgress], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> PretrainResult:
    """`pretrain` in a temporary folder that is gone at the end, checkpoint and all; see there."""
    with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
        output = Path(folder) / "trial.ckpt"
        result = pretrain(paths, output, config, memory_mb=memory_mb, progress=progress, say=say)
        load_checkpoint(output).network()
    return result


def trial_run(
    paths: Sequence[Path],
    config: PretrainConfig,
    *,
    memory_mb: int = 1024,
    progress: Callable[[TrainingProgress], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> PretrainResult:
    """`pretrain_nothing_kept` with one epoch of one batch, to check that everything runs."""
    one = replace(config, train=replace(config.train, epochs=1, overfit=1, patience=0))
    return pretrain_nothing_kept(paths, one, memory_mb=memory_mb, progress=progress, say=say)


def _final_metrics(network: Network, data: RowsDataModule) -> dict[str, Any]:
    if not data.measures:
        return {}
    device = pick_device()
    network.to(device)
    metrics = measure(network, data.val_dataloader(), seen=data.train_positions(), device=device)
    network.cpu()
    return metrics.report()


def _describe(config: PretrainConfig, network: Network, data: RowsDataModule) -> dict[str, Any]:
    """Everything that must be equal to resume a training, as JSON would load it."""
    description = {
        **asdict(config),
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "data": [
            {"path": str(file.path), "rows": file.rows, "fingerprint": file.fingerprint()}
            for file in data.files.files
        ],
        "in_memory": data.in_memory,
        "in_buffer": None if data.in_memory else data.buffer_rows,
    }
    loaded: dict[str, Any] = json.loads(json.dumps(description))
    return loaded


def _earlier(run: Path, settings: dict[str, Any]) -> Checkpoint | None:
    """The saved state of an earlier training with these settings, None if there is no earlier training."""
    try:
        before = json.loads((run / "config.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"{run / 'config.json'}: cannot be read ({error}); use --fresh to start again"
        ) from error
    last = run / "last.ckpt"
    if not last.exists():
        return None
    try:
        saved = load_checkpoint(last)
        saved.network()
    except CheckpointError as error:
        raise CheckpointError(f"{error}; use --fresh to start again") from error
    if saved.training is None:
        raise CheckpointError(f"{last}: expected a training state, found none; use --fresh to start again")
    try:
        check_state(saved.training)
        check_type("info.run", saved.info.get("run"), str)
    except ValueError as error:
        raise CheckpointError(f"{last}: {error}; use --fresh to start again") from error
    defaults = {**asdict(PretrainConfig()), "in_buffer": settings["in_buffer"]}
    found = differences(with_defaults(before, defaults), settings)
    if not found:
        return saved
    if found[0].startswith(("in_memory", "in_buffer")):
        found[0] = f"rows {found[0].replace('_', ' ')}, which follows from --memory-mb"
    named = found[0] + (f", and {len(found) - 1} more" if len(found) > 1 else "")
    if saved.training["finished"]:
        raise TrainingError(
            f"{run}: holds a finished training with other settings ({named}); use -o OTHER to keep it, or "
            "--fresh to replace it"
        )
    raise TrainingError(
        f"{run}: holds an unfinished training with other settings ({named}); repeat its settings to resume "
        "it, use -o OTHER to keep it, or --fresh to discard it"
    )


def _finished(saved: Checkpoint | None, run: Path, output: Path) -> Checkpoint | None:
    """The output that is there, if it is the result of the saved training; None if that is to replace it.

    Raises:
        TrainingError: the output is neither the result of this training nor what it was allowed to replace.
    """
    if saved is not None:
        with suppress(CheckpointError):
            done = load_checkpoint(output)
            if done.info.get("run") == saved.info["run"]:
                return done
        with suppress(FileNotFoundError):
            if (run / REPLACES).read_text(encoding="utf-8") == file_digest(output):
                return None
    raise TrainingError(
        f"{output}: exists, and {run} does not hold its training; move it or use -o OTHER to keep it, or "
        "--fresh to replace it"
    )


def _split(config: PretrainConfig) -> dict[str, Any]:
    return {"seed": config.split_seed, "heldout": config.heldout}


def _info(
    config: PretrainConfig, data: RowsDataModule, run_id: str, before: Mapping[str, Any]
) -> dict[str, Any]:
    split = _split(config)
    return {
        "kind": "pretrained",
        "run": run_id,
        "config": asdict(config),
        "split": split,
        "data": data_entries(before, data.files.files, split),
        "train_rows": data.train_rows,
        "heldout_rows": data.heldout_rows,
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
    }
