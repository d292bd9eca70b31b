"""Parts of a batch in threads: the same losses and gradients as the whole batch."""

import make_rows
import pytest
import torch
from torch import nn

from ckai.datasets import RowsDataModule
from ckai.models.registry import build, names
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.parallel import PART_ROWS, Parts, splits
from ckai.models.training.trainer import train

SIZES = {
    "branches": {"channels": 4, "branch_hidden": 16, "hidden": 16},
    "cnn2x2": {"channels": 4, "hidden": 16},
    "cnn3x3": {"channels": 4, "hidden": 16},
    "mlp": {"hidden": 16},
    "swift": {"hidden": 16, "narrow": 4, "narrowest": 4, "buckets": 2},
}
ROWS = 3 * PART_ROWS + 5


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def random_batch(rows):
    generator = torch.Generator().manual_seed(1)

    def draw(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    return {
        "board": draw(-1, 2, rows, 32).to(torch.int8),
        "jumper": torch.full((rows,), -1, dtype=torch.int8),
        "quiet": torch.zeros(rows, dtype=torch.int16),
        "legal": torch.full((rows, 16), 255, dtype=torch.uint8),
        "label": draw(0, 128, rows),
        "ply": torch.zeros(rows, dtype=torch.int16),
        "z": draw(-1, 2, rows).float(),
        "z_known": draw(0, 2, rows).bool(),
    }


def step(module, batch):
    """The loss and the gradients of a step."""
    module.network.zero_grad()
    loss = module.training_step(batch, 0)
    module.backward(loss)
    return loss.item(), [p.grad.clone() for p in module.network.parameters() if p.grad is not None]


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", names())
def test_parts_have_the_loss_and_gradients_of_the_batch(name, threads):
    torch.manual_seed(0)
    network = build(name, SIZES.get(name, {"channels": 4, "blocks": 1})).train()
    assert splits(network) == (name in SIZES)
    if name not in SIZES:
        return
    module = PolicyValueModule(network, TrainConfig(), epoch_steps=1)
    batch = module.on_before_batch_transfer(random_batch(ROWS), 0)
    loss, gradients = step(module, batch)
    with Parts(list(network.parameters()), threads) as module.parts:
        assert module.parts.number == threads
        found, others = step(module, batch)
        again = step(module, batch)
    assert found == pytest.approx(loss, rel=1e-5)
    for mine, theirs, repeated in zip(gradients, others, again[1], strict=True):
        torch.testing.assert_close(theirs, mine, rtol=1e-3, atol=1e-6)
        assert torch.equal(theirs, repeated)


def test_small_batches_and_evaluation_come_to_the_same(two_threads):
    network = build("cnn2x2", SIZES["cnn2x2"])
    module = PolicyValueModule(network, TrainConfig(), epoch_steps=1)
    batch = module.on_before_batch_transfer(random_batch(1), 0)
    loss, _ = step(module, batch)
    large = module.on_before_batch_transfer(random_batch(ROWS), 0)
    with torch.inference_mode():
        module.validation_step(large, 0)
    report = module.heldout_report()
    module.on_validation_epoch_start()
    with Parts(list(network.parameters())) as module.parts:
        assert step(module, batch)[0] == pytest.approx(loss, rel=1e-5)
        with torch.inference_mode():
            module.validation_step(large, 0)
    assert module.heldout_report() == pytest.approx(report, rel=1e-4)


def test_threads_are_given_back_and_errors_passed_on(two_threads):
    layer = nn.Linear(1, 1)

    def fail(part):
        raise ValueError("no")

    def run():
        with Parts(list(layer.parameters())) as parts:
            assert torch.get_num_threads() == 1
            parts.forward(fail, {"board": torch.zeros(ROWS, 1)})

    with pytest.raises(ValueError, match="no"):
        run()
    assert torch.get_num_threads() == 2


def test_dropout_and_batch_norm_need_whole_batches():
    assert splits(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)))
    assert not splits(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    assert not splits(nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)))


@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_training_with_two_threads_repeats_itself(two_threads, tmp_path, precision):
    make_rows.write(tmp_path / "games.parquet", make_rows.random_games(10))
    config = TrainConfig(epochs=1, seed=3, precision=precision)

    def trained():
        torch.manual_seed(0)
        network = build("cnn2x2", SIZES["cnn2x2"])
        state = train(
            network, RowsDataModule([tmp_path / "games.parquet"], batch_size=4 * PART_ROWS, seed=3), config
        )
        return network, state

    (one, first), (other, second) = trained(), trained()
    assert first["history"][0]["train_policy_loss"] == second["history"][0]["train_policy_loss"]
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
