"""Conversion of the settings of self-play to constants of the search, rules of play and memory needed."""

from typing import Any

from ckai.datasets.tables import Tables
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import tree_batch_bytes
from ckai.rl.search.selection import ALPHAZERO_C_BASE, GUMBEL, PUCT, SearchConstants
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.recording import PlayRules, make_records


def search_constants(config: SelfPlayConfig) -> SearchConstants:
    """Return the constants of a full search."""
    return SearchConstants(
        c_init=config.c_puct,
        c_base=ALPHAZERO_C_BASE,
        noise_alpha=config.noise_alpha,
        noise_epsilon=config.noise_epsilon,
        root_rule=GUMBEL if config.root_rule == "gumbel" else PUCT,
        c_scale=config.gumbel_scale,
    )


def play_rules(config: SelfPlayConfig) -> PlayRules:
    """Return how moves are chosen and games end."""
    return PlayRules(
        visits=config.sims,
        full_search_prob=config.full_search_prob,
        fast_visits=min(config.fast_visits, config.sims),
        temperature=max(config.temperature, 1e-6),
        temperature_plies=config.temperature_plies,
        temperature_halflife=config.temperature_halflife,
        max_plies=config.max_plies,
        resign=config.resign,
        resign_disabled_prob=config.resign_disabled_prob,
    )


def search_rules(config: SelfPlayConfig, spec: GameSpec, tables: Tables | None = None) -> Any:
    """Return the game's rules with the draw limit of the settings and, if given, tablebases."""
    return spec.make_rules(tables, halfmove_limit=config.halfmove_limit)


def memory(config: SelfPlayConfig, spec: GameSpec = DEFAULT_GAME) -> int:
    """Return the memory in bytes of the trees and records of a run."""
    rules = search_rules(config, spec)
    group_size = config.group_size
    records = make_records(rules, 1, config.max_plies)
    trees = tree_batch_bytes(rules, group_size, config.tree_nodes, 1, transpositions=True)
    return config.group_count * (trees + group_size * (records.rows.nbytes + records.counts.nbytes))
