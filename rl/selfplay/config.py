"""Settings of self-play: how games are searched and played."""

import os
from dataclasses import dataclass

from ckai.game import HALFMOVE_LIMIT, REPETITION_LIMIT
from ckai.rl.search.selection import ROOT_RULES, Puct
from ckai.rl.selfplay.recording import PlayRules

AT_TABLES = ("adjudicate", "label", "play")


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """How games of self-play are searched and played.

    Raises:
        ValueError: a value out of range, named.
    """

    sims: int = 100
    """Visits at the root before a move is played."""
    in_flight: int = 256
    """Games at once."""
    groups: int = 0
    """Parts that the games in flight are dealt to, one thread each; 0 = one a core."""
    full_search_prob: float = 1.0
    """Share of the searches that are full; the others have `fast_visits`, no noise, and teach no policy."""
    fast_visits: int = 20
    leaves: int = 1
    """Leaves a tree sends to the network at once."""
    root_rule: str = "puct"
    """How the root spends its visits: `puct`, `forced` (forced playouts, pruned from the target) or `gumbel`
    (sequential halving, completed Q values); see `ckai.rl.search.selection`."""
    max_considered_actions: int = 16
    """Moves that `gumbel` begins with."""
    gumbel_scale: float = 0.05
    """How much `gumbel` trusts the values against the priors: c_scale, which is 1 in the paper."""
    root_policy_temperature: float = 1.0
    """Exponent 1/T on the root's priors: above 1 the search looks wider."""
    c_puct: float = 4.0
    fpu_reduction: float = 0.0
    noise_alpha: float = 1.0
    """Dirichlet concentration for each legal hop at the root."""
    noise_epsilon: float = 0.25
    """Share of noise in the root's priors."""
    temperature: float = 1.0
    temperature_plies: int = 16
    """Plies at the full temperature; after them it halves every `temperature_halflife` plies."""
    temperature_halflife: float = 6.0
    cache_positions: int = 0
    """Evaluations that are remembered, for positions that other games or ways reach too; 0 = none."""
    single_move_visits: int = 1
    """Visits where only one hop is legal."""
    max_plies: int = 300
    """A game as long as this is stopped; its z is unknown."""
    resign: float = 0.0
    """A side gives up where the search's value is -resign or less for it; 0 = never."""
    resign_played_out: float = 0.1
    """Share of the games that are played out all the same, which shows how often giving up is wrong."""
    halfmove_limit: int = HALFMOVE_LIMIT
    repetition_limit: int = REPETITION_LIMIT
    tables: int = 3
    """Endgames of so many pieces are looked up (`ckai tables build`); 0 = none."""
    at_tables: str = "adjudicate"
    """What comes of a game that reaches them: `adjudicate`, it ends with the true result; `label`, it is
    played on, and z is the truth from there on and of the first such position before; `play`, it is played on
    and z is how it ends. The search knows them in any case."""

    def __post_init__(self) -> None:
        for name, least in (
            ("sims", 1), ("in_flight", 1), ("groups", 0), ("leaves", 1), ("cache_positions", 0),
            ("c_puct", 0), ("noise_epsilon", 0),
            ("temperature", 0), ("temperature_plies", 0), ("single_move_visits", 1), ("max_plies", 1),
            ("fast_visits", 1), ("max_considered_actions", 1), ("gumbel_scale", 0),
            ("halfmove_limit", 1), ("repetition_limit", 2),
        ):  # fmt: skip
            if getattr(self, name) < least:
                raise ValueError(f"expected {name} >= {least}, found {getattr(self, name)}")
        for name in ("noise_alpha", "temperature_halflife", "root_policy_temperature", "full_search_prob"):
            if getattr(self, name) <= 0:
                raise ValueError(f"expected {name} > 0, found {getattr(self, name)}")
        for name in ("resign", "resign_played_out"):
            if getattr(self, name) < 0:
                raise ValueError(f"expected {name} >= 0, found {getattr(self, name)}")
        for name in ("noise_epsilon", "full_search_prob", "resign", "resign_played_out"):
            if getattr(self, name) > 1:
                raise ValueError(f"expected {name} <= 1, found {getattr(self, name)}")
        if self.tables not in (0, 2, 3, 4, 5, 6):
            raise ValueError(f"expected tables of 2 to 6 pieces or 0 for none, found {self.tables}")
        if self.at_tables not in AT_TABLES:
            raise ValueError(f"expected at_tables {', '.join(AT_TABLES)}, found {self.at_tables!r}")
        if self.root_rule not in ROOT_RULES:
            raise ValueError(f"expected root_rule {', '.join(ROOT_RULES)}, found {self.root_rule!r}")
        if self.halfmove_limit > 1000 or self.max_plies > 10_000:
            raise ValueError("expected halfmove_limit <= 1000 and max_plies <= 10000")

    @property
    def puct(self) -> Puct:
        """The constants of the search."""
        # Floats, so that a setting given as 0 or 1 does not compile the kernels anew for other types.
        return Puct(
            c_init=float(self.c_puct),
            fpu_reduction=float(self.fpu_reduction),
            noise_alpha=float(self.noise_alpha),
            noise_epsilon=float(self.noise_epsilon),
            root_temperature=float(self.root_policy_temperature),
            root_rule=ROOT_RULES.index(self.root_rule),
            max_considered_actions=self.max_considered_actions,
            c_scale=float(self.gumbel_scale),
        )

    @property
    def rules(self) -> PlayRules:
        """How moves are chosen and games end."""
        return PlayRules(
            visits=self.sims,
            single_move_visits=min(self.single_move_visits, self.sims),
            full_search_prob=float(self.full_search_prob),
            fast_visits=min(self.fast_visits, self.sims),
            leaves=self.leaves,
            temperature=max(float(self.temperature), 1e-6),
            temperature_plies=self.temperature_plies,
            temperature_halflife=float(self.temperature_halflife),
            max_plies=self.max_plies,
            adjudicate=self.at_tables == "adjudicate",
            resign=float(self.resign),
            played_out=float(self.resign_played_out),
        )

    @property
    def group_count(self) -> int:
        """Groups in use."""
        return min(self.groups or os.cpu_count() or 1, self.in_flight)

    @property
    def tree_nodes(self) -> int:
        """Room in a tree: every node is a visit of the root, and each batch may go a little over."""
        return self.sims + self.leaves + 2
