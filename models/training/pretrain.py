"""Pretraining on the rows of games: from a data set to a checkpoint, resumable after a kill.

The run folder next to the output (`pretrained.ckpt` -> `pretrained.run/`) contains

    config.json   the settings and the data sets' fingerprints
    .lock         held while it trains: two trainings never write one output
    last.ckpt     the latest state, written at the end of each epoch and every minute; gone at the end
    metrics.csv   one line an epoch; also as curves.png and in tensorboard/
"""

import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import locked, refuse_to_replace, remove_temporaries, write_whole
from ckai.models.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.evaluation.data_splits import check_held_out, origin
from ckai.models.evaluation.metrics import measure
from ckai.models.inference.devices import pick_device
from ckai.models.layers.network import Network
from ckai.models.registry import build
from ckai.models.training.config import PretrainConfig
from ckai.models.training.lightning_module import StateError, restoring
from ckai.models.training.logs import RunLog
from ckai.models.training.runs import LAST, LOCK, flat_settings
from ckai.models.training.trainer import State, TrainingError, TrainingProgress, load_best, train


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
    continued: bool
    """Whether it continued a training that was interrupted."""


def network_and_data(paths: Sequence[str | Path], config: PretrainConfig) -> tuple[Network, RowsDataModule]:
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
    progress: Callable[[TrainingProgress], None] | None = None,
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
        ModelError: an unknown architecture or setting.
        FileExistsError: there is such a checkpoint, and `force` is not set.
        TrainingError: an interrupted training with other settings has this output, or the loss is not finite.
        LockedError: another process trains with this output.
        CheckpointError: the saved state is damaged.

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
    with locked(run_folder(output) / LOCK):
        return _pretrain(network, data, output, config, force, save_seconds, progress, say)


def run_folder(output: Path) -> Path:
    """The run folder of a training with this output."""
    return output.with_suffix(".run")


def _pretrain(
    network: Network,
    data: RowsDataModule,
    output: Path,
    config: PretrainConfig,
    force: bool,
    save_seconds: float,
    progress: Callable[[TrainingProgress], None] | None,
    say: Callable[[str], None],
) -> PretrainResult:
    """`pretrain` under its lock."""
    run = run_folder(output)
    first = load_checkpoint(config.init) if config.init else None
    if first:
        config = replace(config, model=network.architecture, settings=asdict(network.settings))
        check_held_out(config.init, first.info, data)
    remove_temporaries(run)
    remove_temporaries(output.parent, output.name)
    settings = _describe(config, network, data) | ({"init_digest": first.digest} if first else {})
    info = _info(config, data, first.info if first else {})
    try:
        saved = _interrupted(run, settings)
        if saved:
            network.load_state_dict(saved.network().state_dict())
    except (CheckpointError, TrainingError) as error:
        if not force:
            raise type(error)(f"{error}; use another -o to keep it, or --force to discard it") from error
        saved = None
    state = saved.training if saved else None
    if state is None:
        _clear(run)
        write_whole(run / "config.json", json.dumps(settings, indent=2) + "\n")
    try:
        if state is not None:
            with restoring():
                say(f"resuming {run} at epoch {state['epoch'] + 1}, step {state['step']}")
        state = _train(network, data, config, state, run, info, save_seconds, progress, say)
    except TrainingError as error:
        (run / LAST).unlink(missing_ok=True)  # it leads there again, and would refuse another learning rate
        raise TrainingError(f"{error}; try a lower --lr") from error
    except StateError as error:
        raise CheckpointError(f"{run / LAST}: {error}; remove it to start again") from error
    metrics = _final_metrics(network, data)
    info |= {
        "epochs": state["epoch"],
        "best_epoch": state["best_epoch"] + 1,
        "steps": state["step"],
        "seconds": round(state["history"][-1]["seconds"], 1),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    save_checkpoint(output, network, metrics=metrics, info=info)
    (run / LAST).unlink(missing_ok=True)
    return PretrainResult(output, run, config, metrics, info, saved is not None)


def _interrupted(run: Path, settings: dict[str, Any]) -> Checkpoint | None:
    """The saved state of an interrupted training with these settings, None if there is none.

    Raises:
        TrainingError: its settings or data are others.
        CheckpointError: it is damaged.
    """
    if not (run / LAST).exists():
        return None
    try:
        before = flat_settings(json.loads((run / "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, AttributeError) as error:
        raise TrainingError(f"{run / 'config.json'}: cannot be read ({error})") from error
    now = flat_settings(settings)
    changed = [key for key in {**before, **now} if key != "data" and before.get(key) != now.get(key)]
    if changed:
        key = changed[0]
        named = "other data" if key == "fingerprints" else f"{key}: {before.get(key)}, now {now.get(key)}"
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise TrainingError(f"{run}: holds an unfinished training with other settings ({named}{more})")
    saved = load_checkpoint(run / LAST)
    if saved.training is None:
        raise CheckpointError(f"{run / LAST}: expected a training state, found none")
    return saved


def _clear(run: Path) -> None:
    """Remove an earlier training from the run folder; other files stay."""
    shutil.rmtree(run / "tensorboard", ignore_errors=True)
    for name in ("config.json", LAST, "metrics.csv", "curves.png"):
        (run / name).unlink(missing_ok=True)


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
        save_checkpoint(run / LAST, network, info=info, training=now)
        log.update(now["history"])

    try:
        with restoring():
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


def _final_metrics(network: Network, data: RowsDataModule) -> dict[str, Any]:
    if not data.measures:
        return {}
    device = pick_device()
    network.to(device)
    metrics = measure(network, data.val_dataloader(), seen=data.train_positions(), device=device)
    network.cpu()
    return metrics.report()


def _describe(config: PretrainConfig, network: Network, data: RowsDataModule) -> dict[str, Any]:
    """What must be equal to resume a training, as JSON would load it, and the paths of the data."""
    description = {
        **asdict(config),
        "settings": asdict(network.settings),
        "encoding": network.encode.VERSION,
        "data": [str(file.path) for file in data.files.files],
        "fingerprints": [file.fingerprint() for file in data.files.files],
    }
    loaded: dict[str, Any] = json.loads(json.dumps(description))
    return loaded


def _info(config: PretrainConfig, data: RowsDataModule, before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "pretrained",
        "config": asdict(config),
        **origin(before, data),
        "train_rows": data.train_rows,
        "heldout_rows": data.heldout_rows,
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
    }
