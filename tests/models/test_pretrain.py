"""Pretraining on random games: learns, leaves what it promises, and continues as if nothing had happened."""

import csv
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import make_rows
import pytest
import torch
from child_process import started

from ckai.datasets.files import LockedError
from ckai.datasets.schema import DatasetError
from ckai.models.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.network import build, names
from ckai.models.training.config import PRESETS, LossConfig, OptimizerConfig, PretrainConfig, TrainConfig
from ckai.models.training.pretrain import pretrain
from ckai.models.training.runs import find_runs
from ckai.models.training.trainer import TrainingError

SMALL = {"channels": 4, "hidden": 16}


def config(epochs=3, **train):
    train = {"batch_size": 64, "patience": 0} | train
    return PretrainConfig(settings=SMALL, train=TrainConfig(epochs=epochs, **train))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = make_rows.random_games(20, seed=3)
    return make_rows.write(tmp_path_factory.mktemp("rows") / "g.parquet", rows)


def history_of(result):
    """The epochs of a training, as texts."""
    with (result.run / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


class Killed(BaseException):
    """As sudden as a kill for all that follows."""


def killed_after(step):
    """A progress callback that ends the training at a step; `TrainingProgress` comes a few times a second."""
    seen = []

    def progress(where):
        seen.append(where)
        if where.epoch * where.batches + where.batch >= step:
            raise Killed

    return progress


@pytest.fixture
def every_step(monkeypatch):
    """The callback for TrainingProgress at each step."""
    from ckai.models.training import trainer as training

    clock = iter(range(10**9))
    monkeypatch.setattr(training.time, "monotonic", lambda: float(next(clock)))


VARIANTS = {
    "senet": {"settings": {"channels": 4, "blocks": 1, "squeeze": 2}, "ema": 0.9, "precision": "bf16"},
    "resnet averaged": {"settings": {"channels": 4, "blocks": 1}, "ema": 0.9},
    "cnn2x2 without clipping": {
        "settings": SMALL,
        "batch_size": 4,
        "optimizer": OptimizerConfig(warmup=0, weight_decay=0, clip=0),
        "loss": LossConfig(mask_illegal=True),
    },
}
"""Among them are all parts of a training's state."""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, data):
    """Trains without a stop, once for each name, however many killed trainings are compared with it."""
    done = {}

    def train(name, setup):
        if name not in done:
            messages = []
            output = tmp_path_factory.mktemp("whole") / "whole.ckpt"
            done[name] = pretrain([data], output, setup, save_seconds=0, say=messages.append), messages
        return done[name]

    return train


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("resnet averaged", 9),
        pytest.param("cnn2x2 without clipping", 9, marks=pytest.mark.slow),
        pytest.param("senet", 2, marks=pytest.mark.slow),
    ],
)
def test_a_killed_training_continues_bit_for_bit(tmp_path, data, every_step, uninterrupted, name, step):
    options = dict(VARIANTS[name])
    setup = PretrainConfig(
        model=name.split()[0],
        settings=options.pop("settings"),
        train=TrainConfig(**{"epochs": 2, "batch_size": 64, "patience": 0, **options}),
    )
    whole, _ = uninterrupted(name, setup)
    with pytest.raises(Killed):
        pretrain([data], tmp_path / "cut.ckpt", setup, save_seconds=0, progress=killed_after(step))
    assert not (tmp_path / "cut.ckpt").exists()
    seen = []
    cut = pretrain([data], tmp_path / "cut.ckpt", setup, save_seconds=0, progress=seen.append)
    assert cut.continued
    assert seen[0].epoch * seen[0].batches + seen[0].batch == step
    assert cut.metrics == whole.metrics
    assert cut.info["steps"] == whole.info["steps"]
    weights = [load_checkpoint(result.output).weights for result in (whole, cut)]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name
    histories = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in history_of(result)]
        for result in (whole, cut)
    ]
    assert histories[0] == histories[1]
    assert [row["epoch"] for row in histories[1]] == ["1", "2"]


