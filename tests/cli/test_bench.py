"""`ckai bench`: its table and JSON."""

import json

import pytest
from click.testing import CliRunner

from ckai.cli.bench import command
from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.rl.bench.rules import measured
from ckai.rl.bench.search import ceiling, selfplay_rates
from ckai.rl.bench.strength import available, match_seconds, matches
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.selfplay.config import SelfPlayConfig


def run(*arguments):
    result = CliRunner().invoke(command, [*arguments, "--evaluator", "torch"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_json_says_name_unit_and_figures():
    measures = json.loads(run("rules", "--rounds", "2", "--json"))["measures"]
    assert [m["unit"] for m in measures if "perft" in m["name"]] == ["nodes/s"]
    for measure in measures:
        assert measure["least"] <= measure["median"] <= measure["most"]
        assert measure["least"] > 0
        assert measure["rounds"] >= 1


@pytest.mark.slow
def test_the_table_has_a_line_for_each_measure():
    small = ["--rounds", "1", "--seconds", "0.2", "--in-flight", "8", "--sims", "8", "--games", "4"]
    text = run("parse", "selfplay", "games", "training", *small)
    for unit in ("games/s", "rows/s", "evaluations/s", "ratio", "simulations/s", "games/minute"):
        assert unit in text


def test_the_median_is_of_all_rounds():
    assert measured("x", "y", [3.0, 1.0, 2.0, 10.0, 2.5]).median == 2.5


@pytest.mark.slow
def test_rates_of_self_play_are_counted():
    rates = selfplay_rates(UniformEvaluator(), SelfPlayConfig(sims=20, in_flight=16, groups=2), 0.3)
    assert rates["evaluations"] > 0
    assert rates["simulations"] >= rates["evaluations"] * 0.9


def test_the_ceiling_counts_every_thread():
    assert ceiling(UniformEvaluator(), 16, 2, 0.1) > 0


@pytest.mark.slow
def test_networks_of_other_games_are_measured(tmp_path):
    path = tmp_path / "four.ckpt"
    save_checkpoint(path, build("mlp", {"hidden": 8, "encoding": "connect4"}))
    small = ["--rounds", "1", "--seconds", "0.2", "--in-flight", "8", "--sims", "8", "--games", "4", "--json"]
    found = json.loads(run("selfplay", "games", "--engine", str(path), *small))["measures"]
    assert {"evaluations/s", "simulations/s", "games/minute"} <= {measure["unit"] for measure in found}
    assert all(measure["least"] > 0 for measure in found)
    result = CliRunner().invoke(command, ["search", "--engine", str(path)])
    assert result.exit_code == 2
    assert "expected a network for checkers to measure search, found" in result.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
def test_a_duration_is_finite_and_above_0(seconds):
    """NaN is below no bound: every measurement was 0, or the program never ended."""
    result = CliRunner().invoke(command, ["rules", "--seconds", seconds])
    assert (result.exit_code, "Invalid value for '--seconds'" in result.stderr) == (2, True)


def test_the_table_has_80_columns(monkeypatch):
    long = "cnn2x2, a backend with a name that nobody would choose, cpu, batches of 1024"
    rates = [12_345_678.0, 1.5, 999_999.0]
    monkeypatch.setattr(
        "ckai.rl.bench.rules.bench_rules",
        lambda rounds: [measured(long, "evaluations/s", rates), measured("x", "ratio", rates, "ideal: 1")],
    )
    lines = run("rules").splitlines()
    assert max(map(len, lines)) == 80
    assert [line.split()[0] for line in lines] == ["evaluations/s", "cnn2x2,", "ratio", "x", "ideal:"]


def test_matches_join_every_backend_at_every_limit():
    pairs = [(str(a), str(b)) for a, b in matches(["torch", "onnx"], [0.2, 0.02, 0.2])]
    assert pairs == [
        ("onnx, 20 ms", "torch, 20 ms"),
        ("torch, 200 ms", "torch, 20 ms"),
        ("onnx, 200 ms", "torch, 200 ms"),
    ]
    assert matches(["torch"], [0.05]) == []
    one = match_seconds(matches(["torch", "onnx"], [0.1]), games=40, threads=2)
    assert match_seconds(matches(["torch", "onnx"], [0.1]), games=80, threads=2) == pytest.approx(2 * one)
    assert match_seconds(matches(["torch", "onnx"], [0.2]), games=40, threads=2) == pytest.approx(2 * one)


def test_a_network_of_integers_plays_as_tree_search_and_as_alpha_beta():
    assert available(build("swift", {"hidden": 8}), ["torch", "integers"]) == ["integers", "alphabeta"]
    assert available(build("mlp", {"hidden": 8}), ["torch", "integers"]) == ["torch"]


def test_strength_needs_two_players():
    result = CliRunner().invoke(
        command, ["search", "--evaluator", "torch", "--limit", "0.01", "--strength", "2"]
    )
    assert result.exit_code == 2
    assert "two backends or two time limits" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("model", "evaluator"), [("mlp", "torch"), ("swift", "auto")])
def test_strength_is_measured_by_limit(model, evaluator):
    arguments = ["search", "--model", model, "--set", "hidden=8", "--evaluator", evaluator, "--rounds", "1"]
    limits = ["--limit", "0.002", "--limit", "0.004", "--seconds", "0.1", "--strength", "2"]
    result = CliRunner().invoke(command, [*arguments, *limits, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    measures = json.loads(result.stdout)["measures"]
    rated = {measure["name"]: measure for measure in measures if measure["unit"] == "Elo"}
    names = ["torch"] if model == "mlp" else ["integers", "alphabeta"]
    assert list(rated) == [f"{name}, {limit} ms" for limit in (2, 4) for name in names]
    assert rated[f"{names[0]}, 2 ms"]["median"] == 0
    for measure in rated.values():
        assert measure["least"] <= measure["median"] <= measure["most"]
        assert measure["rounds"] >= 2
    assert "match 1 of" in result.stderr
