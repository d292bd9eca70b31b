"""Studies: the schedule of successive halving, what is drawn, the scores, and going on after a stop."""

import csv
import json
import math
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckai.models.registry import build
from ckai.rl.games.registry import get_game
from ckai.rl.games.solving import SolvedPosition
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import EVALUATOR
from ckai.rl.tuning import folder as folder_module
from ckai.rl.tuning import scoring
from ckai.rl.tuning.config import StudyConfig
from ckai.rl.tuning.folder import Score, StudyError
from ckai.rl.tuning.halving import Rung, best_first, halving_schedule, total_generations
from ckai.rl.tuning.results import final_order, results
from ckai.rl.tuning.scoring import circle_rounds
from ckai.rl.tuning.space import Range, draw_trials, parse_space, parse_tried, value_text
from ckai.rl.tuning.study import Study

# --- successive halving -------------------------------------------------------------------------------


def test_nine_trials_are_three_and_then_one():
    schedule = halving_schedule(9, 2, 3)
    assert schedule == [Rung(1, 9, 2, 3), Rung(2, 3, 6, 1)]
    assert total_generations(schedule) == 9 * 2 + 3 * 4
    assert [(r.trials, r.generations) for r in halving_schedule(81, 1, 3)] == [
        (81, 1),
        (27, 3),
        (9, 9),
        (3, 27),
    ]
    assert halving_schedule(9, 2, 3, rungs=1) == [Rung(1, 9, 2, 3)]
    assert halving_schedule(2, 5, 4) == [Rung(1, 2, 5, 1)]


@given(st.integers(2, 300), st.integers(1, 5), st.integers(2, 5), st.randoms())
def test_the_schedule_is_that_of_hyperband(trials, generations, eta, random):
    """A bracket of Hyperband in its own words, played with merits that do not change."""
    merits = {n: random.random() for n in range(trials)}
    alive, trained, done = list(merits), 0, []
    for i in range(20):
        if len(alive) < 2:
            break
        n_i, r_i = math.floor(trials / eta**i), generations * eta**i
        assert len(alive) == max(1, n_i)
        trained += sum(r_i - (done[-1] if done else 0) for _ in alive)
        done.append(r_i)
        top = sorted(alive, key=lambda n: merits[n], reverse=True)
        alive = top[: max(1, math.floor(n_i / eta))]
    schedule = halving_schedule(trials, generations, eta)
    assert [rung.generations for rung in schedule] == done
    assert total_generations(schedule) == trained
    left = list(merits)
    for rung in schedule:
        assert len(left) == rung.trials
        left = best_first({n: merits[n] for n in left})[: rung.kept]
    assert left == alive == [max(merits, key=merits.get)]


def test_of_equals_the_first_trial_is_the_best():
    assert best_first({3: 1.0, 1: 1.0, 2: 5.0, 0: -1.0}) == [2, 1, 3, 0]


@given(st.integers(2, 12), st.integers(1, 20))
def test_every_trial_meets_the_others_in_turn(players, pairs):
    rounds = circle_rounds(players, 2 * pairs)
    met = {n: [] for n in range(players)}
    for tables in rounds:
        seated = [player for pair in tables for player in pair]
        assert len(seated) == len(set(seated)) == players - players % 2
        for a, b in tables:
            assert a < b
            met[a].append(b)
            met[b].append(a)
    counts = [len(others) for others in met.values()]
    assert min(counts) == pairs
    assert max(counts) <= pairs + 1
    turn = players - 1 + players % 2
    if len(rounds) >= turn:
        whole = [pair for tables in rounds[:turn] for pair in tables]
        assert sorted(whole) == [(a, b) for a in range(players) for b in range(a + 1, players)]


# --- what is drawn ------------------------------------------------------------------------------------


@given(st.data(), st.floats(1e-9, 1e6), st.floats(1e-3, 1e6), st.booleans(), st.integers(0, 2**32))
def test_real_numbers_are_drawn_within_their_range(data, low, width, log, seed):
    drawn = Range(low, low + width, log, 0).draw(np.random.default_rng(seed))
    assert low <= drawn <= low + width
    assert isinstance(drawn, float)


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 4), st.booleans(), st.integers(0, 2**32))
def test_whole_numbers_are_drawn_within_their_range(low, width, step, log, seed):
    values = Range(step * low, step * (low + width), log, step)
    drawn = values.draw(np.random.default_rng(seed))
    assert drawn in values
    assert drawn % step == 0
    assert isinstance(drawn, int)
    assert values.size == width + 1


