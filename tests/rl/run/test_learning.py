"""The training of a generation, the gate, and the screen of a run."""

import csv
import json
import re
from dataclasses import replace
from unittest.mock import Mock

import click
import numpy as np
import pytest
import torch
from make_rows import random_games, with_search, write

from ckai.cli import selfplay
from ckai.cli.shared.run_screen import estimate_text, generation_text
from ckai.datasets.data_module import RowsDataModule
from ckai.game import Game, Outcome, Reason
from ckai.models.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.network import build
from ckai.models.training.trainer import TrainingError
from ckai.rl.bench import estimate
from ckai.rl.engine.tree import by_visits
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.matches.elo import score_of
from ckai.rl.matches.match import MatchGame, MatchResult
from ckai.rl.run import generation as gate_module
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.dashboard import elo_curve
from ckai.rl.run.generation import learn, play_gate_match
from ckai.rl.run.run import Run
from ckai.rl.run.runs import find_selfplay
from ckai.rl.selfplay.config import SelfPlayConfig, StartConfig


def test_a_window_that_grows():
    settings = LearnConfig(window=2, window_growth=0.5)
    assert [settings.window_of(n) for n in (1, 3, 9)] == [2, 3, 6]


def learned(folder, **settings):
    """Weights after learning one generation of 8 random games."""
    folder.mkdir()
    torch.manual_seed(0)
    save_checkpoint(folder / "old.ckpt", build("cnn2x2", {"channels": 2, "hidden": 4}))
    rows = with_search(random_games(8))
    learn(
        folder / "old.ckpt", [write(folder / "rows.parquet", rows)], folder / "new.ckpt",
        LearnConfig(**({"batch_size": 32, "lr": 0.01} | settings)),
        generation=1, seed=1, game="checkers", run="r", progress=lambda *_, **__: None,
    )  # fmt: skip
    return load_checkpoint(folder / "new.ckpt").network().state_dict()


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 1}, {"batch_size": 64}, {"lr": 0.001}, {"weight_decay": 0.9}, {"value_weight": 3.0},
        {"q_weight": 0.1},
        {"q_first": 0.1},
    ],
    ids=str,
)  # fmt: skip
def test_every_training_setting_changes_the_weights(tmp_path, by_default, settings):
    other = learned(tmp_path / "other", **settings)
    assert any(not torch.equal(by_default[name], other[name]) for name in by_default)


@pytest.fixture(scope="module")
def by_default(tmp_path_factory):
    return learned(tmp_path_factory.mktemp("learned") / "default")


def test_the_advice_after_a_loss_that_is_no_number_can_be_followed(tmp_path):
    with pytest.raises(TrainingError, match="begin another with a lower --lr") as error:
        learned(tmp_path / "high", lr=1e38)
    assert sorted(path.name for path in (tmp_path / "high").iterdir()) == ["old.ckpt", "rows.parquet"]
    with click.Context(selfplay.command) as context:
        named = {name for each in selfplay.command.get_params(context) for name in each.opts}
    assert named >= set(re.findall(r"--\S+", str(error.value)))
    assert all(weights.isfinite().all() for weights in learned(tmp_path / "low", lr=1e-4).values())


def test_a_window_none_of_whose_games_is_held_out_is_learned(tmp_path):
    """Which games are held out a hash of their moves says, and in a small window it may be none."""
    torch.manual_seed(0)
    path = write(tmp_path / "rows.parquet", with_search(random_games(2)))
    split = lambda seed: RowsDataModule([path], heldout=0.05, split_seed=seed, need_both_sides=False)  # noqa: E731
    seed = next(seed for seed in range(9) if not split(seed).heldout_rows)
    network, info = build("cnn2x2", {"channels": 2, "hidden": 4}), {"split": {"seed": seed, "heldout": 0.1}}
    save_checkpoint(tmp_path / "old.ckpt", network, info=info)
    measured = learn(
        tmp_path / "old.ckpt", [path], tmp_path / "new.ckpt", LearnConfig(batch_size=32),
        generation=1, seed=1, game="checkers", run="r", progress=lambda *_, **__: None,
    )  # fmt: skip
    assert measured["heldout_rows"] == 0
    assert measured["train_policy_loss"] > 0
    assert not any("heldout" in name for name in measured if name != "heldout_rows")


def test_learning_twice_is_the_same(tmp_path):
    once, again = learned(tmp_path / "once"), learned(tmp_path / "again")
    assert all(torch.equal(once[name], again[name]) for name in once)


class Slanted(UniformEvaluator):
    """Values material, or the opposite with sign -1."""

    def __init__(self, sign):
        super().__init__()
        self.sign = sign

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values[:] = self.sign * boards[:, :32].sum(axis=1) / 40
        return logits, values


