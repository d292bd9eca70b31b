"""Options made from settings: names, help, errors; the page of all settings."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ckai.cli.shared.options import given_settings, settings_options
from ckai.datasets.settings import all_settings
from ckai.models.training.config import PretrainConfig
from ckai.rl.run.config import RunConfig

ROOT = Path(__file__).parents[2]
CLASSES = (RunConfig, PretrainConfig)


def given(cls, *words):
    """What a command with the options of a class takes, or the error it shows."""
    seen = {}

    @click.command
    @settings_options(cls)
    @click.pass_context
    def command(ctx):
        seen.update(given_settings(ctx))

    result = CliRunner().invoke(command, [str(word) for word in words])
    return seen if result.exit_code == 0 else (result.exit_code, result.output)


def test_only_what_is_given_is_given():
    assert given(RunConfig) == {}
    assert given(PretrainConfig) == {}
    words = ("--sims", 100, "--lr", 1, "--gate", "sprt", "--games", "7", "--setting", "overlap=true")
    words += ("--setting", "pool.share=0.5")
    assert given(RunConfig, *words) == {
        "selfplay.sims": 100, "learn.lr": 1.0, "gate.rule": "sprt", "overlap": True, "pool.share": 0.5,
        "games": 7,
    }  # fmt: skip
    words = ("--data-weight", 2, "--data-weight", 0.5, "--setting", "train.loss.mask_illegal=true")
    assert given(PretrainConfig, *words) == {
        "weights": (2.0, 0.5), "train.loss.mask_illegal": True
    }  # fmt: skip


def selfplay():
    return importlib.import_module("ckai.cli.selfplay").command


@pytest.mark.parametrize(
    ("cls", "words", "message"),
    [
        (RunConfig, ("--lr", -1), "Invalid value for '--lr': lr: expected greater than 0, found -1"),
        (RunConfig, ("--lr", "nan"), "lr: expected a finite number, found nan"),
        (RunConfig, ("--sims", 0), "sims: expected greater than or equal to 1, found 0"),
        (RunConfig, ("--sims", 8.5), "sims: expected a valid integer, found 8.5"),
        (RunConfig, ("--gate-games", 3), "games: expected a multiple of 2, found 3"),
        (PretrainConfig, ("--setting", "heldout=1"), "heldout: expected less than 1, found 1"),
        (RunConfig, ("--gate", "16"), "'--gate': '16' is not one of"),
        (RunConfig, ("--setting", "lr=16"), "unknown setting lr"),
    ],
)
def test_a_wrong_value_is_wrong_usage(cls, words, message):
    code, output = given(cls, *words)
    assert code == 2
    assert message in " ".join(output.split())


@pytest.mark.parametrize("name", ["pretrain", "selfplay"])
def test_help_of_a_command_with_settings_imports_nothing_heavy(name):
    code = (
        f"import sys; from ckai.cli.main import main; sys.argv = ['ckai', {name!r}, '--help']\n"
        "try: main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "numpy", "torch", "rich", "pyarrow", "pandas", "matplotlib", "pytorch_lightning"}
    assert heavy.isdisjoint(out.stderr.split())
    assert "pydantic" in out.stderr.split()
    cls = {"pretrain": PretrainConfig, "selfplay": RunConfig}[name]
    for one in all_settings(cls):
        assert one.option is None or one.option.split("/")[0] in out.stdout


def test_the_page_of_settings_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_settings", ROOT / "docs" / "make_settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.page(), "run `python docs/make_settings.py`"
    for cls in CLASSES:
        for one in all_settings(cls):
            assert f"| `{one.path}`" in page