@pytest.mark.parametrize("encoding", ["planes", "tactics"])
def test_what_is_measured_while_training_is_what_the_kept_network_reaches(tmp_path, data, encoding):
    setup = PretrainConfig(
        model="senet",
        settings={"channels": 4, "blocks": 1, "encoding": encoding},
        train=TrainConfig(epochs=2, batch_size=64, patience=0, ema=0.9, precision="32"),
    )
    result = pretrain([data], tmp_path / "net.ckpt", setup)
    best = history_of(result)[result.info["best_epoch"] - 1]
    for name in ("policy_loss", "policy_loss_legal", "value_mse"):
        assert result.metrics[name] == pytest.approx(float(best[f"heldout_{name}"]), rel=1e-5), name


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_gives_defaults_and_options_win(tmp_path, data, ckai, monkeypatch, name):
    from ckai.models.training import pretrain as module

    seen = []
    monkeypatch.setattr(module, "pretrain", lambda files, output, setup, **_: seen.append(setup) or 1 / 0)
    ckai("pretrain", "--data", data, "--preset", name, "--epochs", "3", "--set", "value=wdl")
    preset = PRESETS[name]
    assert seen[0].model == preset.get("model", "cnn2x2")
    assert seen[0].train.epochs == 3
    assert seen[0].settings == {**preset.get("settings", {}), "value": "wdl"}
    assert seen[0].train.loss.mask_illegal == preset.get("train.loss.mask_illegal", False)
    assert seen[0].train.ema == preset.get("train.ema", 0)
    build(seen[0].model, seen[0].settings)


@pytest.mark.slow
@pytest.mark.draws
def test_runs_are_compared(tmp_path, data, ckai):
    pretrain([data], tmp_path / "a.ckpt", config(2))
    other = PretrainConfig(model="mlp", settings={"hidden": 8}, train=TrainConfig(epochs=1, ema=0.9))
    pretrain([data], tmp_path / "deep" / "b.ckpt", other)
    (tmp_path / "c.run").mkdir()
    (tmp_path / "c.run" / "config.json").write_text("{")
    for name, of_others in (("d", {"train": "corpus.txt"}), ("e", {"settings": [1]}), ("f", {"train": None})):
        (tmp_path / f"{name}.run").mkdir()
        (tmp_path / f"{name}.run" / "config.json").write_text(json.dumps({"model": "gpt2", **of_others}))
    status, out, _ = ckai("runs", tmp_path, "--json")
    assert status == 0
    found = {Path(run["run"]).stem: run for run in json.loads(out)["runs"]}
    assert set(found) == {"a", "b"}
    assert found["a"]["settings"] == {"epochs": 2, "batch_size": 64, "patience": 0, **SMALL}
    assert found["b"]["settings"] == {"epochs": 1, "ema": 0.9, "hidden": 8}
    assert found["a"]["epochs"] == 2
    assert found["b"]["finished"]
    status, out, _ = ckai("runs", tmp_path)
    assert status == 0
    assert "ema=0.9" in out
    assert "no training or self-play runs under" in ckai("runs", tmp_path / "c.run")[1]


