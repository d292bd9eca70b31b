"""Options made from settings: names, help, errors; the page of all settings."""

import importlib.util
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ckai.cli.shared.settings import SettingOption, SettingsCommand, given_settings, settings_options
from ckai.datasets.settings import all_settings, change_settings, read_settings
from ckai.game import HALFMOVE_LIMIT, REPETITION_LIMIT
from ckai.models.training.config import PretrainConfig
from ckai.models.training.presets import PRESETS
from ckai.rl.loop.config import RunConfig
from ckai.rl.search import selection
from ckai.rl.search.rules import ROOT_RULES
from ckai.rl.selfplay.config import SelfPlayConfig

ROOT = Path(__file__).parents[2]
CLASSES = (RunConfig, PretrainConfig)


def given(cls, *words):
    """What a command with the options of a class takes, or the error it shows."""
    seen = {}

    @click.command(cls=SettingsCommand)
    @settings_options(cls)
    @click.pass_context
    def command(ctx):
        seen.update(given_settings(ctx))

    result = CliRunner().invoke(command, [str(word) for word in words])
    return seen if result.exit_code == 0 else (result.exit_code, result.output)


def test_only_what_is_given_is_given():
    assert given(RunConfig) == {}
    assert given(PretrainConfig) == {}
    words = ("--sims", 100, "--lr", 1, "--gate", "sprt", "--overlap", "--pool-share", 0.5, "--games", "7")
    assert given(RunConfig, *words) == {
        "selfplay.sims": 100, "learn.lr": 1.0, "gate.rule": "sprt", "overlap": True, "pool.share": 0.5,
        "games": 7,
    }  # fmt: skip
    words = ("--data-weight", 2, "--data-weight", 0.5, "--mask-illegal", "--optimizer", "momentum")
    assert given(PretrainConfig, *words) == {
        "weights": (2.0, 0.5), "train.loss.mask_illegal": True, "train.optimizer.name": "momentum"
    }  # fmt: skip


def selfplay():
    return importlib.import_module("ckai.cli.selfplay").command


