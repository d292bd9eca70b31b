"""`ckai evaluate` on networks and rows made by hand."""

import json

import make_rows
import pytest
import torch

from ckai.game import Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build

SMALLEST = {"channels": 1, "hidden": 1}


def constant_network(scores, value=0.0):
    """A network that always says the same."""
    network = build("cnn2x2", SMALLEST)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        for label, score in scores.items():
            network.policy.bias[label] = score
        network.value.bias.fill_(value)
    return network


@pytest.fixture
def evaluate(ckai):
    """The JSON object of `ckai evaluate`."""

    def run(*arguments):
        status, out, err = ckai("evaluate", *arguments, "--json")
        assert status == 0, err
        return json.loads(out)

    return run


@pytest.fixture
def opening(tmp_path):
    """Game 5 (held out by seed 0) and games 0 to 3: all the first move, 11-15 but for game 5's 9-13."""
    start = Position.start()
    moves = {str(move): move.actions[0] for move in start.legal_moves()}
    rows = [
        make_rows.row(start, moves["9-13" if game == 5 else "11-15"], game, result=1)
        for game in (0, 1, 2, 3, 5)
    ]
    after = start.push("9-13")
    rows.append(make_rows.row(after, after.legal_moves()[0].actions[0], 5, ply=1, result=1))
    return make_rows.write(tmp_path / "o.parquet", rows), moves


def test_the_held_out_side_is_measured_with_the_split_of_the_training(tmp_path, opening, evaluate):
    data, moves = opening
    path = tmp_path / "net.ckpt"
    network = constant_network({moves["9-13"]: 5.0, 0: 9.0}, value=0.5)
    save_checkpoint(path, network, info={"split": {"seed": 0, "heldout": 0.1}})
    found = evaluate(path, "--data", data)
    assert (found["split"], found["split_seed"], found["heldout"], found["rows"]) == ("heldout", 0, 0.1, 2)
    assert found["top1"] == 0
    assert found["top2"] == 0.5
    assert found["illegal_top1"] == 1
    assert found["top1_legal"] == 0.5
    assert found["random_legal"] == pytest.approx(1 / 7)
    assert found["unseen"] == 0.5, "the start position is in the training games, the next one is not"
    v = float(torch.tanh(torch.tensor(0.5)))
    assert found["value_mse"] == pytest.approx(((v - 1) ** 2 + (v + 1) ** 2) / 2, rel=1e-5)
    assert found["model"] == "cnn2x2"
    assert found["parameters"] == sum(p.numel() for p in network.parameters())
    assert [(g["from"], g["rows"]) for g in found["by_ply"]] == [(0, 2)]
    contract = (
        "rows top1 top2 top3 top5 top1_legal top5_legal top1_unforced top1_unseen illegal_top1 random_legal"
    )
    assert set(contract.split()) | {"value_mse"} <= found.keys()


def test_what_cannot_be_measured_is_one_line(tmp_path, opening, ckai):
    data, _ = opening
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, constant_network({}), info={"split": {"seed": 0, "heldout": 0.0}})
    for arguments, message in (
        ([path, "--data", data], "was trained on all games"),
        ([path, "--data", tmp_path / "none"], "no such file"),
        ([data, "--data", data], "expected a checkpoint, found a file that is not one"),
    ):
        status, out, err = ckai("evaluate", *arguments)
        assert status == 1
        assert message in err
        assert out == ""