@pytest.mark.draws
def test_it_leaves_a_checkpoint_and_a_folder_that_a_person_can_open(tmp_path, data):
    result = pretrain([data], tmp_path / "out" / "net.ckpt", config())
    checkpoint = load_checkpoint(result.output)
    assert checkpoint.metrics == result.metrics
    assert checkpoint.info["split"] == {"seed": 0, "heldout": 0.1}
    assert checkpoint.info["epochs"] == 3
    assert result.metrics["rows"] == checkpoint.info["heldout_rows"]
    names = {path.name for path in result.run.iterdir()}
    assert {"config.json", "metrics.csv", "curves.png"} <= names
    assert not {"last.ckpt", "best.ckpt"} & names
    assert (result.run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((result.run / "config.json").read_text())["train"]["epochs"] == 3
    assert not [name for name in names if name.endswith(".tmp")]
    history = history_of(result)
    assert float(history[-1]["train_policy_loss"]) < float(history[0]["train_policy_loss"])


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_checkpoint_is_replaced_only_when_asked(tmp_path, data, ckai):
    output = tmp_path / "net.ckpt"
    small = ["--data", data, "-o", output, "--set", "channels=4", "--set", "hidden=16"]
    assert ckai("pretrain", *small, "--epochs", 1)[0] == 0
    before = contents(tmp_path)
    status, out, err = ckai("pretrain", *small, "--epochs", 1)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1] == (
        f"ckai: error: {output} exists: give --force to replace it, or another -o"
    )
    assert contents(tmp_path) == before
    assert ckai("pretrain", *small, "--epochs", 2, "--force")[0] == 0
    assert load_checkpoint(output).info["epochs"] == 2
    for name in ("net.run", "net.pt", "net-0.1"):
        with pytest.raises(TrainingError, match=r"expected a name that ends in \.ckpt"):
            pretrain([data], tmp_path / name, config(1))


@pytest.mark.parametrize("step", [4, pytest.param(None, marks=pytest.mark.slow)])
def test_a_killed_replacement_is_continued_by_the_same_command(tmp_path, data, every_step, monkeypatch, step):
    """Killed at a step, or after the last one before the checkpoint is written."""
    from ckai.models.training import pretrain as module

    output = tmp_path / "net.ckpt"
    pretrain([data], output, config(1))
    before = output.read_bytes()
    assert [run.status for run in find_runs(tmp_path)] == ["finished"]

    def killing(path, *rest, **more):
        if path == output:
            raise Killed
        save_checkpoint(path, *rest, **more)

    with monkeypatch.context() as patch:
        if step is None:
            patch.setattr(module, "save_checkpoint", killing)
        progress = killed_after(step or 10**9)
        with pytest.raises(Killed):
            pretrain([data], output, config(2), force=True, save_seconds=0, progress=progress)
    assert output.read_bytes() == before
    assert [run.status for run in find_runs(tmp_path)] == ["unfinished"]
    seen = []
    again = pretrain(
        [data], output, config(2), force=True, say=lambda text: seen.append(find_runs(tmp_path)[0].status)
    )
    assert again.continued
    assert set(seen) == {"running"}
    assert [run.status for run in find_runs(tmp_path)] == ["finished"]
    assert load_checkpoint(output).info["epochs"] == 2


ODD_STATES = {
    "callbacks": {},
    "state_dict": {},
    "averaging_state": {},
    "optimizer_states": [{"state": {99: {}}}],
}


@pytest.mark.parametrize(("name", "odd"), ODD_STATES.items(), ids=ODD_STATES)
def test_a_state_of_something_else_is_one_line(tmp_path, data, every_step, ckai, name, odd):
    output, setup = tmp_path / "net.ckpt", config(2, ema=0.9)
    with pytest.raises(Killed):
        pretrain([data], output, setup, save_seconds=0, progress=killed_after(4))
    last = tmp_path / "net.run" / "last.ckpt"
    content = torch.load(last, weights_only=True)
    content[name] = odd
    torch.save(content, last)
    with pytest.raises(CheckpointError, match=r"last\.ckpt: expected the state of this training") as error:
        pretrain([data], output, setup)
    assert "\n" not in str(error.value)
    last.write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match="--force to discard it"):
        pretrain([data], output, setup)
    if name == "callbacks":
        assert not pretrain([data], output, setup, force=True).continued


def test_two_trainings_never_write_one_output(tmp_path, data, every_step):
    output, tried = tmp_path / "net.ckpt", []

    def second(where):
        if not tried:
            for force in (False, True):
                with pytest.raises(
                    LockedError, match=r"net\.run.\.lock: held by another process; wait for it"
                ):
                    pretrain([data], output, config(1), force=force)
                tried.append(force)

    assert pretrain([data], output, config(1), progress=second).info["epochs"] == 1
    assert tried == [False, True]


