"""Settings of self-play: starting positions, search, play and opponents.

Imports neither NumPy nor Numba, so that `ckai --help` is fast.
"""

from ckai.datasets.machine import available_cores
from ckai.datasets.settings import setting, settings

GPU_BATCH = 1024
"""Games in flight for each thread by default if networks run on a GPU: the most positions in a batch."""


@settings
class SelfPlayConfig:
    """Settings of the search and of the play in self-play games."""

    sims: int = setting(option="--sims", default=100, ge=1, help="Visits per move")
    in_flight: int = setting(default=256, ge=1, help="Games played at the same time")
    groups: int = setting(default=0, ge=0, help="Threads that play; 0 uses one per core")
    c_puct: float = setting(default=4.0, ge=0, help="Exploration constant of PUCT")
    noise_alpha: float = setting(
        default=1.0, gt=0, help="Dirichlet concentration for each legal action at the root"
    )
    noise_epsilon: float = setting(default=0.25, ge=0, le=1, help="Share of noise in the root's priors")
    temperature: float = setting(default=1.0, ge=0, help="Temperature of the first moves")
    temperature_plies: int = setting(default=16, ge=0, help="Plies before the temperature starts to fall")
    temperature_halflife: float = setting(
        default=6.0, gt=0, help="Plies in which the temperature then halves"
    )
    resign: float = setting(
        default=0.0,
        ge=0,
        le=1,
        help="Resign at minus this value or lower, such as 0.95; 0: never",
    )
    resign_disabled_prob: float = setting(
        default=0.1,
        ge=0,
        le=1,
        help="Probability that a game is played out nevertheless, which shows how often resigning is wrong",
    )
    max_plies: int = setting(
        default=300,
        ge=1,
        le=10_000,
        help="Stop a game at this length; its result z is then unknown",
    )
    tables: int = setting(
        option="--tables",
        default=3,
        ge=0,
        le=6,
        help="Use N-piece tablebases, see `ckai tables build`; 0: none",
    )

    def __post_init__(self) -> None:
        if self.tables == 1:
            raise ValueError(f"expected tables of 2 to 6 pieces or 0 for none, found {self.tables}")

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
        """Capacity of a tree in nodes: one per visit of the root, and a few to spare."""
        return self.sims + 3


@settings
class StartConfig:
    """Starting positions of games."""

    opening_share: float = setting(
        default=0.5,
        ge=0,
        le=1,
        help="Share of games that start from a balanced opening; in games of stones, from any opening",
    )
    opening_plies: int = setting(default=3, ge=0, le=5, help="Length of these openings in plies")


@settings
class PoolConfig:
    """Settings of the games against past networks."""

    share: float = setting(
        default=0.0,
        ge=0,
        le=1,
        help="Share of games against past networks, preferring those of about equal strength",
    )
    opponents: int = setting(
        default=2,
        ge=1,
        help="Past networks to play against per generation",
    )
