"""Losses by hand, metrics by hand, and learning at the smallest scale."""

import math
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from ckai.models.evaluation import Metrics, auc, rank_of
from ckai.models.network import build, names, value_of
from ckai.models.training.config import OptimizerConfig
from ckai.models.training.lightning_module import PolicyValueModule, policy_loss, value_loss, value_target

TINY = {
    "cnn2x2": {"channels": 8, "hidden": 256},
    "cnn3x3": {"channels": 8, "hidden": 256},
    "mlp": {"hidden": 256},
    "resnet": {"channels": 24, "blocks": 2},
    "senet": {"channels": 24, "blocks": 2},
    "swift": {"hidden": 512, "narrow": 64, "narrowest": 64, "buckets": 1},
}


def bits(*labels):
    return torch.tensor(list(sum(1 << i for i in labels).to_bytes(16, "little")), dtype=torch.uint8)


def hand_batch(**changes):
    batch = {
        "board": torch.zeros(2, 32, dtype=torch.int8),
        "jumper": torch.tensor([-1, -1], dtype=torch.int8),
        "quiet": torch.zeros(2, dtype=torch.int16),
        "legal": torch.stack([bits(3, 5), bits(127)]),
        "label": torch.tensor([5, 127]),
        "ply": torch.tensor([0, 11], dtype=torch.int16),
        "z": torch.tensor([1.0, 0.0]),
        "z_known": torch.tensor([True, False]),
    }
    return batch | changes


def test_a_network_of_nan_is_never_right():
    scores = torch.full((2, 128), float("nan"))
    assert rank_of(scores, torch.tensor([0, 127])).tolist() == [128, 128]
    scores = torch.zeros(1, 4)
    scores[0, 1] = float("nan")
    assert rank_of(scores, torch.tensor([0])).tolist() == [1]
    assert math.isnan(auc(np.array([float("nan"), 1.0]), np.array([0.0])))
    assert math.isnan(auc(np.array([1.0]), np.array([float("nan"), 0.0])))


# --- losses ----------------------------------------------------------------------------------------


def test_policy_loss_of_equal_scores_is_the_log_of_the_choices():
    scores = torch.zeros(2, 128)
    assert policy_loss(scores, hand_batch())[0].item() == pytest.approx(math.log(128))
    # Of the two rows, one has two legal actions; the other has one, and nothing to learn.
    assert policy_loss(scores, hand_batch(), mask_illegal=True)[0].item() == pytest.approx(math.log(2))
    policy = torch.zeros(2, 128)
    policy[0, 3], policy[0, 5], policy[1, 127] = 0.25, 0.75, 1
    batch = hand_batch(policy=policy)
    scores[0, 5] = math.log(3)
    wanted = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)
    assert policy_loss(scores, batch, mask_illegal=True)[0].item() == pytest.approx(wanted, rel=1e-5)


def test_rows_without_a_policy_target_do_not_dilute_the_others():
    """Searches too short to learn a policy from: their shares are all 0."""
    torch.manual_seed(0)
    scores = torch.randn(2, 128)
    policy = torch.zeros(2, 128)
    policy[0, 3], policy[0, 5] = 0.25, 0.75
    batch = hand_batch(policy=policy)
    alone = {name: tensor[:1] for name, tensor in batch.items()}
    found, rows = policy_loss(scores, batch, mask_illegal=True)
    assert rows == 1
    assert policy_loss(scores, hand_batch())[1] == 2
    assert found.item() == pytest.approx(policy_loss(scores[:1], alone, mask_illegal=True)[0].item())
    none = hand_batch(policy=torch.zeros(2, 128))
    assert policy_loss(scores, none, mask_illegal=True)[0].item() == 0


def test_the_value_learns_a_blend_and_only_from_known_results():
    batch = hand_batch(q=torch.tensor([-0.5, 0.9]))
    assert value_target(batch, 0.25).tolist() == pytest.approx([0.625, 0.225])
    assert value_target(hand_batch(), 1).tolist() == [1, 0]
    value = torch.atanh(torch.tensor([[0.5], [0.7]]))
    assert value_loss(value, batch, 0)[0].item() == pytest.approx(0.25)
    assert value_loss(value, batch, 1)[0].item() == pytest.approx(1.0)
    nothing = hand_batch(z_known=torch.tensor([False, False]))
    assert value_loss(value, nothing, 0.5)[0].item() == 0


