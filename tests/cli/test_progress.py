"""Progress in a log: lines of text where standard error is not a terminal, none where it is one."""

import io

import pytest
from rich.console import Console

from ckai.cli.shared import output
from ckai.cli.shared.output import ProgressLines, print_json, progress_bar
from ckai.cli.shared.run_screen import RunScreen
from ckai.models.registry import build
from ckai.rl.run.config import RunConfig
from ckai.rl.run.events import RunEvent
from ckai.rl.run.run import Run


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"loss": float("nan"), "of": {"a": (float("inf"), 1.5)}, "name": "x", "n": None})
    assert capsys.readouterr().out == '{"loss": null, "of": {"a": [null, 1.5]}, "name": "x", "n": null}\n'


@pytest.fixture
def always(monkeypatch):
    """Print a line at every update."""
    monkeypatch.setattr(output, "LINE_SECONDS", 0.0)


def lines_of(updates, terminal=False):
    """Lines for updates (seconds, amount done) of 100."""
    file, times = io.StringIO(), iter([seconds for seconds, _ in updates])
    lines = ProgressLines(Console(file=file, force_terminal=terminal), clock=lambda: next(times))
    for _, done in updates:
        lines.update(done, 100, f"{done} of 100")
    return file.getvalue().splitlines()


def test_a_line_a_minute_with_the_time_left():
    assert lines_of([(0, 0), (59, 10), (61, 20), (100, 30), (121, 50)]) == [
        "20 of 100, about 4 minutes left",
        "50 of 100, about 2 minutes left",
    ]


def test_work_done_before_counts_for_no_rate():
    assert lines_of([(1000, 80), (1060, 90)]) == ["90 of 100, about 60 s left"]


def test_no_estimate_without_progress_or_at_the_end():
    assert lines_of([(0, 0), (60, 0), (120, 100)]) == ["0 of 100", "100 of 100"]


def test_a_terminal_has_a_bar_instead():
    assert lines_of([(0, 0), (60, 50)], terminal=True) == []


def test_a_progress_bar_in_a_log(always, capsys):
    with progress_bar("reading", "rows") as update:
        update(1200, 4000)
        update(1300, 4000, "epoch 2/8")
    out, lines = capsys.readouterr()
    assert out == ""
    assert lines.startswith("reading: 1,200 of 4,000 rows\nreading: 1,300 of 4,000 rows, epoch 2/8, about ")


def test_a_run_in_a_log(always, capsys, tmp_path):
    screen = RunScreen(Run.create(tmp_path, build("mlp", {"hidden": 4}), RunConfig()), 3)
    screen.on_event(RunEvent(2, "selfplay", 150, 1000, {"evaluations_per_second": 9000.0}))
    screen.on_event(RunEvent(2, "learn", 7, 50))
    assert capsys.readouterr() == (
        "",
        "generation 2, playing: 150 of 1,000, 9,000 eval/s\ngeneration 2, training: 7 of 50\n",
    )


def test_a_match_in_a_log(always, ckai):
    status, _, error = ckai("match", "random", "random", "--games", 2, "--max-plies", 4)
    assert status == 0
    assert error.splitlines()[-2:] == ["playing: 1 of 2 games, +0 =0 -0", "playing: 2 of 2 games, +0 =2 -0"]
