"""Settings of a self-play run, stored in its `config.json`.

Imports neither numpy nor Numba, so that help shows them quickly.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, Literal

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores, available_memory
from ckai.datasets.settings import change_settings, parse_settings, read_settings, setting, settings
from ckai.models.training.config import LossConfig
from ckai.rl.selfplay.config import GPU_BATCH, PoolConfig, SelfPlayConfig, StartConfig


@settings
class LearnConfig:
    """Training of each generation on the games of the last generations."""

    window: int = setting(option="--window", default=4, ge=1, help="Newest generations to train on")
    window_growth: float = setting(default=0.0, ge=0, help="Growth of the window per generation")
    symmetries: bool = setting(
        default=False,
        help="Rotate and reflect every training row at random, if the game's board allows it",
    )
    epochs: int = setting(option="--epochs", default=2, ge=1, help="Passes over the window")
    batch_size: int = setting(default=512, ge=1, help="Rows per step")
    lr: float = setting(option="--lr", default=5e-4, gt=0, help="Peak learning rate")
    weight_decay: float = setting(default=0.05, ge=0, help="Decoupled weight decay")
    value_weight: float = setting(
        default=1.0, ge=0, help="Weight of the value loss relative to the policy loss"
    )
    q_weight: float = setting(
        option="--q-weight", default=0.5, ge=0, le=1, help="Weight w of the value target (1 - w) z + w q"
    )
    q_first: float | None = setting(
        default=None,
        ge=0,
        le=1,
        help="Weight w in the first generation, from which it changes linearly; without it w is constant",
    )
    q_ramp: int = setting(default=10, ge=1, help="Generations until w reaches q_weight, with q_first")

    def loss_of(self, generation: int) -> LossConfig:
        """Return the loss in a generation counted from 1; the search ignores what is illegal."""
        return LossConfig(
            value_weight=self.value_weight, mask_illegal=True, q_weight=self.q_weight_of(generation)
        )

    def window_of(self, generation: int) -> int:
        """Return the width of the window of a generation counted from 1."""
        return int(self.window + self.window_growth * (generation - 1))

    def q_weight_of(self, generation: int) -> float:
        """Return w, the weight of q in the value target, in a generation counted from 1."""
        first = self.q_weight if self.q_first is None else self.q_first
        return first + min(1.0, (generation - 1) / self.q_ramp) * (self.q_weight - first)


@settings
class GateConfig:
    """The match of the new network against the old one, and the rule for accepting it."""

    games: int = setting(
        default=100,
        ge=0,
        multiple_of=2,
        option="--gate-games",
        help="Games of the gate match, an even number; 0: no match",
    )
    rule: Literal["score", "sprt", "none"] = setting(
        default="none",
        option="--gate",
        help="Accept a new network by its score in a match, by a sequential test there, or always",
    )
    threshold: float = setting(
        default=0.55,
        ge=0,
        le=1,
        help="Share of the points that the rule score requires",
    )
    elo1: float = setting(default=30.0, gt=0, help="Elo difference that sprt accepts; it rejects 0")


@settings
class RunConfig:
    """Settings of a run."""

    game: str = setting(default=DEFAULT_GAME_NAME, help="Game to play, a name in `ckai.rl.games.registry`")
    games: int = setting(
        option="--games", default=400, ge=1, help="Games per generation; 20 times as many with a GPU"
    )
    seed: int = setting(option="--seed", default=0, ge=0, help="Seed of all random choices")
    overlap: bool = setting(
        default=False,
        help="Play on while training; the default with a GPU",
    )
    start: StartConfig = setting(default_factory=StartConfig, help="Start positions")
    selfplay: SelfPlayConfig = setting(default_factory=SelfPlayConfig, help="Self-play")
    pool: PoolConfig = setting(default_factory=PoolConfig, help="Past networks as opponents")
    learn: LearnConfig = setting(default_factory=LearnConfig, help="Training")
    gate: GateConfig = setting(default_factory=GateConfig, help="Gate match")

    def __post_init__(self) -> None:
        # Imported here, as the games import Numba, which would slow down help.
        from ckai.rl.games.registry import get_game

        spec = get_game(self.game)
        if self.selfplay.tables and not spec.supports_tables:
            raise ValueError(f"expected no tablebases (selfplay.tables=0) for {self.game}")
        if self.learn.symmetries and not spec.symmetries:
            raise ValueError(f"expected no symmetries for {self.game}, whose board has none")

    @classmethod
    def defaults_for(cls, game: str) -> "RunConfig":
        """Return the default settings of a game, see `GameSpec.run_defaults`.

        Raises:
            ValueError: no such game.
        """
        from ckai.rl.games.registry import get_game

        spec, data = get_game(game), dict[str, Any](game=game)
        if not spec.supports_tables:
            data["selfplay"] = {"tables": 0}
        for name, value in spec.run_defaults.items():
            part, _, setting = name.rpartition(".")
            (data.setdefault(part, {}) if part else data)[setting] = value
        return read_settings(cls, data)

    def for_gpu(self) -> "RunConfig":
        """Return a copy with as many games in flight as a GPU wants.

        `GPU_BATCH` for each core, but no more than a quarter of the memory has room for, nor than four
        generations have games.
        """
        from ckai.rl.games.registry import get_game
        from ckai.rl.selfplay.play import memory

        play = self.selfplay
        room = available_memory() // 4 // memory(replace(play, in_flight=1), get_game(self.game))
        wanted = min(GPU_BATCH * available_cores(), room, 4 * self.games)
        return replace(self, selfplay=replace(play, in_flight=max(wanted, play.in_flight)))

    def hash(self) -> str:
        """Return what is different for other settings, 16 hexadecimal digits."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def changed(self, pairs: Sequence[str]) -> "RunConfig":
        """Return a copy with settings changed by texts such as `learn.batch_size=256`.

        A ValueError names what is malformed, unknown or invalid.
        """
        return change_settings(self, parse_settings(RunConfig, pairs))


@settings
class WorkersConfig:
    """Settings of the workers on Ray; no part of the run."""

    count: int = setting(
        default=0,
        ge=0,
        help="Number of workers on Ray; 0: as many as fit on the nodes, including nodes that join later",
    )
    cpus_per_worker: int = setting(default=1, ge=1, help="CPU cores and threads of a worker on Ray")
    gpus_per_worker: float = setting(default=0.0, ge=0, help="GPUs of a worker on Ray, or a share of one")


@settings
class WorkSettings:
    """The section of workers, which keeps their settings apart from the settings of a run."""

    workers: WorkersConfig = setting(default_factory=WorkersConfig, help="Workers")