@pytest.mark.parametrize(
    ("rule", "sign", "accepted"),
    [
        ("score", 1, True),
        ("sprt", -1, False),
        pytest.param("score", -1, False, marks=pytest.mark.slow),
        pytest.param("sprt", 1, True, marks=pytest.mark.slow),
        pytest.param("none", -1, True, marks=pytest.mark.slow),
    ],
)
def test_gate_rules(rule, sign, accepted, tmp_path):
    good, bad = by_visits(Slanted(1), 8), by_visits(Slanted(-1), 8)
    new, old = (good, bad) if sign > 0 else (bad, good)
    events = []
    gate = GateConfig(games=24 if rule == "score" else 40, rule=rule)
    result = play_gate_match(
        new, old, gate, tmp_path / "match.pdn", names=("new", "old"),
        seed=0, max_plies=120, progress=lambda done, total: events.append((done, total)),
    )  # fmt: skip
    assert result["accepted"] is accepted
    assert result["wins"] + result["draws"] + result["losses"] == result["games"]
    assert result["games"] == gate.games or rule == "sprt"
    assert ("second" in result) == (accepted and rule != "none")
    assert result.get("second", result)["games"] == result["games"]
    assert (tmp_path / "match.pdn").read_text().count("[Event ") == len(events)
    low, high = result["interval"]
    assert (result["elo"] > 0) == (sign > 0)
    assert (-1200 if low is None else low) < result["elo"] < (1200 if high is None else high)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "gain"), [("score", 0), ("sprt", 100)])
def test_the_curve_climbs_by_progress_and_not_by_luck(rule, gain, tmp_path, monkeypatch):
    """Candidates are better than their predecessors by `gain` Elo; a gate accepts the lucky ones."""
    rng, game, score = np.random.default_rng(1), Game(), score_of(gain)

    def play(new, old, openings, *, pairs, **rest):
        games = []
        for pair in pairs:
            for a_black in (True, False):
                won = rng.choice([True, None, False], p=[score - 0.125, 0.25, 0.875 - score])
                winner = None if won is None else "black" if won == a_black else "white"
                games.append(MatchGame(pair, a_black, game, Outcome(winner, Reason.RESIGNED, "")))
        return MatchResult(games)

    monkeypatch.setattr(gate_module, "play_match", play)
    monkeypatch.setattr(gate_module, "match_pdn", lambda *arguments: "")
    monkeypatch.setattr(gate_module, "draw_openings", lambda *arguments: [])
    player, errors = by_visits(UniformEvaluator(), 2), []
    for _ in range(40):
        history = []
        for _ in range(20):
            found = play_gate_match(
                player, player, GateConfig(games=20, rule=rule, elo1=60), tmp_path / "match.pdn",
                names=("new", "old"), seed=0, max_plies=60, progress=lambda *_: None,
            )  # fmt: skip
            history.append({"accepted": found["accepted"], "match": found})
        accepted = sum(measured["accepted"] for measured in history)
        errors.append(elo_curve(history)[-1] - gain * accepted)
    error = np.std(errors) / np.sqrt(len(errors))
    # The prior pair shrinks the differences of these short matches by a tenth.
    assert abs(np.mean(errors)) < 2.6 * error + gain * accepted / 10


@pytest.mark.parametrize(("threshold", "accepted"), [(0.5, True), (0.51, False)])
def test_a_score_at_the_threshold_is_accepted(tmp_path, monkeypatch, threshold, accepted):
    def play(a, b, openings, *, on_game, **rest):
        """One game won and one lost."""
        won = Outcome("black", Reason.RESIGNED, "")
        games = [MatchGame(0, a_black, Game(openings[0]), won) for a_black in (True, False)]
        for game in games:
            on_game(game)
        return MatchResult(games)

    monkeypatch.setattr(gate_module, "play_match", play)
    player = by_visits(UniformEvaluator(), 2)
    gate = GateConfig(games=2, rule="score", threshold=threshold)
    result = play_gate_match(
        player, player, gate, tmp_path / "match.pdn", names=("new", "old"),
        seed=0, max_plies=60, progress=lambda *_: None,
    )  # fmt: skip
    assert (result["score"], result["accepted"]) == (0.5, accepted)


@pytest.mark.slow
def test_sprt_ends_the_gate_match_early_and_it_is_not_played_on(tmp_path):
    gate = GateConfig(games=400, rule="sprt", elo1=100)
    good, bad = by_visits(Slanted(1), 10), by_visits(Slanted(-1), 10)

    def result(a, b):
        return play_gate_match(
            a, b, gate, tmp_path / "match.pdn", names=("new", "old"),
            seed=0, max_plies=60, progress=lambda *_: None,
        )  # fmt: skip

    first = result(good, bad)
    assert first["accepted"]
    assert first["games"] < 400
    assert (tmp_path / "match.pdn").exists()
    again = result(Mock(), Mock())  # which cannot play
    assert {**again, "seconds": 0} == {**first, "seconds": 0}


