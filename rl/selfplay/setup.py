"""What the search and the recording of games take of the settings of self-play."""

from ckai.rl.evaluators.cache import ENTRY_BYTES
from ckai.rl.search.arrays import tree_batch_bytes
from ckai.rl.search.rules import ROOT_RULES
from ckai.rl.search.selection import Puct
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.recording import PlayRules, make_records


def search_constants(config: SelfPlayConfig) -> Puct:
    """The constants of the search."""
    return Puct(
        c_init=config.c_puct,
        fpu_reduction=config.fpu_reduction,
        noise_alpha=config.noise_alpha,
        noise_epsilon=config.noise_epsilon,
        root_temperature=config.root_policy_temperature,
        root_rule=ROOT_RULES.index(config.root_rule),
        max_considered_actions=config.max_considered_actions,
        c_scale=config.gumbel_scale,
    )


def play_rules(config: SelfPlayConfig) -> PlayRules:
    """How moves are chosen and games end."""
    return PlayRules(
        visits=config.sims,
        single_move_visits=min(config.single_move_visits, config.sims),
        full_search_prob=config.full_search_prob,
        fast_visits=min(config.fast_visits, config.sims),
        leaves=config.leaves,
        temperature=max(config.temperature, 1e-6),
        temperature_plies=config.temperature_plies,
        temperature_halflife=config.temperature_halflife,
        max_plies=config.max_plies,
        adjudicate=config.tables_mode == "adjudicate",
        resign=config.resign,
        played_out=config.resign_disabled_prob,
    )


def memory(config: SelfPlayConfig) -> int:
    """Bytes that the trees, records and cache of a run take."""
    each = -(-config.in_flight // config.group_count)
    bytes_each = tree_batch_bytes(each, config.tree_nodes, config.leaves, 34, config.halfmove_limit + 2)
    records = make_records(1, config.max_plies)
    games = config.group_count * (bytes_each + each * (records.rows.nbytes + records.counts.nbytes))
    return games + config.cache_positions * ENTRY_BYTES
