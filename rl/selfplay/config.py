"""Settings of self-play: starting positions, search, play and opponents.

Imports neither NumPy nor Numba, so that `ckai --help` is fast; `ckai.rl.selfplay.setup` converts them for the
search.
"""

from dataclasses import replace
from typing import Literal

from ckai.datasets.machine import available_cores
from ckai.datasets.settings import setting, settings
from ckai.rl.search.rules import ALPHAZERO_C_BASE, RootRule

GPU_IN_FLIGHT = 4096
"""Most games in flight by default if networks run on a GPU: 256 positions a batch from each of 16 threads."""


def ramped(first: float | None, last: float, generations: int, generation: int) -> float:
    """Return a value that changes linearly over the first generations of a run.

    Args:
        first: the value in generation 1; None: `last`.
        last: the value from generation `generations` + 1 on.
        generations: how many it takes, 1 or more.
        generation: the generation, counted from 1.
    """
    if first is None:
        return last
    return first + min(1.0, (generation - 1) / generations) * (last - first)


@settings
class SelfPlayConfig:
    """Settings of the search and of the play in self-play games.

    Raises:
        ValueError: a value out of range, named.
    """

    sims: int = setting(default=100, ge=1, help="Visits per move")
    in_flight: int = setting(default=256, ge=1, help="Games played at the same time")
    groups: int = setting(default=0, ge=0, help="Threads that play; 0 uses one per core")
    leaves: int = setting(default=1, ge=1, help="Leaves that a tree sends to the network at once")
    root_rule: RootRule = setting(
        default="puct",
        help="How visits are allocated at the root: puct, forced (forced playouts, pruned from the policy "
        "target) or gumbel (sequential halving with completed Q values)",
    )
    max_considered_actions: int = setting(
        default=16,
        ge=1,
        option=None,
        help="Root actions that gumbel starts with",
    )
    gumbel_scale: float = setting(
        default=0.05,
        ge=0,
        help="Scale of the Q values against the priors in gumbel: c_scale, which is 1 in the paper",
    )
    policy_target_pruning: bool = setting(
        default=False,
        option="--policy-target-pruning/--no-policy-target-pruning",
        help="With puct, remove from the policy target the visits that noise alone caused, given the final "
        "values; forced always removes its forced playouts",
    )
    full_search_prob: float = setting(
        default=1.0,
        gt=0,
        le=1,
        help="Probability of a full search (playout cap randomization); the other searches take "
        "--fast-visits, add no noise and train no policy",
    )
    fast_visits: int = setting(
        default=20,
        ge=1,
        help="Visits of the searches that are not full",
    )
    single_move_visits: int = setting(
        default=1,
        ge=1,
        option=None,
        help="Visits where only one action is legal",
    )
    cache_positions: int = setting(
        default=0,
        ge=0,
        help="Evaluations to cache, for positions that other games or move orders reach too; 0 disables the "
        "cache",
    )
    c_puct: float = setting(default=4.0, ge=0, help="Exploration constant of PUCT, the weight of the prior")
    c_puct_first: float | None = setting(
        default=None,
        ge=0,
        help="Exploration constant in the first generation, changing linearly to --c-puct; without this "
        "option it is the same in all",
    )
    c_puct_ramp: int = setting(
        default=20, ge=1, help="Generations until the constant reaches --c-puct, with --c-puct-first"
    )
    c_base: float = setting(
        default=ALPHAZERO_C_BASE,
        gt=0,
        option=None,
        help="Visits of a position at which --c-puct has grown by about 0.7",
    )
    fpu_reduction: float = setting(
        default=0.0, option=None, help="Amount subtracted from the node's value to give an unvisited edge's Q"
    )
    value_bias_factor: float = setting(
        default=0.0,
        ge=0,
        le=1,
        help="Share of the network's observed error after the same two actions that is taken off its values "
        "in the search, such as 0.35 (KataGo's subtree value bias correction); 0 leaves them as they are",
    )
    value_bias_exponent: float = setting(
        default=0.8,
        ge=0,
        option=None,
        help="Power of the visits below a position by which its error weighs, with --value-bias-factor",
    )
    root_policy_temperature: float = setting(
        default=1.0,
        gt=0,
        option=None,
        help="Temperature of the root's priors; above 1 the search looks wider",
    )
    root_policy_temperature_early: float = setting(
        default=0.0,
        ge=0,
        option=None,
        help="Temperature of the root's priors at the start of a game, such as 1.25, which then approaches "
        "selfplay.root_policy_temperature; 0 begins with that one",
    )
    root_policy_temperature_halflife: float = setting(
        default=8.0, gt=0, option=None, help="Plies in which the distance of these two temperatures halves"
    )
    noise_alpha: float = setting(
        default=1.0, gt=0, help="Dirichlet concentration for each legal action at the root"
    )
    noise_total: float = setting(
        default=0.0,
        ge=0,
        help="Total Dirichlet concentration, shared equally by the legal actions at the root, such as 10; 0 "
        "uses --noise-alpha for each action",
    )
    noise_epsilon: float = setting(default=0.25, ge=0, le=1, help="Share of noise in the root's priors")
    temperature: float = setting(default=1.0, ge=0, help="Temperature of the first moves")
    temperature_plies: int = setting(default=16, ge=0, help="Plies before the temperature starts to fall")
    temperature_halflife: float = setting(
        default=6.0, gt=0, option=None, help="Plies in which the temperature then halves"
    )
    resign: float = setting(
        default=0.0,
        ge=0,
        le=1,
        help="Resign when the search's value is minus this or lower, such as 0.95; 0 never resigns",
    )
    random_symmetries: bool = setting(
        default=False,
        option="--random-symmetries/--no-random-symmetries",
        help="Show the network each game in a random rotation or reflection, if the game's board allows it",
    )
    resign_disabled_prob: float = setting(
        default=0.1,
        ge=0,
        le=1,
        option=None,
        help="Probability that a game is played out nevertheless, which shows how often resigning is wrong",
    )
    max_plies: int = setting(
        default=300,
        ge=1,
        le=10_000,
        option=None,
        help="Stop a game at this length; its result z is then unknown",
    )
    halfmove_limit: int = setting(
        default=80,
        ge=1,
        le=1000,
        option=None,
        help="Halfmove clock at which a game is drawn",
    )
    repetition_limit: int = setting(
        default=3, ge=2, option=None, help="Occurrences of a position at which a game is drawn"
    )
    tables: int = setting(
        default=3, ge=0, le=6, help="Use N-piece tablebases, building them if missing; 0 uses none"
    )
    tables_mode: Literal["adjudicate", "label", "play"] = setting(
        default="adjudicate",
        help="Handling of a game that reaches the tablebases: adjudicate ends it with the true result; label "
        "plays on and sets z to the true result, for earlier moves that of the first position in the tables; "
        "play plays on and takes z from how it ends. The search probes them in any case",
    )

    def __post_init__(self) -> None:
        if self.tables == 1:
            raise ValueError(f"expected tables of 2 to 6 pieces or 0 for none, found {self.tables}")

    def of_generation(self, generation: int) -> "SelfPlayConfig":
        """Return the settings of a generation, counted from 1, in which none depends on it any more."""
        c_puct = ramped(self.c_puct_first, self.c_puct, self.c_puct_ramp, generation)
        return replace(self, c_puct=c_puct, c_puct_first=None)

    @property
    def group_count(self) -> int:
        """Number of groups: `groups`, by default the CPU cores, but at most one per game in flight."""
        return min(self.groups or available_cores(), self.in_flight)

    @property
    def group_size(self) -> int:
        """Most games of a group."""
        return -(-self.in_flight // self.group_count)

    @property
    def tree_nodes(self) -> int:
        """Capacity of a tree in nodes: one per visit of the root, and a batch may exceed `sims` a little."""
        return self.sims + self.leaves + 2


@settings
class StartConfig:
    """Shares of the games by starting position; the other games start at the initial position.

    Raises:
        ValueError: a value out of range, named.
    """

    opening_share: float = setting(
        default=0.5,
        ge=0,
        le=1,
        help="Share of games that start from a balanced opening; in games of stones, from any opening",
    )
    opening_plies: int = setting(default=3, ge=0, le=5, option=None, help="Length of these openings in plies")
    max_men_lost: int = setting(
        default=0,
        ge=0,
        option=None,
        help="Most men that a side may lose by force in these openings",
    )
    expert_share: float = setting(
        default=0.0,
        ge=0,
        le=1,
        help="Share of games that start from positions of the rows given with --experts",
    )

    def __post_init__(self) -> None:
        if self.opening_share + self.expert_share > 1:
            raise ValueError(
                "expected opening_share and expert_share that sum to 1 or less, found "
                f"{self.opening_share} and {self.expert_share}"
            )


@settings
class PoolConfig:
    """Settings of the games against past networks.

    Raises:
        ValueError: a value out of range, named.
    """

    share: float = setting(
        default=0.0,
        ge=0,
        le=1,
        option="--pool-share",
        help="Share of games against past networks, preferring those of about equal strength",
    )
    opponents: int = setting(
        default=2,
        ge=1,
        option="--pool-opponents",
        help="Past networks to play against per generation",
    )
