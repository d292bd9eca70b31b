"""The installed networks."""

import subprocess
import sys

import numpy as np
import pytest

from ckai.game import Position
from ckai.models.checkpoint import load_network
from ckai.models.inference.evaluator import pack_positions
from ckai.models.networks.swift import integers_of
from ckai.models.pretrained import CKAI, HUMAN, PRETRAINED, SMALL, integers_path, network_path
from ckai.rl.evaluators.loading import load_evaluator


def test_the_installed_networks_are_small():
    assert sum(network_path(name).stat().st_size for name in PRETRAINED) <= 5_000_000


@pytest.mark.parametrize(("name", "backend"), [(CKAI, "integers"), (HUMAN, "integers"), (SMALL, "torch")])
def test_an_installed_network_evaluates_positions(name, backend):
    evaluator = load_evaluator(name, backend)
    positions = ["W:W32,31,30:B1", "B:W32,31,30:B1", "B:W32:B1,2,3"]
    logits, values = evaluator.evaluate(pack_positions([Position.from_fen(fen) for fen in positions]))
    assert np.isfinite(logits).all()
    # In the view of the side to move: three against one is won, one against three lost.
    assert values[0] > 0.5 > -0.5 > values[1]
    assert values[2] > 0.5


@pytest.mark.parametrize("name", [CKAI, HUMAN])
def test_the_integers_next_to_a_checkpoint_are_those_of_its_weights(name):
    wanted, found = integers_of(load_network(name)), np.load(integers_path(name))
    assert sorted(found) == sorted(wanted)
    for each in wanted:
        assert found[each].dtype == wanted[each].dtype
        assert np.array_equal(found[each], wanted[each]), each


@pytest.mark.slow
def test_playing_with_an_installed_network_imports_no_torch(monkeypatch):
    monkeypatch.delenv("CKAI_EVALUATOR", raising=False)
    code = """
import sys
from ckai.rl import Engine
for text in ("level:3", "alphabeta:ckai@d4", "ckai@20"):
    assert Engine.load(text).play("B:W18:B14,1").move
assert {"torch", "pyarrow", "pandas"}.isdisjoint(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
