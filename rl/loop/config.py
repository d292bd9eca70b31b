"""Settings of a run of self-play, small and typed; a run keeps them in its `config.json`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from ckai.datasets import POSITIONS
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.pool import PoolConfig
from ckai.rl.selfplay.starts import StartConfig

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class LearnConfig:
    """How a generation learns from the games of the last ones.

    Raises:
        ValueError: a value out of range, named.
    """

    window: int = 4
    """Generations whose games are learned from, this one included."""
    window_growth: float = 0.0
    """Generations by which it becomes wider in each."""
    reuse: float = 0.0
    """Most times that a row is learned, in all generations together; 0: as often as the window has it."""
    positions: str = "all"
    """What is kept of repeated positions, see `ckai.datasets.merge`."""
    surprise: float = 0.0
    """Share of the rows of an epoch that is dealt out by the surprise of the search over the network."""
    ema: float = 0.0
    """Decay a step of the weights' average, which is then what plays; 0: the last weights."""
    epochs: int = 2
    batch_size: int = 512
    lr: float = 5e-4
    """At the peak of the one-cycle schedule."""
    weight_decay: float = 0.05
    value_weight: float = 1.0
    """Of the value's squared error beside the policy's cross-entropy."""
    q_weight: float = 0.5
    """The value's target is (1 - w) z + w q; this is w."""
    q_first: float | None = None
    """w in the first generation, from where it goes in a straight line to `q_weight`; None: no such way."""
    q_ramp: int = 10
    """Generations of that way."""
    mask_illegal: bool = True
    """Leave illegal labels out of the policy's loss: the search never asks for them."""

    def __post_init__(self) -> None:
        for name in ("window", "epochs", "batch_size", "q_ramp"):
            if getattr(self, name) < 1:
                raise ValueError(f"expected {name} >= 1, found {getattr(self, name)}")
        if not self.lr > 0:
            raise ValueError(f"expected lr > 0, found {self.lr}")
        if self.positions not in POSITIONS:
            raise ValueError(f"expected positions {', '.join(POSITIONS)}, found {self.positions!r}")
        if not 0 <= self.ema < 1:
            raise ValueError(f"expected ema in [0, 1), found {self.ema}")
        for name in ("weight_decay", "value_weight", "window_growth", "reuse"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"expected {name} >= 0, found {getattr(self, name)}")
        for name in ("q_weight", "q_first", "surprise"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"expected {name} in [0, 1], found {value}")

    def q_weight_of(self, generation: int) -> float:
        """w in a generation, counted from 1."""
        if self.q_first is None:
            return self.q_weight
        way = min(1.0, (generation - 1) / self.q_ramp)
        return self.q_first + way * (self.q_weight - self.q_first)


GATE_RULES = ("score", "sprt", "none")


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """The match of a new network against the old one, and whether it must pass it.

    Raises:
        ValueError: a value out of range, named.
    """

    games: int = 100
    """Games of the match, an even number: every opening is played with both colours. 0: no match, no gate."""
    sims: int = 0
    """Visits a move for both; 0 = those of self-play."""
    rule: str = "none"
    """`none`, the new network is taken whatever the match says, which learned fastest; `score`, it must reach
    the threshold; `sprt`, a sequential test must find it better, and ends the match as soon as it knows."""
    threshold: float = 0.55
    """Share of the points that `score` wants."""
    elo0: float = 0.0
    elo1: float = 30.0
    """What `sprt` tells apart: better by elo0 at most, or by elo1."""

    def __post_init__(self) -> None:
        if self.games < 0 or self.games % 2:
            raise ValueError(f"expected an even number of gate games >= 0, found {self.games}")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"expected a gate threshold in [0, 1], found {self.threshold}")
        if self.rule not in GATE_RULES:
            raise ValueError(f"expected gate rule {', '.join(GATE_RULES)}, found {self.rule!r}")
        if self.elo0 >= self.elo1:
            raise ValueError(f"expected gate elo0 below elo1, found {self.elo0} and {self.elo1}")
        if self.sims < 0:
            raise ValueError(f"expected gate sims >= 0, found {self.sims}")


MOST_GAMES = 1_000_000
"""Games of a generation are numbered from generation * MOST_GAMES on, so that numbers never meet."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All settings of a run.

    Raises:
        ValueError: a value out of range, named.
    """

    game: str = DEFAULT_GAME.name
    """What is played, see `ckai.rl.games.registry`."""
    games: int = 400
    """Games of self-play in a generation."""
    seed: int = 0
    overlap: bool = False
    """Whether a generation is played while the one before is learned: where a GPU plays."""
    start: StartConfig = field(default_factory=StartConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    pool: PoolConfig = field(default_factory=PoolConfig)
    learn: LearnConfig = field(default_factory=LearnConfig)
    gate: GateConfig = field(default_factory=GateConfig)

    def __post_init__(self) -> None:
        spec = get_game(self.game)
        if (self.selfplay.tables and not spec.supports_tables) or (
            self.start.experts and not spec.supports_experts
        ):
            raise ValueError(f"expected no endgame tables and no expert positions for {self.game}")
        if not 1 <= self.games < MOST_GAMES:
            raise ValueError(f"expected games from 1 to {MOST_GAMES - 1}, found {self.games}")
        if self.seed < 0:
            raise ValueError(f"expected seed >= 0, found {self.seed}")

    @classmethod
    def defaults_for(cls, game: str) -> "RunConfig":
        """Return the default settings of a game, see `GameSpec.run_defaults`.

        Raises:
            ValueError: no such game.
        """
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
        """The settings that `to_dict` gave.

        Raises:
            ValueError: an unknown setting, a value of another type or out of range, named.
        """
        return _build(cls, data, "")

    def changed(self, pairs: Sequence[str]) -> "RunConfig":
        """The same but for some settings, each given as a text such as `learn.batch_size=256`.

        Raises:
            ValueError: as `from_dict`, or no such text.
        """
        data = self.to_dict()
        for pair in pairs:
            name, equals, text = pair.partition("=")
            *parts, last = name.split(".")
            place: Any = data
            for part in parts:
                place = place.setdefault(part, {}) if isinstance(place, dict) else None
            if not equals or not isinstance(place, dict):
                raise ValueError(f"expected a setting such as learn.batch_size=256, found {pair!r}")
            try:
                place[last] = json.loads(text)
            except json.JSONDecodeError:
                place[last] = text
        return RunConfig.from_dict(data)


def _build(cls: type[T], data: Any, path: str) -> T:
    if not isinstance(data, dict):
        raise ValueError(f"expected settings{path and f' for {path}'}, found {type(data).__name__}")
    parts = get_type_hints(cls)
    values = {}
    for name, value in data.items():
        if name not in parts:
            raise ValueError(f"unknown setting {path}{name}; expected one of {', '.join(sorted(parts))}")
        kind = parts[name]
        if is_dataclass(kind):
            value = _build(kind, value, f"{path}{name}.")  # type: ignore[arg-type]
        elif not _is_a(value, kind):
            raise ValueError(f"expected {getattr(kind, '__name__', kind)} for {path}{name}, found {value!r}")
        values[name] = value
    return cls(**values)


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a setting read from JSON has a type such as `float` or `float | None`."""
    kinds = get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (isinstance(value, int) and float in kinds)