@pytest.mark.parametrize(
    ("cls", "words", "message"),
    [
        (RunConfig, ("--lr", -1), "Invalid value for '--lr': expected lr > 0, found -1"),
        (RunConfig, ("--lr", "nan"), "expected lr > 0, found nan"),
        (RunConfig, ("--sims", 0), "expected sims >= 1, found 0"),
        (RunConfig, ("--sims", 8.5), "expected an integer for sims, found 8.5"),
        (RunConfig, ("--gate-games", 3), "expected games >= 0 and even, found 3"),
        (PretrainConfig, ("--heldout", 1), "expected heldout in [0, 1), found 1"),
        (PretrainConfig, ("--schedule", "steps"), "'--schedule': 'steps' is not one of"),
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


@pytest.mark.parametrize("cls", CLASSES)
def test_names_options_and_defaults_are_sound(cls):
    every = list(all_settings(cls))
    command = click.command()(settings_options(cls)(lambda: None))
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    assert len(names) == len(set(names))
    assert all(isinstance(param, SettingOption) for param in command.params)
    for one in every:
        checked = one.check(one.default)
        assert (checked, type(checked)) == (one.default, type(one.default))
        assert one.help[0].isupper()
        assert not one.help.endswith(".")


def test_constants_that_help_must_not_import_are_the_same():
    assert SelfPlayConfig().halfmove_limit == HALFMOVE_LIMIT
    assert SelfPlayConfig().repetition_limit == REPETITION_LIMIT
    numbers = (selection.PUCT, selection.FORCED, selection.GUMBEL)
    assert [ROOT_RULES[number] for number in numbers] == ["puct", "forced", "gumbel"]


def test_presets_are_options_of_pretrain():
    options = {param.name for param in importlib.import_module("ckai.cli.pretrain").command.params}
    for preset in PRESETS.values():
        assert set(preset) - {"set"} <= options


def test_the_page_of_settings_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_settings", ROOT / "docs" / "make_settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.page(), "run `python docs/make_settings.py`"
    for cls in CLASSES:
        for one in all_settings(cls):
            assert f"| `{one.path}`" in page


OLD_RUN = {
    "game": "checkers", "games": 40, "seed": 3, "overlap": True,
    "start": {"balanced": 0.25, "plies": 2, "men": 1, "experts": 0.5},
    "selfplay": {
        "sims": 50, "in_flight": 64, "groups": 2, "full_share": 0.75, "fast_sims": 10, "leaves": 2,
        "root_rule": "gumbel", "considered": 8, "gumbel_scale": 1, "root_policy_temperature": 1.1,
        "c_puct": 2.5,
        "fpu_reduction": 0.1, "noise_alpha": 0.5, "noise_epsilon": 0.3, "temperature": 0.9,
        "temperature_plies": 12, "temperature_halflife": 5.0, "cache_positions": 1000, "forced_sims": 4,
        "max_plies": 200, "resign": 0.95, "resign_played_out": 0.2, "quiet_limit": 60, "repetition_limit": 4,
        "tables": 2, "at_tables": "label",
    },
    "pool": {"share": 0.1, "rivals": 3},
    "learn": {
        "window": 5, "window_growth": 0.5, "reuse": 4.0, "positions": "average", "surprise": 0.5,
        "ema": 0.99, "epochs": 1, "batch_size": 128, "lr": 0.001, "weight_decay": 0.1, "value_weight": 0.5,
        "q_weight": 0.25, "q_first": 0.0, "q_ramp": 5, "mask_illegal": False,
    },
    "gate": {"games": 20, "sims": 30, "rule": "sprt", "threshold": 0.6, "elo0": 5.0, "elo1": 25.0},
}  # fmt: skip
"""config.json of a run as it was written before settings were renamed; no value is the default."""

RENAMED = {
    "start": {
        "balanced": "opening_share", "plies": "opening_plies", "men": "max_men_lost",
        "experts": "expert_share",
    },
    "selfplay": {
        "full_share": "full_search_prob", "fast_sims": "fast_visits", "considered": "max_considered_actions",
        "forced_sims": "single_move_visits", "resign_played_out": "resign_disabled_prob",
        "quiet_limit": "halfmove_limit", "at_tables": "tables_mode",
    },
    "pool": {"rivals": "opponents"},
    "learn": {"surprise": "policy_kl_share"},
}  # fmt: skip


ADDED = {
    "random_symmetries": False, "noise_total": 0.0, "policy_target_pruning": False, "c_base": 19652.0,
    "root_policy_temperature_early": 0.0, "root_policy_temperature_halflife": 8.0,
    "value_bias_factor": 0.0, "value_bias_exponent": 0.8, "c_puct_first": None, "c_puct_ramp": 20,
}  # fmt: skip
"""Settings of self-play that came later; their defaults play as before."""


def test_a_config_of_a_run_of_before_is_read_whole():
    config = RunConfig.from_dict(OLD_RUN)
    renamed = {
        part: {RENAMED.get(part, {}).get(name, name): value for name, value in values.items()}
        if isinstance(values, dict)
        else values
        for part, values in OLD_RUN.items()
    }
    added = {"late": 0.0, "max_age": 2}  # since then; their defaults keep such a run as it was
    learn = {"symmetries": False}
    learn |= {"reanalyze": 0.0, "reanalyze_sims": 0}
    parts = {"learn": learn, "selfplay": ADDED}
    renamed |= {part: {**renamed[part], **values} for part, values in parts.items()}
    assert config.to_dict() == {**renamed, **added}
    assert RunConfig.from_dict(config.to_dict()) == config
    defaults = RunConfig().to_dict()
    for part, values in config.to_dict().items():
        for name, value in values.items() if isinstance(values, dict) else ():
            if name in parts.get(part, {}):
                continue
            assert value != defaults[part][name], f"{part}.{name}"


def test_a_config_of_a_pretraining_of_before_is_read():
    old = {
        "model": "cnn2x2", "settings": {"channels": 8}, "heldout": 0.2, "split_seed": 1,
        "positions": "average", "weights": [2, 0.5],
        "train": {
            "epochs": 3, "batch_size": 64, "patience": 0, "seed": 5, "precision": "32", "ema": 0.999,
            "compile": True, "overfit": 2,
            "loss": {
                "value_weight": 1, "mask_illegal": True, "label_smoothing": 0.1, "target": {"q_weight": 0.25}
            },
            "optimizer": {
                "name": "momentum", "lr": 1, "weight_decay": 0.0, "momentum": 0.8, "warmup": 0.1, "clip": 0,
                "schedule": "decay", "decay": 0.9,
            },
        },
    }  # fmt: skip
    config = read_settings(PretrainConfig, old)
    assert asdict(config) == {**old, "weights": (2.0, 0.5), "init": ""}
    assert change_settings(config, {}) == config
