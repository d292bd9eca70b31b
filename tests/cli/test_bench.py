"""`ckai bench`: its table and JSON."""

import json

import pytest
from click.testing import CliRunner

from ckai.cli import bench as module
from ckai.cli.bench import command


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, value in (("ROUNDS", 2), ("SECONDS", 0.2), ("IN_FLIGHT", 8), ("SIMS", 8)):
        monkeypatch.setattr(module, name, value)


def run(*arguments):
    result = CliRunner().invoke(command, [*arguments, "--evaluator", "torch"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.slow
def test_json_says_name_unit_and_figures():
    measures = json.loads(run("network", "--json"))["measures"]
    assert {measure["unit"] for measure in measures} == {"evaluations/s"}
    for measure in measures:
        assert measure["least"] <= measure["median"] <= measure["most"]
        assert measure["least"] > 0
        assert measure["rounds"] >= 1


@pytest.mark.slow
def test_the_table_has_a_line_for_each_measure():
    text = run("selfplay")
    for unit in ("evaluations/s", "ratio", "simulations/s"):
        assert unit in text