def test_a_held_out_loss_that_is_no_number_stops_the_training(tmp_path, data, monkeypatch):
    from ckai.models.training.lightning_module import PolicyValueModule

    real = PolicyValueModule.on_validation_epoch_end

    def broken(self):
        real(self)
        self.report["heldout_policy_loss"] = float("nan")

    monkeypatch.setattr(PolicyValueModule, "on_validation_epoch_end", broken)
    with pytest.raises(TrainingError, match="held-out games is not finite in epoch 1; try a lower --lr"):
        pretrain([data], tmp_path / "net.ckpt", config(2), save_seconds=0)
    assert not (tmp_path / "net.ckpt").exists()
    monkeypatch.undo()  # the advice can be followed: nothing of it refuses a lower learning rate
    assert not pretrain(
        [data], tmp_path / "net.ckpt", config(1, optimizer=OptimizerConfig(lr=1e-4))
    ).continued


def test_an_unfinished_training_is_not_mixed_with_other_settings(tmp_path, data, every_step):
    output = tmp_path / "net.ckpt"
    with pytest.raises(Killed):
        pretrain([data], output, config(), save_seconds=0, progress=killed_after(4))
    with pytest.raises(TrainingError, match=r"unfinished .*train.optimizer.lr: 0.00\d+, now 0.5"):
        pretrain([data], output, config(optimizer=OptimizerConfig(lr=0.5)))
    other = make_rows.write(tmp_path / "o.parquet", make_rows.random_games(12))
    with pytest.raises(TrainingError, match=r"with other settings \(other data\); use another -o to keep it"):
        pretrain([other], output, config())
    assert not pretrain([other], output, config(1), force=True).continued


@pytest.mark.slow
def test_it_stops_when_held_out_games_get_no_better(tmp_path, data):
    setup = config(40, patience=2, optimizer=OptimizerConfig(lr=0.05, warmup=0))
    result = pretrain([data], tmp_path / "net.ckpt", setup)
    assert result.info["epochs"] < 40
    assert result.info["epochs"] == result.info["best_epoch"] + 2
    best = history_of(result)[result.info["best_epoch"] - 1]
    assert result.metrics["policy_loss"] == pytest.approx(float(best["heldout_policy_loss"]), rel=1e-5)


def test_the_command_needs_no_option(tmp_path, data, monkeypatch, ckai):
    monkeypatch.chdir(tmp_path)
    status, _, err = ckai("pretrain")
    assert status == 1
    assert "found none; `ckai parse` writes one" in err
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "g.parquet").write_bytes(data.read_bytes())
    small = ["--epochs", 1, "--set", "channels=4", "--set", "hidden=16"]
    status, out, err = ckai("pretrain", *small, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["output"] == "pretrained.ckpt"
    assert 0 <= found["metrics"]["top1"] <= 1
    assert "epoch 1/1: policy loss" in err
    for noise in ("lightning", "Lightning", "num_workers", "GPU available", "Warning"):
        assert noise not in err
    status, out, err = ckai("pretrain", *small, "--force")
    assert status == 0
    assert "top-1 accuracy" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "none.parquet"], 1, "none.parquet: expected a data set, found no such file"),
        (["--model", "cnn9"], 1, f"expected one of the networks {', '.join(names())}, found 'cnn9'"),
        (["--set", "channels"], 1, "expected channels=VALUE, found 'channels'"),
        (["--lr", "-1"], 2, "lr: expected greater than 0, found -1"),
    ],
)
def test_bad_input_is_one_line(data, tmp_path, ckai, arguments, code, message):
    status, out, err = ckai("pretrain", "--data", data, "-o", tmp_path / "x.ckpt", *arguments)
    assert status == code
    assert message in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.slow