def test_win_draw_and_loss_are_learned_as_chances():
    raw = torch.tensor([[math.log(2), 0.0, 0.0], [9.0, 9.0, 9.0]])
    assert value_of(raw).tolist() == pytest.approx([0.25, 0])
    assert value_loss(raw, hand_batch(), 0.5)[0].item() == pytest.approx(math.log(2))
    raw[1] = torch.tensor([0.0, 0.0, math.log(2)])
    both = hand_batch(z=torch.tensor([0.25, -0.5]), z_known=torch.tensor([True, True]))
    wanted = (0.25 * math.log(2) + 0.75 * math.log(4) + 0.5 * math.log(4) + 0.5 * math.log(2)) / 2
    assert value_loss(raw, both, 0.5)[0].item() == pytest.approx(wanted)


def test_the_schedule_warms_up_and_comes_down():
    factors = [OptimizerConfig(warmup=0.25).factor(step, 100) for step in range(101)]
    assert factors[0] == pytest.approx(0.04)
    assert factors[25] == max(factors) == pytest.approx(1)
    assert factors[:26] == sorted(factors[:26])
    assert factors[25:] == sorted(factors[25:], reverse=True)
    assert factors[100] == pytest.approx(0.001)
    assert [OptimizerConfig().factor(0, steps) for steps in range(1, 7)] == [1] * 6  # too few to warm up


# --- metrics ---------------------------------------------------------------------------------------


def test_metrics_of_four_rows_by_hand():
    scores = torch.full((4, 128), -20.0)
    # 0: the move is first. 1: behind an illegal label. 2: forced, behind six illegal ones. 3: second of 3.
    scores[0, 5] = 20
    scores[1, 7], scores[1, 3] = 20, 19
    scores[2, 10:16] = 20
    scores[3, 3], scores[3, 5], scores[3, 9] = 20, 19.5, 19
    board = torch.zeros(4, 32, dtype=torch.int8)
    board[:, 0] = torch.tensor([1, 2, 3, 4])
    batch = {
        "board": board,
        "jumper": torch.full((4,), -1, dtype=torch.int8),
        "quiet": torch.zeros(4, dtype=torch.int16),
        "legal": torch.stack([bits(3, 5), bits(3, 5), bits(127), bits(3, 5, 9)]),
        "label": torch.tensor([5, 3, 127, 5]),
        "ply": torch.tensor([0, 9, 10, 35], dtype=torch.int16),
        "z": torch.tensor([1.0, -1.0, 0.0, 0.0]),
        "z_known": torch.tensor([True, True, True, False]),
    }
    from ckai.datasets.split import position_keys

    seen = np.sort(position_keys(board[:2].numpy(), batch["jumper"][:2].numpy()))
    value = torch.tensor([0.5, 0.5, 0.1, 0.9])
    halves = Metrics(seen)
    for part in (slice(0, 1), slice(1, 4)):
        halves.update(scores[part], value[part], {name: tensor[part] for name, tensor in batch.items()})
    found = halves.report()
    e = math.exp
    wanted = {
        "rows": 4,
        "top1": 0.25,
        "top2": 0.75,
        "top3": 0.75,
        "top5": 0.75,
        "top1_legal": 0.75,
        "top2_legal": 1.0,
        "top3_legal": 1.0,
        "top5_legal": 1.0,
        "top1_unforced": 2 / 3,
        "unseen": 0.5,
        "top1_unseen": 0.0,
        "illegal_top1": 0.5,
        "illegal_probability": (1 / (1 + e(-1)) + 1) / 4,
        "random_legal": (0.5 + 0.5 + 1 + 1 / 3) / 4,
        "policy_loss": (math.log(1 + e(1)) + (40 + math.log(6)) + math.log(1 + e(0.5) + e(-0.5))) / 4,
        "policy_loss_legal": math.log(1 + e(0.5) + e(-0.5)) / 4,
        "value_rows": 3,
        "value_mse": (0.25 + 2.25 + 0.01) / 3,
        "value_mse_constant": 2 / 3,
        "value_auc": 0.5,  # the same value for the won and the lost row
        "value_calibration_error": (2 * 0.5 + 1 * 0.1) / 3,
    }
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    assert [(g["from"], g["to"], g["rows"], g["top1_legal"]) for g in halves.by_ply()] == [
        (0, 9, 2, 1.0),
        (10, 19, 1, 1.0),
        (30, 39, 1, 0.0),
    ]


