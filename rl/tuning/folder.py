"""The folder of a study.

    study.json               what is tried, the settings of every trial and of the study
    trials/000/              the self-play run of a trial; 000 has the defaults
    rungs/1/scores.json      the scores of a rung, which decide who goes on
    rungs/1/000-003.json     games of its match between trials 0 and 3; 000.json: those of trial 0 against
                             the common opponent, or its mistakes
    tune.csv, tune.json      the results, see `ckai.rl.tuning.results`; also as tune.png

The folder is made under a temporary name and renamed, so that a study is complete from its beginning. All
else is in the runs and in the scores of the rungs; a killed study goes on with what they have.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from ckai.datasets.files import remove_temporaries, temporary_path, write_whole
from ckai.datasets.settings import change_settings, read_settings
from ckai.models.layers.network import Network
from ckai.rl.games.registry import get_game
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import sole_process
from ckai.rl.loop.run import Run
from ckai.rl.players.loading import load_player
from ckai.rl.solved.mistakes import solved_classes
from ckai.rl.tuning.config import StudyConfig
from ckai.rl.tuning.halving import Rung, best_first
from ckai.rl.tuning.space import Tried, draw_trials, parse_space

STUDY = "study.json"
"""Name of the file of the settings."""
LOCK = ".lock"
"""Name of the lock file."""


class StudyError(RuntimeError):
    """A study cannot start or continue; one line that says what was expected and found."""


@dataclass(frozen=True)
class Score:
    """What trials are compared by."""

    value: float
    """Elo; or a share of mistakes, in [0, 1]."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end."""


class StudyFolder:
    """The files of a study; made by `create` or `open`.

    Attributes:
        folder: where it is.
        config: its settings.
        space: what is tried.
        trials: settings of each trial by name, as far as they are tried.
        options: options of `ckai selfplay` that name the first network and expert positions.
    """

    def __init__(
        self,
        folder: Path,
        config: StudyConfig,
        space: Sequence[Tried],
        trials: Sequence[dict[str, Any]],
        options: Sequence[str],
    ) -> None:
        self.folder, self.config = folder, config
        self.space, self.trials, self.options = list(space), list(trials), list(options)

    # --- creating and opening -----------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        init: Path | Network,
        base: RunConfig,
        config: StudyConfig,
        space: Sequence[Tried],
        *,
        experts: Sequence[Any] = (),
        options: Sequence[str] = (),
        replace: bool = False,
    ) -> Self:
        """Draw the trials and create their runs.

        Args:
            folder: new or empty.
            init: network that every trial starts with.
            base: settings of the runs, but for what is tried.
            config: settings of the study.
            space: what is tried.
            experts: see `Run.create`.
            options: options of `ckai selfplay` that name the first network and expert positions.
            replace: whether a study in the folder is removed, with its runs.

        Raises:
            StudyError: the folder has something else; or a process works on the study to remove.
            ValueError: a setting or opponent that does not fit the game, or too many trials.
            RunError, CheckpointError: see `Run.create`.
        """
        spec = get_game(base.game)
        trials = draw_trials(space, base, config.trials, base.seed)
        if config.score == "mistakes":
            solved_classes(spec)
        if config.against:
            load_player(config.against, game=spec)
        found = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if found and not (replace and cls.exists(folder)):
            raise StudyError(
                f"{folder}: expected a new or empty folder, found files that are not a study; choose another"
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_temporaries(folder.parent, of=folder.name)
        made = cls(temporary_path(folder), config, space, trials, options)
        try:
            for number, values in enumerate(trials):
                Run.create(
                    made.trial_folder(number),
                    init,
                    change_settings(base, values),
                    experts,
                    generations=config.schedule[0].generations,
                )
            data = {
                "settings": asdict(config),
                "tried": list(map(str, space)),
                "trials": trials,
                "options": list(options),
            }
            write_whole(made.folder / STUDY, json.dumps(data, indent=2) + "\n")
            if found:
                _remove(cls(folder, config, space, trials, options))
            made.folder.rename(folder)
        except BaseException:
            shutil.rmtree(made.folder, ignore_errors=True)
            raise
        return cls(folder, config, space, trials, options)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a study, to continue or to read it.

        Raises:
            StudyError: the folder is not a study, or its settings cannot be read.
        """
        path = folder / STUDY
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            config = read_settings(StudyConfig, data["settings"])
            return cls(folder, config, parse_space(data["tried"]), data["trials"], data["options"])
        except (FileNotFoundError, NotADirectoryError):
            raise StudyError(
                f"{folder}: expected a study with a {STUDY}, found none; check the path"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StudyError(f"{path}: expected the settings of a study, found {error}") from error

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether a folder holds a study."""
        return (folder / STUDY).exists()

    def lock(self) -> AbstractContextManager[None]:
        """Hold an exclusive lock on the study.

        Raises:
            StudyError: another process holds it.
        """
        return sole_process(self.folder, self.folder / LOCK, "study", StudyError)

    # --- contents -----------------------------------------------------------------------------------

    def trial_folder(self, trial: int) -> Path:
        """Return the folder of a trial's run."""
        return self.folder / "trials" / f"{trial:03d}"

    def run(self, trial: int) -> Run:
        """Open the run of a trial.

        Raises:
            RunError: it cannot be read.
        """
        return Run.open(self.trial_folder(trial))

    def rung_folder(self, rung: Rung) -> Path:
        """Return the folder of a rung."""
        return self.folder / "rungs" / str(rung.number)

    @property
    def schedule(self) -> list[Rung]:
        """The rungs."""
        return self.config.schedule

    def scores(self, rung: Rung) -> dict[int, Score] | None:
        """Read the scores of a rung by trial; None if they have not all been measured.

        Raises:
            StudyError: the file is damaged.
        """
        path = self.rung_folder(rung) / "scores.json"
        if not path.exists():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return {int(trial): Score(**score) for trial, score in data.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise StudyError(
                f"{path}: expected the scores of a rung, found a damaged file ({error}); delete it to "
                "continue"
            ) from error

    def keep_scores(self, rung: Rung, scores: Mapping[int, Score]) -> None:
        """Write the scores of a rung."""
        data = {str(trial): asdict(score) for trial, score in scores.items()}
        write_whole(self.rung_folder(rung) / "scores.json", json.dumps(data, indent=2) + "\n")

    def ranked(self, scores: Mapping[int, Score]) -> list[int]:
        """Return trials in the order of their scores, the best first."""
        sign = -1 if self.config.score == "mistakes" else 1
        return best_first({trial: sign * score.value for trial, score in scores.items()})

    def climbed(self) -> Iterator[tuple[Rung, list[int]]]:
        """Yield the rungs that trials have reached, each with its trials in order.

        The last one may have no scores. Those of a rung are read after it was yielded, so that they can be
        measured in between.
        """
        trials = list(range(len(self.trials)))
        for rung in self.schedule:
            yield rung, trials
            scores = self.scores(rung)
            if scores is None:
                return
            trials = sorted(self.ranked(scores)[: rung.kept])

    @property
    def best(self) -> int | None:
        """The best trial; None before the end."""
        scores = self.scores(self.schedule[-1])
        return None if scores is None else self.ranked(scores)[0]


def _remove(study: StudyFolder) -> None:
    """Remove a study, which nobody may be working on."""
    gone = temporary_path(study.folder)
    with study.lock():
        study.folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
