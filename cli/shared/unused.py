"""Settings of a new run that would do nothing beside the others, which are refused where they are given."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import click

from ckai.datasets.settings import all_settings
from ckai.rl.loop.config import RunConfig


class Need(NamedTuple):
    """What a setting needs in order to do something."""

    setting: str
    """Name of the setting."""
    other: str
    """Name of the setting that it needs."""
    wanted: str
    """What that has to be, as options."""
    is_met: Callable[[RunConfig], Any]
    """Returns whether it is that."""


NEEDS = (
    Need("gate.rule", "gate.games", "--gate-games above 0", lambda c: c.gate.rule == "none" or c.gate.games),
    Need("gate.threshold", "gate.rule", "--gate score", lambda c: c.gate.rule == "score"),
    Need("gate.elo0", "gate.rule", "--gate sprt", lambda c: c.gate.rule == "sprt"),
    Need("gate.elo1", "gate.rule", "--gate sprt", lambda c: c.gate.rule == "sprt"),
    Need("selfplay.gumbel_scale", "selfplay.root_rule", "--root-rule gumbel", lambda c: _rule(c) == "gumbel"),
    Need(
        "selfplay.max_considered_actions",
        "selfplay.root_rule",
        "--root-rule gumbel",
        lambda c: _rule(c) == "gumbel",
    ),
    Need(
        "selfplay.policy_target_pruning",
        "selfplay.root_rule",
        "--root-rule puct",
        lambda c: not c.selfplay.policy_target_pruning or _rule(c) == "puct",
    ),
    Need(
        "selfplay.fast_visits",
        "selfplay.full_search_prob",
        "--full-search-prob below 1",
        lambda c: c.selfplay.full_search_prob < 1,
    ),
    Need(
        "selfplay.c_puct_ramp",
        "selfplay.c_puct_first",
        "--c-puct-first",
        lambda c: c.selfplay.c_puct_first is not None,
    ),
    Need("learn.q_ramp", "learn.q_first", "--q-first", lambda c: c.learn.q_first is not None),
    Need("learn.reanalyze_sims", "learn.reanalyze", "--reanalyze", lambda c: c.learn.reanalyze),
    Need(
        "learn.reanalyze",
        "learn.reuse",
        "--reuse above --epochs, or 0",
        lambda c: not c.learn.reanalyze or not 0 < c.learn.reuse <= c.learn.epochs,
    ),
    Need("pool.opponents", "pool.share", "--pool-share", lambda c: c.pool.share),
    Need("max_age", "late", "--late", lambda c: c.late),
)


def _rule(config: RunConfig) -> str:
    return config.selfplay.root_rule


def unused(config: RunConfig, names: Collection[str]) -> list[Need]:
    """Return what those of the settings `names` need that do nothing beside the others of a run."""
    return [need for need in NEEDS if need.setting in names and not need.is_met(config)]


def check_used(config: RunConfig, given: Collection[str]) -> None:
    """Refuse settings that were given and would do nothing.

    Args:
        config: the settings of the run.
        given: names of those that were given.

    Raises:
        UsageError: there is such a setting.
    """
    options = {
        each.path: (each.option or f"--setting {each.path}").partition("/")[0]
        for each in all_settings(RunConfig)
    }
    for need in unused(config, given):
        option = options[need.setting]
        raise click.UsageError(
            f"expected {need.wanted} with {option}, found it without; add it or omit {option}"
        )
    visits = {
        "selfplay.sims": config.selfplay.sims,
        "learn.reanalyze_sims": config.learn.reanalyze_sims,
    }
    if _rule(config) == "gumbel":
        return
    for name in given:
        if visits.get(name) == 1:  # that of the root, so that no action has one
            raise click.UsageError(
                f"expected 2 or more visits for {options[name]}, found 1, which trains no policy"
            )