@pytest.mark.slow
def test_a_run_with_many_options(tmp_path, ckai, monkeypatch):
    network = tmp_path / "network.ckpt"
    save_checkpoint(network, build("cnn2x2", {"channels": 2, "hidden": 4}))
    config = RunConfig(
        games=4,
        start=StartConfig(opening_share=1.0),
        selfplay=SelfPlayConfig(sims=6, in_flight=4, groups=1, max_plies=60),
        learn=LearnConfig(window=2, epochs=1, q_first=0.0, q_ramp=2),
        gate=GateConfig(games=2, rule="none"),
    )
    run = Run.create(tmp_path / "run", network, config)
    run.go(3, lambda event: None)
    history = run.history()
    assert all(measured["accepted"] for measured in history)
    assert history[2]["learn"]["rows"] < sum(measured["selfplay"]["rows"] for measured in history)
    curve = elo_curve(history)
    assert curve[-1] == pytest.approx(sum(measured["match"]["elo"] for measured in history))
    with (run.folder / "metrics.csv").open() as file:
        assert [float(row["elo"]) for row in csv.DictReader(file)] == pytest.approx(curve, abs=0.06)
    assert "generation 3: 4 games" in generation_text(history[2])
    # Beside others.
    Run.create(tmp_path / "other", network, RunConfig())
    (tmp_path / "no run").mkdir()
    (tmp_path / "no run" / "config.json").write_text("{}")
    other, this = find_selfplay(tmp_path)
    assert [other[name] for name in ("changed", "generations", "elo", "last")] == [{}, 0, None, {}]
    assert [this[name] for name in ("generations", "accepted", "games")] == [3, 3, 12]
    assert "selfplay.tables" not in this["changed"]
    assert this["elo"] == pytest.approx(sum(measured["match"]["elo"] for measured in history))
    status, out, _ = ckai("runs", tmp_path)
    assert status == 0
    assert "other" in out
    assert out.splitlines()[0].split()[-5:] == ["drawn", "policy", "value", "Elo", "min"]
    assert len(json.loads(ckai("runs", tmp_path, "--json")[1])["selfplay"]) == 2


def test_games_without_a_result_are_shown():
    measured = {
        "generation": 1,
        "accepted": True,
        "selfplay": {"games": 9, "seconds": 1.0, "black_won": 3, "drawn": 2, "white_won": 1, "unknown": 3},
        "learn": {"train_policy_loss": 1.0, "train_value_loss": 1.0},
        "match": {"games": 0},
    }
    assert "(Black won 3, drawn 2, White won 1, stopped 3)" in generation_text(measured)
    measured["selfplay"]["unknown"] = 0
    assert "(Black won 3, drawn 2, White won 1)" in generation_text(measured)


def test_runs_of_another_game_differ_from_its_own_defaults(tmp_path):
    network = build("mlp", {"encoding": "connect4", "hidden": 8})
    Run.create(tmp_path / "run", network, RunConfig.defaults_for("connect4").changed(["games=7"]))
    (found,) = find_selfplay(tmp_path)
    assert found["changed"] == {"game": "connect4", "games": 7}


def test_estimate_of_a_generation():
    config = RunConfig(games=1000, gate=GateConfig(games=0))
    assert round(estimate(config, 100_000, 5_000_000)["seconds"]) == 76
    match = replace(config, gate=GateConfig(games=10))
    assert round(estimate(match, 100_000, 5_000_000)["seconds"]) == 77
    more = replace(config, games=10_000)
    assert "about 13 minutes" in estimate_text(estimate(more, 100_000, 5_000_000))


def test_a_state_that_does_not_fit_is_named(tmp_path):
    network = build("cnn2x2", {"channels": 2, "hidden": 4})
    save_checkpoint(tmp_path / "old.ckpt", network)
    save_checkpoint(tmp_path / "training.ckpt", network)  # of something else
    path = write(tmp_path / "rows.parquet", with_search(random_games(8)))
    with pytest.raises(CheckpointError, match=r"training\.ckpt: .*found another .*; delete it to begin"):
        learn(
            tmp_path / "old.ckpt", [path], tmp_path / "new.ckpt", LearnConfig(batch_size=32),
            generation=1, seed=1, game="checkers", run="r", progress=lambda *_, **__: None,
        )  # fmt: skip