# --- learning --------------------------------------------------------------------------------------


def alone(module):
    """A module whose training has no end, and so no schedule."""
    module.trainer = Mock(estimated_stepping_batches=math.inf, precision="32-true", log_every_n_steps=10**9)
    module.log = lambda *_, **more: None
    return module


@pytest.mark.parametrize("name", names())
def test_biases_have_no_weight_decay(name):
    """Nor have norms; the biases of some networks have two dimensions."""
    network = build(name, TINY[name])
    module = alone(PolicyValueModule(network))
    groups = module.configure_optimizers().param_groups
    decayed = {id(p): group["weight_decay"] > 0 for group in groups for p in group["params"]}
    named = {name: p for name, p in network.named_parameters() if id(p) in decayed}
    assert {id(p) for p in network.parameters()} == set(decayed)
    assert {name for name, p in named.items() if not decayed[id(p)]} == {
        name for name, p in named.items() if name.endswith("bias") or p.ndim == 1
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("resnet", "wdl"),
        *(
            pytest.param(name, ("tanh", "wdl")[n % 2], marks=pytest.mark.slow)
            for n, name in enumerate(names())
            if name != "resnet"
        ),
    ],
)
def test_one_batch_can_be_learned_by_heart(name, value):
    torch.manual_seed(0)
    size = 32
    batch = {
        "board": torch.randint(-1, 2, (size, 32), dtype=torch.int8),
        "jumper": torch.full((size,), -1, dtype=torch.int8),
        "quiet": torch.zeros(size, dtype=torch.int16),
        "legal": torch.full((size, 16), 255, dtype=torch.uint8),
        "label": torch.randint(0, 128, (size,)),
        "ply": torch.zeros(size, dtype=torch.int16),
        "z": torch.randint(-1, 2, (size,)).float(),
        "z_known": torch.ones(size, dtype=torch.bool),
    }
    module = alone(PolicyValueModule(name, {**TINY[name], "value": value}, lr=5e-3, weight_decay=0))
    optimizer = module.configure_optimizers()

    def measured():
        metrics = Metrics()
        module.eval()
        with torch.no_grad():
            metrics.update(*module.network(batch["board"], batch["jumper"], batch["quiet"]), batch)
        module.train()
        return metrics.report()

    for step in range(300):
        loss = module.training_step(batch, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            report = measured()
            if report["top1"] == 1 and report["value_mse"] < 0.05:
                break
    assert report["top1"] == 1
    assert report["value_mse"] < 0.05


@pytest.mark.filterwarnings("ignore:You are trying to `self.log")
@pytest.mark.parametrize("mask_illegal", [False, True])
def test_training_and_held_out_losses_are_the_same_means(mask_illegal):
    """Of batches with different numbers of rows to learn from, one with none among them."""
    batch = hand_batch() | {"q_known": torch.tensor([True, False]), "q": torch.zeros(2)}
    policy = torch.zeros(2, 128)
    policy[0, batch["label"][0]] = 1
    batches = [
        batch | {"policy": policy},
        batch | {"policy": torch.zeros(2, 128), "z_known": torch.zeros(2) > 0},
    ]
    module = PolicyValueModule(build("mlp", {"hidden": 4}).eval(), mask_illegal=mask_illegal)
    module.on_validation_epoch_start()
    for each in batches:
        module.training_step(each, 0)
        with torch.inference_mode():
            module.validation_step(each, 0)
    module.on_validation_epoch_end()
    trained, measured = module.training_report(), module.report
    for name in ("policy_loss", "value_loss"):
        assert trained[f"train_{name}"] == pytest.approx(measured[f"heldout_training_{name}"], rel=1e-5)
