"""Progress in a log: lines of text where standard error is not a terminal, none where it is one."""

import pytest

from ckai.cli.shared import console
from ckai.cli.shared.console import progress_bar
from ckai.cli.shared.output import print_json
from ckai.cli.shared.run_screen import RunScreen
from ckai.models.network import build
from ckai.rl.run.config import RunConfig
from ckai.rl.run.run import Run, RunEvent


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"loss": float("nan"), "of": {"a": (float("inf"), 1.5)}, "name": "x", "n": None})
    assert capsys.readouterr().out == '{"loss": null, "of": {"a": [null, 1.5]}, "name": "x", "n": null}\n'


@pytest.fixture
def always(monkeypatch):
    """Print a line at every update."""
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)


def test_a_progress_bar_in_a_log(always, capsys):
    with progress_bar("reading", "rows") as update:
        update(1200, 4000)
        update(1300, 4000, "epoch 2/8")
    out, lines = capsys.readouterr()
    assert out == ""
    assert lines == "reading: 1,200 of 4,000 rows\nreading: 1,300 of 4,000 rows, epoch 2/8\n"


def test_a_run_in_a_log(always, capsys, tmp_path):
    screen = RunScreen(Run.create(tmp_path, build("mlp", {"hidden": 4}), RunConfig()), 3)
    screen.on_event(RunEvent(2, "selfplay", 150, 1000, {"evaluations_per_second": 9000.0}))
    screen.on_event(RunEvent(2, "learn", 7, 50))
    assert capsys.readouterr() == (
        "",
        "gen 2 playing: 150 of 1,000 9,000 eval/s\ngen 2 training: 7 of 50\n",
    )
