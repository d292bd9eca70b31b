"""The module and the data module in a plain `Trainer` of Lightning, as its users know them."""

import csv
import warnings

import pytest
import pytorch_lightning as pl
import torch
from make_rows import random_games, with_search, write
from pytorch_lightning.callbacks import ModelCheckpoint, WeightAveraging
from pytorch_lightning.loggers import CSVLogger

from ckai.datasets import RowsDataModule
from ckai.models import PolicyValueModule, load_network, save_checkpoint

TINY = {"channels": 4, "hidden": 16, "encoding": "tactics"}


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.parquet", with_search(random_games(20, seed=3)))


class Seen(pl.Callback):
    """What a callback sees of training batches, and stops where it is told to."""

    def __init__(self, stop=None):
        self.stop, self.labels, self.extra = stop, [], []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.labels.append(batch["label"].tolist())
        self.extra.append(batch["extra"])
        if len(self.labels) == self.stop:
            trainer.save_checkpoint(f"{trainer.default_root_dir}/cut.ckpt")
            raise KeyboardInterrupt


def fit(rows, folder, seen, *, more=(), path=None, **options):
    pl.seed_everything(0, verbose=False)
    data = RowsDataModule([rows], batch_size=64, heldout=0.2, seed=1)
    module = PolicyValueModule("cnn2x2", TINY, lr=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            accelerator="cpu", max_epochs=3, default_root_dir=folder, enable_progress_bar=False,
            enable_model_summary=False, log_every_n_steps=2, callbacks=[*more, seen], **options,
        )  # fmt: skip
        trainer.fit(module, datamodule=data, ckpt_path=path, weights_only=True)
    return trainer, module, data


def test_a_plain_trainer_with_a_logger_and_callbacks_of_ones_own(rows, tmp_path):
    seen = Seen()
    best = ModelCheckpoint(tmp_path / "best", monitor="heldout_policy_loss")
    trainer, module, data = fit(
        rows, tmp_path, seen, logger=CSVLogger(tmp_path, "logs"), precision="bf16-mixed", more=[best]
    )
    assert len(seen.labels) == 3 * data.steps_per_epoch == trainer.global_step
    with open(f"{trainer.logger.log_dir}/metrics.csv") as file:
        table = list(csv.DictReader(file))
    for name in (
        "loss",
        "train_policy_loss",
        "heldout_top1_legal",
        "heldout_top1_unseen",
        "heldout_value_mse",
    ):
        assert any(row.get(name) for row in table), name
    assert trainer.callback_metrics["heldout_policy_loss_legal"] > 0
    again = PolicyValueModule.load_from_checkpoint(best.best_model_path, weights_only=True)
    assert (again.network.settings, again.hparams.lr) == (module.network.settings, 1e-2)
    save_checkpoint(tmp_path / "mine.ckpt", again.network)
    assert load_network(tmp_path / "mine.ckpt").settings == module.network.settings


def test_it_resumes_in_the_middle_of_an_epoch(rows, tmp_path):
    """With the rows that were left, to the weights and the average of training without a stop."""

    def average():
        return [WeightAveraging(use_buffers=False)]

    whole, cut, rest = Seen(), Seen(stop=8), Seen()
    _, module, data = fit(rows, tmp_path, whole, logger=False, more=average())
    assert 8 % data.steps_per_epoch
    with pytest.raises(SystemExit):
        fit(rows, tmp_path, cut, logger=False, more=average())
    _, again, _ = fit(rows, tmp_path, rest, logger=False, more=average(), path=tmp_path / "cut.ckpt")
    assert cut.labels + rest.labels == whole.labels
    for name, tensor in module.network.state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name]), name


def test_planes_of_a_search_are_computed_once_and_kept_in_four_bits(rows, monkeypatch):
    module = PolicyValueModule("cnn2x2", TINY)
    data = RowsDataModule([rows], batch_size=64, heldout=0.2)
    data.prepare(module.network.encode)
    calls = []
    encoding = type(module.network.encode)
    real = encoding.append_extra
    monkeypatch.setattr(
        encoding, "append_extra", lambda self, rows: calls.append(len(rows)) or real(self, rows)
    )
    epochs = [list(data.epoch(0)), list(data.epoch(1))]
    assert sum(calls) == data.train_rows
    for batch in epochs[1]:
        wanted = module.network.encode.extra(batch["board"], batch["jumper"], batch["quiet"])
        assert torch.equal(batch["extra"], wanted)
    assert data._packed["train"]["extra"].shape[1] == encoding.EXTRA // 2
