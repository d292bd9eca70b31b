"""Rows drawn from tablebases, and networks measured against them."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.tables import DRAW, LOSS, SHIPPED, WIN, Tables
from ckai.datasets.tables.rows import draw_endgames, endgame_rows, hops_that_keep
from ckai.game import Position
from ckai.models.checkpoint import save_checkpoint
from ckai.models.evaluation.endgames import measure_endgames
from ckai.models.registry import build

WORTH = {1: WIN, 0: DRAW, -1: LOSS}


@pytest.fixture(scope="module")
def tables():
    return Tables.open(SHIPPED)


def positions(drawn):
    return [Position(*map(int, place), True, -1, 0) for place in drawn.places]


def constant(value):
    """A network that says the same of every position, and nothing of moves."""
    network = build("cnn2x2", {"channels": 1, "hidden": 1})
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.value.bias.fill_(value)
    return network


def test_drawn_positions_are_what_the_tables_say(tables):
    drawn = draw_endgames(tables, 300, seed=3, heldout=False)
    for position, truth, of in zip(positions(drawn), drawn.truth, drawn.of, strict=True):
        assert position.legal_moves()
        assert tables.probe(position).value == WORTH[int(truth)]
        assert sum(drawn.classes[of]) == (position.own | position.opp).bit_count()


def test_positions_for_measuring_are_never_learned(tables):
    sides = [
        draw_endgames(tables, 20_000, seed=seed, heldout=heldout)
        for heldout in (False, True)
        for seed in (1, 2)
    ]
    found = [{tuple(place) for place in drawn.places.tolist()} for drawn in sides]
    learned, held = found[0] | found[1], found[2] | found[3]
    assert len(learned) > 10_000 < 2 * len(held)
    assert not learned & held


def test_of_a_number_of_pieces_and_of_classes_alike(tables):
    drawn = draw_endgames(tables, 2000, seed=0, pieces=2, heldout=False)
    assert {sum(of) for of in drawn.classes} == {2}
    shares = [
        np.bincount(draw_endgames(tables, 20_000, seed=0, heldout=False, even=even).of).min() / 20_000
        for even in (False, True)
    ]
    assert shares[1] > 3 * shares[0]


def test_hops_that_keep_the_value(tables):
    drawn = draw_endgames(tables, 400, seed=5, heldout=True)
    legal, keeping = hops_that_keep(drawn, tables)
    turned = {WIN: LOSS, LOSS: WIN, DRAW: DRAW}
    for position, truth, may, keeps in zip(positions(drawn), drawn.truth, legal, keeping, strict=True):
        assert np.flatnonzero(may).tolist() == position.legal_actions()
        for label in position.legal_actions():
            after = position.push_action(label)
            if not after.own:
                value = WIN
            elif after.black == position.black:
                value = tables.probe(after).value
            else:
                value = turned[tables.probe(after).value]
            assert keeps[label] == (value == WORTH[int(truth)])


def test_rows_teach_best_moves_and_the_truth(tables, tmp_path):
    path = tmp_path / "endgames.parquet"
    pq.write_table(endgame_rows(tables, 500, seed=1), path)
    data = RowsDataModule([path], heldout=0.0)
    rows = next(data.blocks("train"))
    assert len(rows) == 500
    for i in range(500):
        row = {name: getattr(rows, name)[i] for name in ("board", "label", "z", "quiet")}
        own = sum(1 << s for s in range(32) if row["board"][s] > 0)
        opp = sum(1 << s for s in range(32) if row["board"][s] < 0)
        kings = sum(1 << s for s in range(32) if abs(row["board"][s]) == 3)
        position = Position(own, opp, kings, True, -1, 0)
        probed = tables.probe(position)
        assert probed.value == WORTH[int(row["z"])]
        assert int(row["label"]) in tables.best_actions(position)
        assert probed.plies is None or row["quiet"] + probed.plies <= 80
    assert endgame_rows(tables, 50, seed=1).equals(endgame_rows(tables, 50, seed=1))
    assert not endgame_rows(tables, 50, seed=1).equals(endgame_rows(tables, 50, seed=2))


def test_a_network_that_says_the_same_of_all(tables):
    drawn = draw_endgames(tables, 3000, seed=1, pieces=3, heldout=True)
    truth = drawn.truth.astype(float)
    for value in (-20.0, 0.0, 20.0):
        said = np.tanh(value)
        found = measure_endgames(constant(value), tables, 3000)
        assert found["positions"] == 3000
        assert found["value_mse"] == pytest.approx(np.mean((said - truth) ** 2), abs=1e-3)
        wrong = np.mean(np.sign(said) != truth[truth != 0])
        assert found["wrong_sign"] == pytest.approx(wrong, abs=1e-6)
        assert sum(part["positions"] for part in found["by_material"].values()) == 3000


@pytest.mark.slow
def test_the_commands(tables, tmp_path, monkeypatch, ckai):
    monkeypatch.setenv("CKAI_CACHE", str(tmp_path / "cache"))
    path, network = tmp_path / "endgames.parquet", tmp_path / "network.ckpt"
    save_checkpoint(network, constant(0.0))
    assert ckai("tables", "rows", "--pieces", 3, "--positions", 2000, "-o", path)[0] == 0
    assert pq.read_table(path).num_rows == 2000
    status, out, _ = ckai("evaluate", network, "--tables", 3, "--json")
    assert status == 0
    assert json.loads(out)["wrong_sign"] == 1.0
    status, out, _ = ckai("evaluate", network, "--tables", 3)
    assert status == 0
    assert "KK-K" in out
    status, out, _ = ckai("evaluate", network, "--tables", 3, "--data", path, "--split", "all", "--json")
    assert json.loads(out)["endgames"]["pieces"] == 3
