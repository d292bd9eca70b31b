"""Analysis of whole files, by several threads; an interrupted one resumes where it stopped.

Each game that is done is a file of its own in a work folder next to the output, written under a temporary
name and renamed, so that a kill loses the games in progress at most.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ckai.datasets.files import locked, write_whole
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.pdn import PdnGame
from ckai.rl.analysis.analyst import Analyst
from ckai.rl.analysis.batch import InterruptedSearchError
from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.analysis.report import GameReport, Progress
from ckai.rl.search.threads import run_all


class Work:
    """The analysis of some games, kept in a folder next to the output until it is written.

    Attributes:
        folder: the work folder.
    """

    def __init__(
        self, games: Sequence[PdnGame], output: Path, config: AnalysisConfig, identity: dict[str, Any]
    ) -> None:
        """Write nothing yet.

        Args:
            games: the games, from their first move to where they can be read.
            output: the file that the analysis will be written to.
            config: the settings.
            identity: what else must be the same for an interrupted analysis to go on: network, tables.
        """
        self.games, self.output, self.config = games, output, config
        self.folder = output.with_name(f"{output.name}.work")
        self._identity = {**identity, "settings": asdict(config)}

    @contextmanager
    def opened(self, *, force: bool = False) -> Iterator[None]:
        """Hold the lock of the work folder, created or continued, during a `with` block.

        Args:
            force: drop what an interrupted analysis with other settings left.

        Raises:
            LockedError: another process works in it.
            FileExistsError: it is of another network or other settings.
            WriteError: it cannot be written.
        """
        with locked(self.folder / "lock"):
            path = self.folder / "settings.json"
            if path.exists() and json.loads(path.read_text()) != self._identity:
                if not force:
                    raise FileExistsError(
                        f"{self.folder}: an unfinished analysis with another network or other settings; give "
                        "--force to drop it, or another -o"
                    )
                self._remove_reports()
            write_whole(path, json.dumps(self._identity, indent=1) + "\n")
            yield

    def analyze(
        self,
        evaluator: Evaluator,
        *,
        tables: Tables | None = None,
        threads: int = 1,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Progress:
        """Analyse the games that are not done yet; `opened` must hold the folder.

        Args:
            evaluator: evaluates positions, called by all threads.
            tables: tablebases.
            threads: number of threads, each with a game of its own.
            progress: called after every game, one call at a time.

        Raises:
            KeyboardInterrupt: after the threads have ended; the games done are kept.
            Exception: whatever a thread raised.
        """
        stop, lock = threading.Event(), threading.Lock()
        total = Progress()
        waiting = iter(enumerate(self.games))

        def take() -> tuple[int, PdnGame] | None:
            """The next game that is not done."""
            with lock:
                for number, game in waiting:
                    report = self._kept(number, game)
                    if report is None:
                        return number, game
                    total.kept += 1
                    self._count(total, report, progress)
            return None

        def work() -> None:
            try:
                analyst = Analyst(evaluator, self.config, tables=tables, stopped=stop.is_set)
                while not stop.is_set() and (taken := take()) is not None:
                    number, game = taken
                    report = analyst.analyze(game.play(), game.result)
                    if game.problem is not None:
                        report = replace(report, theory="")  # what comes after is not known
                    write_whole(self._path(number), json.dumps({"fen": game.start.fen, **report.plain()}))
                    with lock:
                        self._count(total, report, progress)
                analyst.close()
            except InterruptedSearchError:
                pass

        run_all([work] * threads, stop, name="analysis")
        return total

    def _count(self, total: Progress, report: GameReport, progress: Callable[[Progress], None]) -> None:
        total.games += 1
        total.plies += len(report.plies)
        total.positions += report.positions
        for ply in report.plies:
            if ply.grade is not None:
                total.grades[str(ply.grade)] = total.grades.get(str(ply.grade), 0) + 1
        progress(total)

    def games_done(self) -> int:
        """Return the number of games whose reports are kept."""
        return sum(path.stem.isdecimal() for path in self.folder.glob("*.json"))

    def results(self) -> Iterator[tuple[PdnGame, GameReport]]:
        """Yield the games with their reports, once all are analysed."""
        for number, game in enumerate(self.games):
            report = self._kept(number, game)
            assert report is not None, "it was written"
            yield game, report

    def remove(self) -> None:
        """Remove the work folder, after the output was written."""
        self._remove_reports()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_reports(self) -> None:
        # The settings go last, so that an interruption never leaves reports of unknown origin.
        for path in sorted(self.folder.glob("*.json")):
            path.unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _kept(self, number: int, game: PdnGame) -> GameReport | None:
        """The report of a game, None if it is not done, of another game, or the file is damaged."""
        try:
            found = json.loads(self._path(number).read_text())
            fen, report = found.pop("fen"), GameReport.read(found)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        moves, played = [str(each.move) for each in game.moves], [ply.move for ply in report.plies]
        return report if (fen, played, report.result) == (game.start.fen, moves, game.result) else None