def test_kill_minus_nine_at_any_moment_loses_and_doubles_nothing(tmp_path, data):
    code = (
        "import sys; from pathlib import Path; from ckai.models.training.config import *\n"
        "from ckai.models.training.pretrain import pretrain\n"
        f"setup = PretrainConfig(settings={SMALL}, train=TrainConfig(epochs=24, batch_size=32, patience=0))\n"
        "say = lambda text: (print(text, flush=True), sys.stdin.readline())\n"  # no further than we are
        "pretrain([Path(sys.argv[1])], Path(sys.argv[2]), setup, save_seconds=0.05, say=say)\n"
    )
    start, rng = [sys.executable, "-c", code, str(data)], random.Random(1)
    alone = {"check": True, "capture_output": True, "stdin": subprocess.DEVNULL}
    subprocess.run([*start, str(tmp_path / "whole.ckpt")], **alone)
    for epochs in (1, 4, 9):
        with started([*start, str(tmp_path / "cut.ckpt")], stdin=subprocess.PIPE, text=True) as process:
            for _ in range(epochs):
                assert process.stdout.readline(), process.stderr.read()
                print(file=process.stdin, flush=True)
            time.sleep(rng.uniform(0, 0.1))
    assert not (tmp_path / "cut.ckpt").exists()
    done = subprocess.run([*start, str(tmp_path / "cut.ckpt")], **alone)
    assert done.stdout.startswith(b"resuming")
    weights = [load_checkpoint(tmp_path / f"{name}.ckpt").weights for name in ("whole", "cut")]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name
    with (tmp_path / "cut.run" / "metrics.csv").open() as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == [str(epoch) for epoch in range(1, 25)]


def test_files_of_others_in_the_run_folder_stay(tmp_path, data):
    """It may have been there before, or hold notes."""
    mine = [tmp_path / "net.run" / "notes.txt", tmp_path / "net.run" / "photos" / "x.png"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    for force in (False, True):
        pretrain([data], tmp_path / "net.ckpt", config(1), force=force)
        assert [path.read_text() for path in mine] == ["mine", "mine"]


def test_rows_of_another_game_than_the_networks_are_refused(tmp_path, data):
    setup = PretrainConfig(model="mlp", settings={"hidden": 4, "encoding": "connect4"})
    with pytest.raises(DatasetError, match="expected rows of connect4, found rows of checkers"):
        pretrain([data], tmp_path / "net.ckpt", setup)


@pytest.mark.slow
def test_a_training_may_start_from_a_checkpoint(tmp_path, data, ckai, every_step):
    first = pretrain([data], tmp_path / "first.ckpt", config(1))
    words = ["pretrain", "--init", first.output, "--data", data]
    words += ["--epochs", "2", "--lr", "1e-9", "--batch-size", "64"]
    exact = ["--setting", "train.optimizer.weight_decay=0", "--setting", "train.precision=32"]
    status, _, err = ckai(*words, *exact, "-o", tmp_path / "next.ckpt")
    assert status == 0, err
    before, after = load_checkpoint(first.output), load_checkpoint(tmp_path / "next.ckpt")
    assert (after.architecture, after.settings) == (before.architecture, before.settings)
    assert after.info["data"] == before.info["data"]
    assert (after.info["config"]["model"], after.info["config"]["settings"]) == ("cnn2x2", before.settings)
    for name, weights in before.weights.items():
        torch.testing.assert_close(after.weights[name], weights, atol=1e-5, rtol=1e-3)
    for more in (("--model", "mlp"), ("--set", "hidden=4"), ("--preset", "small")):
        status, _, err = ckai(*words, *more, "-o", tmp_path / "x.ckpt")
        assert (status, "expected --init without --preset, --model and --set" in err) == (2, True)
    setup = PretrainConfig(init=str(first.output), train=config(2).train)
    with pytest.raises(Killed):
        pretrain([data], tmp_path / "cut.ckpt", setup, save_seconds=0, progress=killed_after(9))
    pretrain([data], tmp_path / "other.ckpt", config(3)).output.replace(first.output)
    with pytest.raises(TrainingError, match=r"unfinished training with other settings \(init_digest"):
        pretrain([data], tmp_path / "cut.ckpt", setup)
