"""Auxiliary heads: their losses by hand, what they change, and what a network without them never sees."""

import json
import math

import make_rows
import numpy as np
import pytest
import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.inference.evaluator import TorchEvaluator
from ckai.models.layers.auxiliary import MOVES_LEFT, OWNERSHIP, AuxiliaryHeads
from ckai.models.registry import build
from ckai.models.training import pretrain as pretrain_module
from ckai.models.training.auxiliary import auxiliary_losses, head_weights, heads_for, report, row_losses
from ckai.models.training.config import LossConfig, PretrainConfig, TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule, planes_of
from ckai.models.training.pretrain import pretrain, trial_run
from ckai.models.training.trainer import train

BOTH = LossConfig(moves_left_weight=0.1, ownership_weight=0.5)
SETTINGS = {
    "resnet": {"channels": 4, "blocks": 1},
    "senet": {"channels": 4, "blocks": 1, "squeeze": 2},
    "cnn2x2": {"channels": 4, "hidden": 16},
    "cnn3x3": {"channels": 4, "hidden": 16},
    "mlp": {"hidden": 16},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = make_rows.with_endings(make_rows.random_games(12, seed=3))
    return make_rows.write(tmp_path_factory.mktemp("rows") / "g.parquet", rows)


@pytest.fixture
def batch(data):
    return next(RowsDataModule([data], heldout=0, endings=True, batch_size=40).epoch(0))


def network(name="resnet", seed=0):
    torch.manual_seed(seed)
    return build(name, SETTINGS[name])


def test_losses_by_hand():
    batch = {"plies_left": torch.tensor([10.0, 80.0, 0.0])}
    answer = torch.tensor([0.75, 1.0, 5.0])  # 15, 20 and 100 plies
    loss, error = row_losses(MOVES_LEFT, answer, batch)
    assert loss[:2].tolist() == pytest.approx([0.25**2 / 2, 0.5 * (3 - 0.25)])
    assert error[:2].tolist() == [5, 60]
    owners = torch.zeros(3, 3, 2)
    owners[0, 0, 0] = owners[0, 2, 1] = owners[1, 1, 0] = 1
    owners[1, :, 1] = torch.tensor([0.25, 0.75, 0.0])
    batch["ownership"] = owners
    logits = torch.zeros(3, 3, 2)
    logits[0, 0, 0] = math.log(2)
    found, right = row_losses(OWNERSHIP, logits, batch)
    assert found[:2].tolist() == pytest.approx([(math.log(2) + math.log(3)) / 2, math.log(3)])
    assert right[0] == 0.5
    losses, sums = auxiliary_losses({MOVES_LEFT: answer, OWNERSHIP: logits}, batch)
    assert losses[MOVES_LEFT].item() == pytest.approx(loss[:2].mean().item()), "the third is not known"
    assert losses[OWNERSHIP].item() == pytest.approx(found[:2].mean().item())
    heads = dict.fromkeys((MOVES_LEFT, OWNERSHIP))
    means = report("train", heads, sums)
    assert means["train_moves_left_error"] == pytest.approx(32.5)
    assert report("train", heads, sums * 0) == {}


@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_reach_trunk_and_head_alone(name, batch):
    net = network(name)
    heads = heads_for(net, BOTH, seed=1)
    losses, _ = auxiliary_losses(heads(net.features(planes_of(net, batch))), batch)
    sum(losses.values()).backward()
    mine = {name for name, parameter in net.named_parameters() if parameter.grad is not None}
    heads_of_play = {name for name, _ in net.named_parameters() if name.startswith(("policy.", "value."))}
    assert heads_of_play
    assert mine == {name for name, _ in net.named_parameters()} - heads_of_play
    assert all(parameter.grad is not None for parameter in heads.parameters())


def test_heads_are_the_same_by_seed_and_touch_no_other_random_number():
    net = network()
    state = torch.get_rng_state()
    first, again, other = (heads_for(net, BOTH, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["moves_left.out.weight"], other["moves_left.out.weight"])
    assert heads_for(net, LossConfig(), seed=1) is None
    assert list(heads_for(net, LossConfig(ownership_weight=1), seed=1)) == [OWNERSHIP]
    assert head_weights(BOTH) == {MOVES_LEFT: 0.1, OWNERSHIP: 0.5}


@pytest.mark.parametrize("name", ["swift", "branches"])
def test_networks_without_one_trunk_are_refused(name, data, tmp_path, ckai):
    with pytest.raises(
        ValueError, match=f"moves_left_weight 0 for the network {name}, which has no single trunk"
    ):
        heads_for(build(name), LossConfig(moves_left_weight=0.1), seed=0)
    code, out, err = ckai(
        "pretrain", "--data", data, "--model", name, "--ownership-weight", 0.5, "-o", tmp_path / "x.ckpt"
    )
    assert (code, out) == (1, "")
    assert f"expected ownership_weight 0 for the network {name}" in err


def test_the_heads_must_be_those_of_the_losses():
    net = network()
    with pytest.raises(
        ValueError, match=r"expected auxiliary heads moves_left, ownership, found none; .*heads_for"
    ):
        PolicyValueModule(net, TrainConfig(loss=BOTH), epoch_steps=1)
    with pytest.raises(ValueError, match="expected auxiliary heads none, found moves_left"):
        PolicyValueModule(net, TrainConfig(), epoch_steps=1, heads=AuxiliaryHeads(net, [MOVES_LEFT]))


def test_a_weight_of_nothing_learned_changes_nothing_of_the_network(data):
    """With rows that say nothing of the end, the network learns the same with heads as without."""
    plain, beside = network(), network()
    rows = RowsDataModule([data], batch_size=64, heldout=0.2)
    train(plain, rows, TrainConfig(epochs=1))
    rows = RowsDataModule([data], batch_size=64, heldout=0.2)
    state = train(beside, rows, TrainConfig(epochs=1, loss=BOTH), heads=heads_for(beside, BOTH, seed=0))
    pairs = zip(plain.parameters(), beside.parameters(), strict=True)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)  # the norm of all gradients is rounded
    assert not any("moves_left" in name for name in state["history"][0])


def test_play_never_sees_the_heads(tmp_path, data):
    config = PretrainConfig(
        model="resnet", settings=SETTINGS["resnet"], train=TrainConfig(epochs=1, batch_size=64, loss=BOTH)
    )
    result = pretrain([data], tmp_path / "a.ckpt", config)
    checkpoint = load_checkpoint(result.output)
    assert {name.partition(".")[0] for name in checkpoint.auxiliary} == {MOVES_LEFT, OWNERSHIP}
    assert checkpoint.weights.keys() == network().state_dict().keys()
    row = checkpoint.info["config"]["train"]["loss"]
    assert row["moves_left_weight"] == 0.1
    history = load_checkpoint(result.run / "last.ckpt").training["history"][0]
    for side in ("train", "heldout"):
        assert history[f"{side}_moves_left_loss"] > 0
        assert history[f"{side}_moves_left_error"] > 0
        assert 0 < history[f"{side}_ownership_accuracy"] <= 1
    # The same network without its heads: the same answers.
    save_checkpoint(tmp_path / "b.ckpt", checkpoint.network())
    boards = checkpoint.network().encode.sample(8, np.random.default_rng(0))
    networks = [load_checkpoint(tmp_path / name).network() for name in ("a.ckpt", "b.ckpt")]
    answers = [TorchEvaluator(network).evaluate(boards) for network in networks]
    assert (answers[0][0] == answers[1][0]).all()
    assert (answers[0][1] == answers[1][1]).all()


def test_held_out_endings_are_measured_as_they_are(data):
    net = network()
    heads = heads_for(net, BOTH, seed=0)
    rows = RowsDataModule([data], batch_size=64, heldout=0.4, endings=True)
    state = train(net, rows, TrainConfig(epochs=1, loss=BOTH, precision="32"), heads=heads)
    (batch,) = rows.batches("heldout", 10**6)
    known = batch["plies_left"] > 0
    assert 0 < known.sum() < len(known)
    net.eval()
    with torch.inference_mode():
        plies = heads(net.features(planes_of(net, batch)))[MOVES_LEFT] * 20
    error = (plies - batch["plies_left"]).abs()[known].mean()
    assert state["history"][0]["heldout_moves_left_error"] == pytest.approx(error.item(), rel=1e-4)


def test_a_state_of_other_heads_is_refused(data):
    def go(loss, state=None):
        net = network()
        rows = RowsDataModule([data], batch_size=64, heldout=0.2, endings=True)
        config = TrainConfig(epochs=2, patience=0, loss=loss)
        return train(net, rows, config, state=state, heads=heads_for(net, loss, seed=0))

    def unfinished(loss):
        return go(loss) | {"finished": False, "epoch": 1}

    with pytest.raises(ValueError, match="expected a training without auxiliary heads"):
        go(LossConfig(), unfinished(BOTH))
    with pytest.raises(ValueError, match=r"expected training\.auxiliary to be dict"):
        go(BOTH, unfinished(LossConfig()))
    with pytest.raises(ValueError, match=r"expected training\.auxiliary\.sums to be"):
        go(BOTH, unfinished(LossConfig(ownership_weight=0.5)))


def test_damaged_heads_are_refused(tmp_path):
    net = network()
    weights = heads_for(net, BOTH, seed=0).state_dict()
    weights["moves_left.out.bias"] = torch.full((1,), math.nan)
    with pytest.raises(ValueError, match=r"found NaN or infinity in out"):
        heads_for(net, BOTH, seed=0, saved=weights)
    weights["moves_left.out.bias"] = torch.zeros(2)
    with pytest.raises(ValueError, match=r"out\.bias of shape \[1\] for the head moves_left, found \[2\]"):
        heads_for(net, BOTH, seed=0, saved=weights)
    save_checkpoint(tmp_path / "a.ckpt", net)
    content = torch.load(tmp_path / "a.ckpt", weights_only=True)
    for wrong, message in (([1], "auxiliary to be dict, found list"), ({"a": 1}, "expected a to be Tensor")):
        torch.save(content | {"auxiliary": wrong}, tmp_path / "b.ckpt")
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(tmp_path / "b.ckpt")


def test_an_unfinished_training_of_before_goes_on(tmp_path, data, monkeypatch):
    """Its settings do not name the weights of the heads."""
    config = PretrainConfig(model="mlp", settings=SETTINGS["mlp"], train=TrainConfig(epochs=2, batch_size=64))

    def cut(*args, **options):
        save_checkpoint(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrain_module, "save_checkpoint", cut)
    with pytest.raises(KeyboardInterrupt):
        pretrain([data], tmp_path / "a.ckpt", config, save_seconds=0)
    monkeypatch.undo()
    settings = json.loads((tmp_path / "a.run" / "config.json").read_text())
    for name in ("moves_left_weight", "ownership_weight"):
        del settings["train"]["loss"][name]
    (tmp_path / "a.run" / "config.json").write_text(json.dumps(settings))
    assert pretrain([data], tmp_path / "a.ckpt", config).continued == "continued"


def test_a_trial_run_has_heads_too(data):
    config = PretrainConfig(model="mlp", settings=SETTINGS["mlp"], train=TrainConfig(loss=BOTH))
    result = trial_run([data], config)
    assert result.info["epochs"] == 1
