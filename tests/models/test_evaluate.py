"""`ckai evaluate` on networks and rows made by hand."""

import json
from collections import Counter, defaultdict

import make_rows
import pytest
import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.game import Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.evaluation.evaluate import frequent_moves
from ckai.models.evaluation.plots import first_layers
from ckai.models.inputs.registry import encoding_type
from ckai.models.registry import build, names

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
    assert found["value_sign"] == 0.5
    assert found["model"] == "cnn2x2"
    assert evaluate(path, "--data", data, "--split", "train")["rows"] == 4
    whole = evaluate(path, "--data", data, "--split", "all")
    assert whole["rows"] == 6
    assert whole["top1_legal"] == pytest.approx(1 / 6)
    contract = (
        "rows top1 top2 top3 top5 top1_legal top5_legal top1_unforced top1_unseen illegal_top1 random_legal"
    )
    assert set(contract.split()) | {"value_mse"} <= found.keys()


def test_another_split_can_be_asked_for_and_is_said(tmp_path, opening, ckai):
    data, _ = opening
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, constant_network({}))
    status, out, err = ckai("evaluate", path, "--data", data, "--heldout", "0.5", "--split-seed", "2")
    assert status == 0, err
    assert "on the held-out games (share 0.5, split seed 2)" in out
    assert "top-1 accuracy" in out


def test_what_cannot_be_measured_is_one_line(tmp_path, opening, ckai):
    data, _ = opening
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, constant_network({}), info={"split": {"seed": 0, "heldout": 0.0}})
    for arguments, message in (
        ([path, "--data", data], "was trained on all games"),
        ([path, "--data", data, "--heldout", "0.001"], "try --split all"),
        ([path, "--data", tmp_path / "none", "--heldout", "0.1"], "no such file"),
        ([data, "--data", data], "expected a ckai checkpoint"),
    ):
        status, out, err = ckai("evaluate", *arguments)
        assert status == 1
        assert message in err
        assert out == ""


def test_what_needs_no_network_stands_beside_it(tmp_path, opening, evaluate):
    data, _ = opening
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, constant_network({}), info={"split": {"seed": 0, "heldout": 0.1}})
    found = evaluate(path, "--data", data)
    # The training games always begin 11-15; game 5 began 9-13, and its second position is in none of them.
    assert found["baselines"]["seen"] == 0.5
    assert found["baselines"]["most_frequent_seen"] == 0
    assert found["baselines"]["most_frequent"] == pytest.approx((0 + 1 / 7) / 2)
    assert found["baselines"]["top1_of_its_own_training_positions"] == 0.66
    trained = evaluate(path, "--data", data, "--split", "train")["baselines"]
    assert (trained["seen"], trained["most_frequent_seen"]) == (1, 1)
    assert found["parameters"] == sum(p.numel() for p in build("cnn2x2", SMALLEST).parameters())
    assert found["evaluations_per_second"]["cpu"] > 0
    assert [(g["from"], g["rows"]) for g in found["by_ply"]] == [(0, 2)]
    assert [(g["from"], g["to"], g["rows"]) for g in found["by_pieces"]] == [(21, 24, 2)]


def test_the_most_frequent_move_is_what_a_loop_finds(tmp_path):
    path = make_rows.write(tmp_path / "g.parquet", make_rows.random_games(60, seed=2, max_plies=8))
    data = RowsDataModule([path], heldout=0.3)
    played = defaultdict(Counter)
    for block in data.blocks("train"):
        for board, jumper, label in zip(block.board, block.jumper, block.label, strict=True):
            played[board.tobytes(), int(jumper)][int(label)] += 1
    seen = right = total = 0
    guessed = 0.0
    for block in data.blocks("heldout"):
        for i in range(len(block)):
            total += 1
            moves = played.get((block.board[i].tobytes(), int(block.jumper[i])))
            if moves is None:
                guessed += 1 / block.legal_mask()[i].sum()
                continue
            seen += 1
            right += min(moves, key=lambda label: (-moves[label], label)) == block.label[i]
    found = frequent_moves(data, "heldout")
    assert found == pytest.approx(
        {
            "seen": seen / total,
            "most_frequent_seen": right / seen,
            "most_frequent": (right + guessed) / total,
        }
    )


@pytest.mark.draws
def test_plots_are_drawn(tmp_path, opening, ckai):
    data, _ = opening
    save_checkpoint(tmp_path / "net.ckpt", constant_network({}))
    status, out, err = ckai("evaluate", tmp_path / "net.ckpt", "--data", data, "--plots", tmp_path / "plots")
    assert status == 0, err
    assert "evaluations/s" in out
    assert "most frequent move" in out
    for name in ("calibration.png", "filters.png"):
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("encoding", ["grid", "moves"])
def test_the_first_layers_are_those_that_meet_the_board(encoding):
    planes = encoding_type(encoding).PLANES
    shapes = {
        "cnn2x2": [(32, planes, 2, 2)],
        "cnn3x3": [(32, planes, 3, 3)],
        "mlp": [(1024, planes, 8, 4)],
        "branches": [(32, planes, 2, 2), (32, planes, 3, 3), (512, planes, 8, 4)],
        "resnet": [(32, planes, 3, 3)],
        "senet": [(32, planes, 3, 3)],
    }
    for name in names():
        layers = first_layers(build(name, {"encoding": encoding}))
        assert [weights.shape for _, weights in layers] == shapes[name]
