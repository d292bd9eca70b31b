"""Settings of a run of self-play; a run keeps them in its `config.json`.

Imports neither numpy nor Numba, so that help shows them quickly.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from ckai.datasets.choices import DEFAULT_GAME_NAME, Positions
from ckai.datasets.settings import change_settings, parse_settings, read_settings, setting, settings
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig, StartConfig


@settings
class LearnConfig:
    """How a generation learns from the games of the last ones.

    Raises:
        ValueError: a value out of range, named.
    """

    window: int = setting(default=4, ge=1, help="Generations whose games are learned from, this one included")
    window_growth: float = setting(default=0.0, ge=0, help="Generations by which the window grows in each")
    reuse: float = setting(
        default=0.0,
        ge=0,
        help="Max times that a row is learned, in all generations together; 0: as often as the window has it",
    )
    positions: Positions = setting(
        default="all",
        help="Rows kept of positions that repeat: all, each move once (distinct), or one row of averages "
        "(average)",
    )
    policy_kl_share: float = setting(
        default=0.0,
        ge=0,
        le=1,
        aliases=("surprise",),
        option_aliases=("--surprise",),
        help="Share of an epoch dealt out to rows by the KL divergence of the search's policy from the "
        "network's (KataGo's policy surprise weighting)",
    )
    ema: float = setting(
        default=0.0,
        ge=0,
        lt=1,
        help="Average the weights with this decay per step, and play with the average; 0 plays with the last "
        "weights",
    )
    epochs: int = setting(default=2, ge=1, help="Passes over the window")
    batch_size: int = setting(default=512, ge=1, option=None, help="Rows per step")
    lr: float = setting(default=5e-4, gt=0, help="Peak learning rate of the one-cycle schedule")
    weight_decay: float = setting(default=0.05, ge=0, option=None, help="Decoupled weight decay")
    value_weight: float = setting(
        default=1.0,
        ge=0,
        option=None,
        help="Weight of the value's squared error beside the policy's cross-entropy",
    )
    q_weight: float = setting(default=0.5, ge=0, le=1, help="Weight w in the value target (1 - w) z + w q")
    q_first: float | None = setting(
        default=None,
        ge=0,
        le=1,
        help="Weight w in the first generation, from where it goes in a straight line to --q-weight; without "
        "it w is constant",
    )
    q_ramp: int = setting(default=10, ge=1, help="Generations until w is --q-weight, with --q-first")
    mask_illegal: bool = setting(
        default=True,
        option=None,
        help="Leave illegal actions out of the policy's loss: the search never asks for them",
    )

    def q_weight_of(self, generation: int) -> float:
        """w in a generation, counted from 1."""
        if self.q_first is None:
            return self.q_weight
        way = min(1.0, (generation - 1) / self.q_ramp)
        return self.q_first + way * (self.q_weight - self.q_first)


@settings
class GateConfig:
    """The match of a new network against the old one, and whether it must pass it.

    Raises:
        ValueError: a value out of range, named.
    """

    games: int = setting(
        default=100,
        ge=0,
        multiple_of=2,
        option="--gate-games",
        help="Games of the match, an even number: every opening is played with both colours; 0: no match, no "
        "gate",
    )
    sims: int = setting(
        default=0, ge=0, option="--gate-sims", help="Visits per move for both; 0 takes those of self-play"
    )
    rule: Literal["score", "sprt", "none"] = setting(
        default="none",
        option="--gate",
        help="Condition for taking a new network: it scores --gate-threshold (score); a sequential test "
        "finds it better, and ends the match early (sprt); or always, and the match is only shown (none)",
    )
    threshold: float = setting(
        default=0.55,
        ge=0,
        le=1,
        option="--gate-threshold",
        option_aliases=("--gate-score",),
        help="Share of the points that --gate score requires",
    )
    elo0: float = setting(default=0.0, option=None, help="Elo difference that sprt rejects")
    elo1: float = setting(default=30.0, option=None, help="Elo difference that sprt accepts")

    def __post_init__(self) -> None:
        if self.elo0 >= self.elo1:
            raise ValueError(f"expected gate elo0 below elo1, found {self.elo0} and {self.elo1}")


MOST_GAMES = 1_000_000
"""Games of a generation are numbered from generation * MOST_GAMES on, so that numbers never meet."""


@settings
class RunConfig:
    """All settings of a run.

    Raises:
        ValueError: a value out of range, named.
    """

    game: str = setting(
        default=DEFAULT_GAME_NAME, option=None, help="Game to play, see `ckai.rl.games.registry`"
    )
    games: int = setting(default=400, ge=1, lt=MOST_GAMES, help="Games per generation")
    seed: int = setting(default=0, ge=0, help="Seed of everything random")
    overlap: bool = setting(
        default=False,
        option="--overlap/--no-overlap",
        option_aliases=(" /--in-turn",),
        help="Play a generation while learning from the one before, which pays where a GPU plays",
    )
    start: StartConfig = setting(default_factory=StartConfig, help="Where games begin")
    selfplay: SelfPlayConfig = setting(default_factory=SelfPlayConfig, help="Self-play")
    pool: PoolConfig = setting(default_factory=PoolConfig, help="Past networks as opponents")
    learn: LearnConfig = setting(default_factory=LearnConfig, help="Learning")
    gate: GateConfig = setting(default_factory=GateConfig, help="Gate match")

    def __post_init__(self) -> None:
        # Only here, because the games themselves are compiled and would slow down help.
        from ckai.rl.games.registry import get_game

        spec = get_game(self.game)
        if (self.selfplay.tables and not spec.supports_tables) or (
            self.start.expert_share and not spec.supports_experts
        ):
            raise ValueError(f"expected no endgame tables and no expert positions for {self.game}")

    @classmethod
    def defaults_for(cls, game: str) -> "RunConfig":
        """Return the default settings of a game, see `GameSpec.run_defaults`.

        Raises:
            ValueError: no such game.
        """
        from ckai.rl.games.registry import get_game

        data: dict[str, Any] = {"game": game}
        for name, value in get_game(game).run_defaults.items():
            part, _, setting = name.rpartition(".")
            (data.setdefault(part, {}) if part else data)[setting] = value
        return cls.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> "RunConfig":
        """The settings that `to_dict` gave, in this version or an earlier one.

        Raises:
            ValueError: an unknown setting, a value of another type or out of range, named.
        """
        return read_settings(cls, data)

    def changed(self, pairs: Sequence[str]) -> "RunConfig":
        """The same but for some settings, each given as a text such as `learn.batch_size=256`.

        Raises:
            ValueError: as `from_dict`, or no such text.
        """
        return change_settings(self, parse_settings(RunConfig, pairs))
