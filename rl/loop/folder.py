"""The folder of a run: create, open, lock and read it. `ckai.rl.loop.run` lists its files."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from ckai.datasets.files import LockedError, is_locked, locked, remove_temporaries, write_whole
from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.layers.network import Network
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.loop.config import RunConfig

FORMAT = 2
"""Version of the files of a run."""
CONFIG = "config.json"
"""Name of the file with the format and the settings."""
TARGET = "target.json"
"""Name of the file with the number of generations that the run was last asked for."""
LOCK = ".lock"
"""Name of the lock file."""


class RunError(RuntimeError):
    """A run cannot start or continue; one line that says what was expected and found."""


class RunFolder:
    """The files of a run.

    Args:
        folder: folder of the run.
        config: its settings.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config

    # --- creating and opening -----------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        init: Path | Network,
        config: RunConfig,
        *,
        generations: int = 0,
        begun: str = "",
    ) -> Self:
        """Create a run from a checkpoint or a new network.

        Args:
            folder: folder of the run; must not exist or be empty.
            init: network that plays the first generation.
            config: the settings.
            generations: number of generations that it is asked for, see `target`; 0: not known yet.
            begun: what it began with, as the info of its first network keeps it; empty: the name of `init`.

        Raises:
            RunError: the folder holds other files, another process creates a run there, or the network is for
                another game.
            CheckpointError: the checkpoint cannot be read.
        """
        _check_new(folder)  # first, so that a folder of something else gets no files
        metrics, info = {}, {"init": begun or "none"}
        if isinstance(init, Path):
            checkpoint = load_checkpoint(init)
            network, metrics = checkpoint.network(), checkpoint.metrics
            info = {**checkpoint.info, "init": begun or str(init)}
        else:
            network = init
        if config.game != network.encode.GAME:
            raise RunError(
                f"{folder}: expected a network for {config.game}, found one for {network.encode.GAME}"
            )
        first = folder / "gen_0000"
        try:
            first.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{folder}: cannot be created ({error.strerror}); choose another or fix the permissions"
            ) from error
        run = cls(folder, config)
        with run.lock():
            _check_new(folder)
            remove_temporaries(folder)
            save_checkpoint(first / "network.ckpt", network, metrics=metrics, info=info)
            if generations:
                run.set_target(generations)
            # Written last: a folder with settings is a run.
            write_whole(folder / CONFIG, json.dumps({"format": FORMAT, **config.to_dict()}, indent=2) + "\n")
        return run

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run, to continue or to read it.

        Args:
            folder: folder of the run.

        Raises:
            RunError: the folder is not a run, or its settings cannot be read.
        """
        path = folder / CONFIG
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            found = data.pop("format", None) if isinstance(data, dict) else None
            if found != FORMAT:
                raise RunError(
                    f"{path}: expected a run of format {FORMAT}, found {found}; begin a new run from its "
                    "latest.ckpt"
                )
            return cls(folder, RunConfig.from_dict(data))
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(
                f"{folder}: expected a run with a config.json, found none; check the path"
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror}); check the permissions") from error
        except json.JSONDecodeError as error:
            raise RunError(
                f"{path}: expected the settings of a run as JSON, found a damaged file ({error}); restore it"
            ) from error
        except ValueError as error:
            raise RunError(f"{path}: {error}") from error

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether a folder holds a run."""
        return (folder / CONFIG).exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold an exclusive lock on the run during a `with` block.

        Raises:
            RunError: another process holds it.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / LOCK))
            except LockedError:
                raise RunError(
                    f"{self.folder}: another process works on this run; wait for it or stop it"
                ) from None
            yield

    # --- contents -----------------------------------------------------------------------------------

    def path(self, generation: int, name: str = "") -> Path:
        """Return the folder of a generation, or a file in it."""
        return self.folder / f"gen_{generation:04d}" / name

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return get_game(self.config.game)

    @property
    def generations(self) -> int:
        """Number of finished generations."""
        n = 0
        while self.path(n + 1, "done.json").exists():
            n += 1
        return n

    @property
    def target(self) -> int:
        """Number of generations that the run was last asked for; 0 if it was never asked."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads((self.folder / TARGET).read_text(encoding="utf-8"))["generations"])
        return 0

    def set_target(self, generations: int) -> None:
        """Record the number of generations that the run is asked for."""
        write_whole(self.folder / TARGET, json.dumps({"generations": generations}) + "\n")

    @property
    def status(self) -> str:
        """`running` if a process works on it, `finished` if it has all its generations, or `unfinished`."""
        if is_locked(self.folder / LOCK):
            return "running"
        return "unfinished" if self.generations < self.target else "finished"

    @property
    def network(self) -> Path:
        """Checkpoint of the last finished generation; at first the one of generation 0."""
        return self.path(self.generations, "network.ckpt")

    def history(self) -> list[dict[str, Any]]:
        """Read the measurements of each finished generation.

        Raises:
            RunError: a file cannot be read.
        """
        return [read_measured(self.path(n, "done.json")) for n in range(1, self.generations + 1)]


def _check_new(folder: Path) -> None:
    """Raise a RunError unless a run can be created in a folder, perhaps after a kill during its creation."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a new or empty folder, found a file; choose another")
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    if CONFIG in names:
        raise RunError(f"{folder}: expected a new or empty folder, found a run; choose another")
    if any(name not in ("gen_0000", TARGET) and not name.startswith(".") for name in names):
        raise RunError(
            f"{folder}: expected a new or empty folder, found files that are not a run; choose another"
        )


def read_measured(path: Path) -> dict[str, Any]:
    """Read the measurements of a stage or generation, such as `done.json`.

    Raises:
        RunError: the file is damaged.
    """
    try:
        measured: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(
            f"{path}: expected measurements as JSON, found a damaged file ({error}); delete it to continue"
        ) from error
    return measured


def unfinished_run(runs: Path = Path("runs")) -> RunFolder | None:
    """Return the last of the runs `runs/run-001`, `runs/run-002`, ..., if it is unfinished."""
    folders = [runs / f"run-{number:03d}" for number in sorted(_numbers(runs), reverse=True)]
    newest = next(filter(RunFolder.exists, folders), None)
    with suppress(RunError):  # of another version
        if newest is not None and (run := RunFolder.open(newest)).status == "unfinished":
            return run
    return None


def fresh_folder(runs: Path = Path("runs")) -> Path:
    """Return the folder after the last of `runs/run-001`, `runs/run-002`, ..."""
    return runs / f"run-{max(_numbers(runs), default=0) + 1:03d}"


def _numbers(runs: Path) -> list[int]:
    """Numbers of the folders `run-NNN`."""
    names = [path.name.removeprefix("run-") for path in runs.glob("run-*")]
    return [int(name) for name in names if name.isdecimal()]
