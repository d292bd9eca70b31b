"""Encodings, architectures and the registry."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
import torch
from tiny_networks import tiny

from ckai.datasets import choices
from ckai.game import Position
from ckai.models import network
from ckai.models.encodings import PlanesEncoding
from ckai.models.network import (
    _NETWORKS,
    Network,
    NetworkSettings,
    StepPolicy,
    build,
    names,
    network_type,
    parse_network_settings,
    register,
)


def boards(size, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.choice(np.array([-3, -1, 0, 1, 3], np.int8), (size, 34))
    rows[:, 32] = rng.integers(-1, 32, size)
    rows[:, 33] = rng.integers(0, 128, size)
    return rows


def test_planes_tell_pieces_parity_jumper_and_quiet():
    board = torch.from_numpy(Position.from_fen("B:WK1,30:B2,K31").board)[None]
    x = PlanesEncoding()(board, torch.tensor([5], dtype=torch.int8), torch.tensor([20]), torch.float32)
    assert x.shape == (1, 8, 8, 4)
    flat = x[0].flatten(1)
    assert [plane.nonzero().flatten().tolist() for plane in flat[:4]] == [[1], [30], [29], [0]]
    assert flat[4].sum() == 28  # empty
    assert x[0, 5, :, 0].tolist() == [0, 1] * 4
    assert flat[6].nonzero().flatten().tolist() == [5]
    assert torch.all(flat[7] == 0.25)


@pytest.mark.parametrize("name", names())
def test_every_network_gives_128_scores_and_a_value(name):
    network = tiny(name, "pieces")
    rows = torch.from_numpy(boards(7))
    logits, value = network(rows[:, :32], rows[:, 32], rows[:, 33].to(torch.int16))
    assert logits.shape == (7, 128)
    assert value.shape == (7,)
    assert value.abs().max() <= 1


@pytest.mark.parametrize("hidden", [0, 3])
def test_steps_are_scored_on_boards_of_any_size(hidden):
    policy = StepPolicy(5, hidden, squares=18, actions=72)
    assert policy(torch.zeros(2, 5, 6, 3)).shape == (2, 72)
    with torch.no_grad():
        policy.out.weight[2].fill_(1.0)
        policy.inner.weight.zero_()
        policy.inner.bias.zero_()
        x = torch.zeros(1, 5, 6, 3)
        before = policy(x)
        policy.inner.weight[0, 0, 0, 0] = 1.0
        x[0, 0, 4, 1] = 7.0  # on square 13, direction 2
        changed = (policy(x) != before).flatten().nonzero().flatten().tolist()
    assert 4 * 13 + 2 in changed
    assert hidden or set(changed) <= set(range(4 * 13, 4 * 13 + 4))


def test_the_seed_network_has_the_articles_sizes():
    network = build("cnn2x2")
    assert sum(p.numel() for p in network.parameters()) == 160 + 4128 + 1024 * 1025 + 1025 * 128 + 1025


def test_unknown_names_and_settings_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="mlp, resnet, senet, swift, found 'resnett'"):
        network_type("resnett")
    with pytest.raises(ValueError, match="unknown setting chanels; did you mean channels"):
        build("resnet", {"chanels": 3})
    with pytest.raises(ValueError, match="expected channels >= 1, found 0"):
        build("resnet", {"channels": 0})
    for text in ("many", "1.5", "NaN", "true"):
        with pytest.raises(ValueError, match="blocks: expected a valid integer"):
            build("resnet", parse_network_settings("resnet", [f"blocks={text}"]))
    with pytest.raises(ValueError, match="expected blocks=VALUE, found 'blocks'"):
        parse_network_settings("resnet", ["blocks"])
    assert parse_network_settings("resnet", ["blocks=3", "channels=8"]) == {"blocks": 3, "channels": 8}


ENTRY = """
from ckai.models.network import register
from ckai.models.networks.mlp import Mlp, Settings
@register("installed", settings=Settings)
class Installed(Mlp):
    pass
"""


def test_an_installed_package_adds_a_network(tmp_path, monkeypatch):
    (tmp_path / "networks_of_mine.py").write_text(ENTRY)
    monkeypatch.syspath_prepend(tmp_path)
    entries = {
        name: EntryPoint(name, value, choices.NETWORKS)
        for name, value in (
            ("installed", "networks_of_mine:Installed"),
            ("misnamed", "networks_of_mine:Installed"),
            ("missing", "nosuchpackage:Net"),
        )
    }
    monkeypatch.setattr(network, "entry_points_of", lambda group: entries)
    monkeypatch.setattr(choices, "entry_points_of", lambda group: entries)
    assert {"installed", "mlp"} <= set(names())
    try:
        assert build("installed", {"hidden": 8}).architecture == "installed"
        with pytest.raises(ValueError, match=r"networks_of_mine:Installed: .*@register\('misnamed'\), found"):
            network_type("misnamed")
    finally:
        _NETWORKS.pop("installed", None)
    with pytest.raises(ValueError, match=r"network missing, entry point nosuchpackage:Net: cannot"):
        network_type("missing")


def test_outputs_of_wrong_shapes_are_refused():
    class Wrong(Network):
        def __init__(self, settings):
            super().__init__(settings)
            self.layer = torch.nn.Linear(8 * 32, 100)

        def forward_planes(self, x):
            out = self.layer(x.flatten(1))
            return out, out[:, :2]

    register("wrong", settings=NetworkSettings)(Wrong)
    with pytest.raises(
        ValueError, match=r"wrong: expected .* \[\(1, 128\), \(1, 1\)\] .*, found \[\(1, 100\), \(1, 2\)\]"
    ):
        build("wrong")
    _NETWORKS.pop("wrong")
