"""A study: the runs of its trials, rung by rung, and their scores; it survives a kill at any moment.

A rung is three steps, and each relies only on complete files: the runs of its trials go on to the generations
of the rung, their networks are scored, and the scores are written. What is there is not done again.
"""

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from ckai.datasets.files import whole_file
from ckai.rl.loop.events import EventCallback
from ckai.rl.loop.folder import EVALUATOR
from ckai.rl.loop.run import Run
from ckai.rl.tuning.folder import Score, StudyFolder
from ckai.rl.tuning.halving import Rung
from ckai.rl.tuning.results import write_plot, write_results
from ckai.rl.tuning.scoring import ProgressCallback, score_rung


class Watcher(Protocol):
    """Follows a study."""

    def training(self, rung: Rung, trial: int, run: Run) -> AbstractContextManager[EventCallback]:
        """Return what is entered while a trial goes on; it receives the events of the run."""

    def scoring(self, rung: Rung) -> AbstractContextManager[ProgressCallback]:
        """Return what is entered while the trials of a rung are scored."""

    def scored(self, rung: Rung, scores: Mapping[int, Score]) -> None:
        """Receive the scores of a rung."""

    def warn(self, text: str) -> None:
        """Receive a line about a damaged file."""


class Study(StudyFolder):
    """A study that can be continued; made by `Study.create` or `Study.open`."""

    def go(self, watcher: Watcher, backend: str = "torch") -> None:
        """Continue until the last rung has its scores.

        Args:
            watcher: follows it.
            backend: evaluator backend, see `load_evaluator`; what the run of the first trial chose for
                `fastest` is the choice of all.

        Raises:
            StudyError: another process works on the study.
            RunError: one works on a run, or the files of a run are damaged.
        """
        with self.lock():
            write_results(self)  # a kill may have come between the scores and these
            write_plot(self)
            for rung, trials in self.climbed():
                if self.scores(rung) is not None:
                    continue
                for trial in trials:
                    self._train(rung, trial, watcher, backend)
                    write_results(self)
                with watcher.scoring(rung) as progress:
                    scores = score_rung(self, rung, trials, backend, progress, watcher.warn)
                self.keep_scores(rung, scores)
                write_results(self)
                write_plot(self)
                watcher.scored(rung, scores)

    def _train(self, rung: Rung, trial: int, watcher: Watcher, backend: str) -> None:
        """Continue the run of a trial to the generations of a rung."""
        run = self.run(trial)
        if run.generations >= rung.generations:
            return
        chosen = self.trial_folder(0) / EVALUATOR
        if chosen.exists() and not (run.folder / EVALUATOR).exists():
            with whole_file(run.folder / EVALUATOR) as file, chosen.open("rb") as source:
                shutil.copyfileobj(source, file)
        with watcher.training(rung, trial, run) as on_event:
            run.go(rung.generations, on_event, backend=backend)
