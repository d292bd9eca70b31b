"""The folder of a run: how it is made, opened and locked, and what is in it (see `ckai.rl.loop.run`)."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from ckai.datasets.files import LockedError, locked, write_whole
from ckai.game import Position
from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.layers.network import Network
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.loop.config import RunConfig

EVALUATOR = "evaluator.json"
"""Name of the file that says what computes the network, and how fast it is alone."""
EXPERTS = "experts.fen"
"""Name of the file of expert positions, a FEN a line, in the folder of generation 0."""


class RunError(RuntimeError):
    """A run that cannot start or go on; one line that says what was found and what to do."""


class RunFolder:
    """What a run has on the disk."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config

    # --- making and opening -------------------------------------------------------------------------

    @classmethod
    def create(
        cls, folder: Path, init: Path | Network, config: RunConfig, experts: Sequence[Position] = ()
    ) -> Self:
        """Start a run from a checkpoint, or from a network that knows nothing.

        Args:
            folder: of the run.
            init: what plays the first generation.
            config: the settings.
            experts: positions of expert games, for games that begin there.

        Raises:
            RunError: the folder already holds something.
            CheckpointError: the checkpoint does not fit.
        """
        # A run that was killed while it was made has no settings yet: it is made again.
        if folder.exists() and {path.name for path in folder.iterdir()} - {"gen_0000"}:
            raise RunError(f"{folder}: expected no such folder or an empty one, found files that are no run")
        if config.start.expert_share and not experts:
            raise RunError(
                f"{folder}: expected positions for {config.start.expert_share:.0%} of the games, found none"
            )
        metrics, info = {}, {"init": "none"}
        if isinstance(init, Path):
            checkpoint = load_checkpoint(init)
            network, metrics = checkpoint.network(), checkpoint.metrics
            info = {**checkpoint.info, "init": str(init)}
        else:
            network = init
        if config.game != network.encode.GAME:
            raise RunError(
                f"{folder}: expected a network for {config.game}, found one for {network.encode.GAME}"
            )
        first = folder / "gen_0000"
        first.mkdir(parents=True, exist_ok=True)
        save_checkpoint(first / "network.ckpt", network, metrics=metrics, info=info)
        if experts:
            write_whole(first / EXPERTS, "".join(f"{position.fen}\n" for position in experts))
        # The settings come last: a folder with them is a run.
        write_whole(folder / "config.json", json.dumps(config.to_dict(), indent=2) + "\n")
        return cls(folder, config)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run to go on with it or to look at it.

        Raises:
            RunError: the folder is no run, or its settings cannot be read.
        """
        path = folder / "config.json"
        try:
            return cls(folder, RunConfig.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            raise RunError(f"{folder}: expected a run with a config.json, found none") from None
        except ValueError as error:
            raise RunError(f"{path}: {error}") from error

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether a folder holds a run."""
        return (folder / "config.json").exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes off the run.

        Raises:
            RunError: another process works on it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / ".lock"))
            except LockedError:
                raise RunError(
                    f"{self.folder}: another process is working on this run; wait for it or stop it"
                ) from None
            yield

    # --- what is there ------------------------------------------------------------------------------

    def path(self, generation: int, name: str = "") -> Path:
        """A generation's folder, or a file in it."""
        return self.folder / f"gen_{generation:04d}" / name

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return get_game(self.config.game)

    @property
    def generations(self) -> int:
        """Generations that are over."""
        n = 0
        while self.path(n + 1, "done.json").exists():
            n += 1
        return n

    @property
    def network(self) -> Path:
        """The network of the last generation that is over."""
        return self.path(self.generations, "network.ckpt")

    @property
    def ceiling(self) -> float:
        """Evaluations/s that the network alone had in its trial on this machine; 0 if there was none."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return float(json.loads((self.folder / EVALUATOR).read_text(encoding="utf-8"))["rate"])
        return 0.0

    def history(self) -> list[dict[str, Any]]:
        """What was measured in each generation that is over.

        Raises:
            RunError: a file that cannot be read.
        """
        return [read_measured(self.path(n, "done.json")) for n in range(1, self.generations + 1)]


def read_measured(path: Path) -> dict[str, Any]:
    """What a stage wrote down.

    Raises:
        RunError: it cannot be read.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(
            f"{path}: expected what was measured, found a damaged file ({error}); delete it to go on"
        ) from error
    return found


def fresh_folder(runs: Path = Path("runs")) -> Path:
    """The first of `runs/run-001`, `runs/run-002`, ... that does not exist."""
    n = 1
    while (runs / f"run-{n:03d}").exists():
        n += 1
    return runs / f"run-{n:03d}"