def test_draws_are_spread_as_the_range_says():
    rng = np.random.default_rng(1)
    for text, quantiles in (
        ("learn.lr=1e-4..1e-2:log", (10**-3.5, 1e-3, 10**-2.5)),
        ("learn.lr=1e-4..1e-2", (0.002575, 0.00505, 0.007525)),
        ("learn.window=1..9", (3, 5, 7)),
    ):
        values = parse_tried(text).values
        draws = [values.draw(rng) for _ in range(2000)]
        assert np.quantile(draws, (0.25, 0.5, 0.75)) == pytest.approx(quantiles, rel=0.15)
    # The ends of whole numbers come as often as the others, and few digits are needed.
    values = parse_tried("learn.epochs=1..3").values
    draws = [values.draw(rng) for _ in range(3000)]
    assert [draws.count(n) / 1000 for n in (1, 2, 3)] == pytest.approx([1, 1, 1], abs=0.12)
    values = parse_tried("learn.q_weight=0..1").values
    assert all(len(value_text(values.draw(rng))) <= 5 for _ in range(99))


@pytest.mark.parametrize(
    "text",
    [
        "learn.lr=0.0001..0.01:log",
        "learn.q_weight=0.0..1.0",
        "gate.games=0..100",
        "learn.window=2,4,8",
        "selfplay.root_rule=puct,gumbel",
        "learn.symmetries=true,false",
        "learn.q_first=null,0.0",
    ],
)
def test_what_is_tried_is_written_as_it_is_read(text):
    assert str(parse_tried(text)) == text
    drawn = parse_tried(text).values.draw(np.random.default_rng(0))
    assert RunConfig.defaults_for("go").changed([f"{text.partition('=')[0]}={value_text(drawn)}"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learn.lr", "expected a setting with values to try, such as"),
        ("lern.lr=1..2", "unknown setting lern; did you mean learn?"),
        ("learn.windw=1..2", "unknown setting learn.windw; did you mean learn.window?"),
        ("learn=1,2", "expected a setting such as"),
        ("game=go,checkers", "found game: a study is of one game"),
        ("learn.lr=0..1", "expected learn.lr > 0, found 0"),
        ("learn.ema=0..1", "expected learn.ema in [0, 1), found 1"),
        ("gate.games=1..7", "expected gate.games >= 0 and even, found 1"),
        ("learn.lr=1e-4..1e-2:lgo", "expected a number for learn.lr, found '1e-2:lgo'"),
        ("learn.q_weight=0..1:log", "expected a range of learn.q_weight above 0 with :log"),
        ("learn.window=8..2", "expected a range of learn.window from low to high, found"),
        ("learn.window=8", "expected two values or more, all different, or a range, such as"),
        ("learn.window=8,8", "expected two values or more, all different"),
        ("learn.window=2,0", "expected learn.window >= 1, found 0"),
        ("learn.window=2.5,4", "expected an integer for learn.window, found 2.5"),
        ("selfplay.root_rule=puct..gumbel", "expected values of selfplay.root_rule with commas"),
        ("selfplay.root_rule=puct,gumble", "puct, forced or gumbel, found 'gumble'"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_one_line(text, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        parse_tried(text)
    assert message in str(error.value)


def test_nothing_or_a_setting_twice_is_refused():
    with pytest.raises(ValueError, match="give --try"):
        parse_space([])
    with pytest.raises(ValueError, match=r"found learn\.lr twice"):
        parse_space(["learn.lr=1..2", "learn.lr=3..4"])


def test_the_defaults_come_first_and_no_trial_twice():
    space = parse_space(["learn.window=2,4,8", "learn.symmetries=true,false"])
    base = RunConfig.defaults_for("go")
    trials = draw_trials(space, base, 6, seed=3)
    assert trials[0] == {"learn.window": 4, "learn.symmetries": True}
    assert len({tuple(trial.values()) for trial in trials}) == 6
    assert draw_trials(space, base, 4, seed=3) == trials[:4]
    with pytest.raises(ValueError, match="expected at most 6 trials, as many as can differ, found 7"):
        draw_trials(space, base, 7, seed=3)
    # The defaults are none of the values: one more.
    assert len(draw_trials(parse_space(["learn.window=3,5"]), base, 3, seed=0)) == 3
    # Floats beside each other, of which no range has more.
    narrow = parse_space([f"learn.lr=0.5..{np.nextafter(0.5, 1)}"])
    assert len(draw_trials(narrow, base, 3, seed=0)) == 3
    with pytest.raises(ValueError, match=r"expected 5 trials that differ, found 3 in 500 draws; give"):
        draw_trials(narrow, base, 5, seed=0)


def test_values_that_do_not_go_together_are_refused():
    base = RunConfig()
    with pytest.raises(ValueError, match=r"^trial \d \(selfplay\.tables=1\): expected tables of 2 to 6"):
        draw_trials(parse_space(["selfplay.tables=0..2"]), base, 4, seed=0)


# --- studies ------------------------------------------------------------------------------------------

BASE = RunConfig.from_dict(
    {
        **RunConfig.defaults_for("tictactoe").to_dict(),
        "games": 6,
        "selfplay": {"sims": 4, "in_flight": 3, "groups": 2, "tables": 0},
        "learn": {"epochs": 1, "batch_size": 32},
        "gate": {"games": 0},
    }
)
TRIED = ("learn.lr=1e-4..1e-1:log", "learn.window=1,2")
SMALL = StudyConfig(trials=4, generations=1, eta=2, match_games=4)


class Quiet:
    """Follows a study without a word; raises Ctrl-C at the event of a number, counted from 0."""

    def __init__(self, stop_at=None):
        self.stop_at, self.events, self.warnings, self.rungs = stop_at, 0, [], []

    def step(self, *event):
        self.events += 1
        if self.events - 1 == self.stop_at:
            raise KeyboardInterrupt

    @contextmanager
    def training(self, rung, trial, run):
        self.step()
        yield self.on_event

    def on_event(self, event):
        if event.stage == "done":  # the others come as often as threads find time
            self.step()

    @contextmanager
    def scoring(self, rung):
        self.step()
        yield self.step

    def scored(self, rung, scores):
        self.rungs.append((rung.number, set(scores)))
        self.step()

    def warn(self, text):
        self.warnings.append(text)


def new_study(path, config=SMALL, tried=TRIED, base=BASE):
    import torch

    torch.manual_seed(0)
    network = build("mlp", {"encoding": get_game(base.game).encoding, "hidden": 8})
    return Study.create(path, network, base, config, parse_space(tried))


def lasting(study):
    """What a study has found, without the times."""
    return [(r.trial, r.rung, r.generations, r.score, r.kept) for r in results(study)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = new_study(tmp_path_factory.mktemp("studies") / "whole")
    study.go(Quiet())
    return study


def test_a_study_trains_scores_and_halves(finished):
    study = finished
    found = results(study)
    assert [(r.rung, r.generations) for r in found] == [(1, 1)] * 4 + [(2, 2)] * 2
    first, second = study.schedule
    scores = study.scores(first)
    kept = study.ranked(scores)[:2]
    assert {r.trial for r in found if r.rung == 2} == set(kept)
    assert [study.run(n).generations for n in range(4)] == [2 if n in kept else 1 for n in range(4)]
    assert study.best == study.ranked(study.scores(second))[0]
    assert sum(score.value for score in scores.values()) == pytest.approx(0, abs=1e-6)
    assert all(score.low <= score.value <= score.high for score in scores.values())
    assert final_order(study, found)[0].trial == study.best
    assert [r.rung for r in final_order(study, found)] == [2, 2, 1, 1]
    for n, values in enumerate(study.trials):
        config = study.run(n).config
        assert (config.learn.lr, config.learn.window) == tuple(values.values())
        first_network = study.run(n).path(0, "network.ckpt").read_bytes()
        assert first_network == study.run(0).path(0, "network.ckpt").read_bytes()
    assert study.run(0).config == BASE


def test_the_files_of_a_study_say_the_same(finished):
    with (finished.folder / "tune.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["trial"]) for row in rows] == [r.trial for r in results(finished)]
    assert rows[0]["learn.lr"] == "0.0005"
    assert rows[0]["kept"] in ("true", "false")
    data = json.loads((finished.folder / "tune.json").read_text())
    assert data["best"] == finished.best
    assert data["tried"] == ["learn.lr=0.0001..0.1:log", "learn.window=1,2"]
    assert [len(trial["rungs"]) for trial in data["trials"]].count(2) == 2
    again = Study.open(finished.folder)
    assert (again.space, again.trials, again.config) == (finished.space, finished.trials, finished.config)
    quiet = Quiet()
    again.go(quiet)
    assert quiet.events == 0  # nothing is done again
    assert not list(finished.folder.parent.glob(".*.tmp"))


@pytest.mark.slow
def test_a_study_that_is_stopped_anywhere_finds_the_same(tmp_path, finished, monkeypatch):
    monkeypatch.setattr("ckai.rl.loop.saved_games.SAVE_SECONDS", 0.0)
    new_study(tmp_path / "s")
    for stop_at in (0, 1, 2, 4, 3, 5, 2, 1):
        with suppress(KeyboardInterrupt):
            Study.open(tmp_path / "s").go(Quiet(stop_at))
    study = Study.open(tmp_path / "s")
    study.go(Quiet())
    assert lasting(study) == lasting(finished)


def test_a_stopped_study_goes_on_where_it_was(tmp_path, monkeypatch):
    study = new_study(tmp_path / "s", StudyConfig(trials=2, generations=1, match_games=6))
    with pytest.raises(KeyboardInterrupt):
        study.go(Quiet(stop_at=3))  # after the generation of the second trial is done
    found = results(study)
    assert [(r.trial, r.score, r.kept) for r in found] == [(0, None, None), (1, None, None)]
    assert study.best is None
    before = study.run(0).path(1, "done.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        study.go(Quiet(stop_at=2))  # after the first game of the match
    match = study.rung_folder(study.schedule[0]) / "000-001.json"
    played = json.loads(match.read_text())
    assert 1 <= len(played) < 6
    study.go(Quiet())
    assert study.run(0).path(1, "done.json").read_bytes() == before
    games = json.loads(match.read_text())
    assert games[: len(played)] == played
    assert sorted((game["pair"], game["a_black"]) for game in games) == [
        (pair, black) for pair in range(3) for black in (False, True)
    ]
    assert study.best == study.ranked(study.scores(study.schedule[0]))[0]


def test_the_backend_is_chosen_once(tmp_path):
    study = new_study(tmp_path / "s", StudyConfig(trials=2, generations=1, match_games=2))
    record = json.dumps({"backend": "torch", "rate": 1.0})
    (study.trial_folder(0) / EVALUATOR).write_text(record)
    study.go(Quiet(), "fastest")
    assert (study.trial_folder(1) / EVALUATOR).read_text() == record


def test_damaged_games_are_reported_and_played_again(tmp_path):
    study = new_study(tmp_path / "s", StudyConfig(trials=2, generations=1, match_games=2))
    games = study.rung_folder(study.schedule[0]) / "000-001.json"
    games.parent.mkdir(parents=True)
    games.write_text("[{")
    quiet = Quiet()
    study.go(quiet)
    assert len(quiet.warnings) == 1
    assert "000-001.json: damaged" in quiet.warnings[0]
    assert len(json.loads(games.read_text())) == 2


def test_damaged_files_are_named(tmp_path, finished):
    study = new_study(tmp_path / "s")
    with pytest.raises(StudyError, match=r"expected a study with a study\.json, found none"):
        Study.open(tmp_path)
    scores = study.rung_folder(study.schedule[0]) / "scores.json"
    scores.parent.mkdir(parents=True)
    scores.write_text("{")
    with pytest.raises(StudyError, match=r"scores\.json: expected the scores .* delete it to continue"):
        study.go(Quiet())
    (study.folder / "study.json").write_text('{"settings": {"eta": 1}}')
    with pytest.raises(StudyError, match="expected eta >= 2, found 1"):
        Study.open(study.folder)


def test_one_process_at_a_time(finished):
    with finished.lock(), pytest.raises(StudyError, match="no other process at work on this study"):
        finished.go(Quiet())


def test_a_study_takes_the_place_of_another_only_if_told(tmp_path):
    space, config = parse_space(["learn.window=1,2"]), StudyConfig(trials=2)
    new_study(tmp_path / "s", config)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    network = build("mlp", {"encoding": get_game("tictactoe").encoding, "hidden": 8})
    for path, replace in ((tmp_path / "s", False), (tmp_path / "other", False), (tmp_path / "other", True)):
        with pytest.raises(StudyError, match="expected a new or empty folder"):
            Study.create(path, network, BASE, config, space, replace=replace)
    Study.create(tmp_path / "s", network, BASE, config, space, replace=True)
    (tmp_path / "other" / "notes.txt").unlink()
    Study.create(tmp_path / "other", network, BASE, config, space)  # an empty folder is as good as none
    assert Study.open(tmp_path / "s").space == space
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "s"]


def test_a_study_that_cannot_begin_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="expected a game with classes of solved positions"):
        new_study(tmp_path / "s", StudyConfig(trials=2, score="mistakes"))
    with pytest.raises(ValueError, match="expected a checkpoint"):
        new_study(tmp_path / "s", StudyConfig(trials=2, against="nobody@3"))
    with pytest.raises(ValueError, match="expected an opponent with score elo only"):
        StudyConfig(score="mistakes", against="random")
    assert not list(tmp_path.iterdir())


def test_trials_may_be_scored_against_one_opponent(tmp_path):
    config = StudyConfig(trials=2, generations=1, match_games=4, against="random")
    study = new_study(tmp_path / "s", config)
    study.go(Quiet())
    rung = study.schedule[0]
    for trial, score in study.scores(rung).items():
        games = json.loads((study.rung_folder(rung) / f"{trial:03d}.json").read_text())
        assert len(games) == 4
        assert score.low <= score.value <= score.high


def test_trials_may_be_scored_by_their_mistakes(tmp_path, monkeypatch):
    spec = get_game("tictactoe")
    solver, position, solved = spec.solver(), spec.position(), []
    for _ in range(5):
        moves = solver.moves(position)
        solved.append(SolvedPosition(position, moves))
        position = position.push(next(iter(moves)))
    for module in (folder_module, scoring):
        monkeypatch.setattr(module, "solved_classes", lambda spec: {"a": solved[:2], "b": solved[2:]})
    study = new_study(tmp_path / "s", StudyConfig(trials=2, generations=1, score="mistakes"))
    study.go(Quiet())
    scores = study.scores(study.schedule[0])
    counted = [json.loads((study.folder / f"rungs/1/00{n}.json").read_text()) for n in (0, 1)]
    assert [each["positions"] for each in counted] == [5, 5]
    assert [score.value for score in scores.values()] == [each["mistakes"] / 5 for each in counted]
    assert study.ranked({0: Score(0.5, 0, 1), 1: Score(0.2, 0, 1)}) == [1, 0]


@pytest.mark.draws
def test_the_plot_has_a_panel_for_each_setting(tmp_path, finished, monkeypatch):
    from matplotlib.figure import Figure

    from ckai.rl.tuning import plots

    drawn = []
    monkeypatch.setattr(plots, "save_figure", lambda path, figure, dpi: drawn.append(figure))
    tried = (
        "learn.ema=0.1..0.9:log",
        "learn.window=2,8",
        "learn.q_first=0..1",
        "learn.positions=all,distinct",
    )
    study = new_study(tmp_path / "s", StudyConfig(trials=3), tried)
    plots.plot_study(tmp_path / "x.png", study, [(n, 1, Score(n, n - 1, n + 1)) for n in range(3)])
    (figure,) = drawn
    assert isinstance(figure, Figure)
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_xlabel() for panel in panels] == [tried.name for tried in study.space]
    assert panels[0].get_xscale() == "symlog"  # the default is 0
    assert [tick.get_text() for tick in panels[1].get_xticklabels()] == ["2", "4", "8"]
    assert [len(panel.containers) for panel in panels] == [3, 3, 2, 3]  # no number: no place on a range
