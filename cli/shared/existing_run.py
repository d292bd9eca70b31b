"""Whether an existing self-play run is the one that a command asks for, and how to continue one."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.settings import all_settings, change_settings
from ckai.rl.leases.config import WorkSettings

if TYPE_CHECKING:
    from ckai.models.checkpoint import Checkpoint
    from ckai.rl.loop.run import Run

DEFAULT_EVALUATOR = "fastest"
"""Default of `--evaluator`."""
DEFAULT_INIT = Path("pretrained.ckpt")
"""Default of `--init` for a new run."""
NO_INIT = Path("none")
"""Value of `--init` for random weights."""


@dataclass(frozen=True)
class Wanted:
    """What a command specifies of a run; None or empty where it specifies nothing."""

    init: Path | None
    """Checkpoint to start from, or `NO_INIT`."""
    game: str | None
    model: str | None
    """Architecture of the first network."""
    pairs: tuple[str, ...]
    """Settings of the first network, as `KEY=VALUE`."""
    experts: Path | None
    """Rows of expert positions."""
    given: Mapping[str, Any]
    """Settings by path, such as `learn.lr`."""

    def difference(self, run: "Run") -> str:
        """Return the first difference of the run, such as `selfplay.sims = 50, not 100`, or "".

        Raises:
            ValueError: a wrong setting or file.
        """
        from ckai.models.checkpoint import load_checkpoint
        from ckai.models.training.runs import flat_settings

        if self.game and self.game != run.config.game:
            return f"game = {run.config.game}, not {self.game}"
        first = load_checkpoint(run.path(0, "network.ckpt"))
        text = self._model_difference(first) or self._init_difference(first)
        if text:
            return text
        wanted = change_settings(run.config, dict(self.given))
        now, then = flat_settings(wanted.to_dict()), flat_settings(run.config.to_dict())
        for name, value in then.items():
            if now[name] != value:
                return f"{name} = {value}, not {now[name]}"
        return self.experts_difference(run)

    def without_run(self) -> "Wanted":
        """Return what the command would begin a new run from, with the defaults filled in."""
        init = self.init or DEFAULT_INIT
        game = self.game or (DEFAULT_GAME_NAME if init == NO_INIT else None)
        return Wanted(init, game, self.model, self.pairs, self.experts, self.given)

    def _model_difference(self, first: "Checkpoint") -> str:
        from ckai.models.registry import build, parse_settings

        name = first.architecture
        if self.model and self.model != name:
            return f"model = {name}, not {self.model}"
        changed = {**first.settings, **parse_settings(name, list(self.pairs))}
        now, then = (asdict(build(name, settings).settings) for settings in (changed, first.settings))
        texts = (f"{key} = {value}, not {now[key]}" for key, value in then.items() if now[key] != value)
        return next(texts, "")

    def _init_difference(self, first: "Checkpoint") -> str:
        import torch

        from ckai.models.checkpoint import load_checkpoint

        recorded = str(first.info.get("init", ""))
        has_weights = self.init is not None and self.init != NO_INIT and self.init.exists()
        if self.init is None or (str(self.init) == recorded and not has_weights):
            return ""
        if has_weights:
            asked = load_checkpoint(self.init)
            if (
                asked.architecture == first.architecture
                and asked.weights.keys() == first.weights.keys()
                and all(torch.equal(asked.weights[name], weight) for name, weight in first.weights.items())
            ):
                return ""
            if str(self.init) == recorded:
                return f"init = {recorded} before it changed"
        return f"init = {recorded or 'another network'}, not {self.init}"

    def experts_difference(self, run: "Run") -> str:
        """Return how expert positions differ from those of the run, or ""."""
        from ckai.rl.selfplay.starts import draw_expert_positions

        if self.experts is None:
            return ""
        if not run.config.start.expert_share:
            return f"no expert positions, not those of {self.experts}"
        drawn = [position.fen for position in draw_expert_positions(self.experts, seed=run.config.seed)]
        same = drawn == [position.fen for position in run.expert_positions()]
        return "" if same else f"other expert positions, not those of {self.experts}"


def continue_command(
    run: "Run",
    generations: int,
    evaluator: str = DEFAULT_EVALUATOR,
    ray: str | None = None,
    of_workers: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the command that continues a run with these options; `of_workers` has settings by name."""
    words = ["ckai", "selfplay", "--run", str(run.folder), "--generations", str(generations)]
    if evaluator != DEFAULT_EVALUATOR:
        words += ["--evaluator", evaluator]
    if ray is not None:
        words += ["--ray", ray]
    options = {setting.path: str(setting.option) for setting in all_settings(WorkSettings)}
    for name, value in of_workers.items():
        words += [options[name], str(value)]
    return shlex.join(words)
