"""Analysis of whole files, by several threads; an interrupted one resumes where it stopped.

Each game that is done is a file of its own in a work folder next to the output, with what it depends on:
moves, network, tables and settings. A kill loses the games in progress at most.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ckai.datasets.files import write_whole
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import run_all
from ckai.pdn import PdnGame
from ckai.rl.analysis.analyst import Analyst
from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.analysis.report import GameReport

_REPORT = TypeAdapter(GameReport)


class Work:
    """The analysis of some games, kept in a folder next to the output until it is written.

    One process at a time: hold `ckai.datasets.files.locked(work.folder / "lock")`.

    Attributes:
        folder: the work folder.
        done: games that are analysed.
        kept: those of them that an earlier, interrupted analysis had done.
    """

    def __init__(
        self, games: Sequence[PdnGame], output: Path, config: AnalysisConfig, identity: dict[str, Any]
    ) -> None:
        """Write nothing yet.

        Args:
            games: the games, from their first move to where they can be read.
            output: the file that the analysis will be written to.
            config: the settings.
            identity: what else must be the same for a report to be kept: network, tables.
        """
        self.games, self.output, self.config = games, output, config
        self.folder = output.with_name(f"{output.name}.work")
        self.done = self.kept = 0
        self._identity = {**identity, "settings": asdict(config)}

    def analyze(
        self,
        evaluator: Evaluator,
        *,
        tables: Tables | None = None,
        threads: int = 1,
        progress: Callable[[int], None] = lambda plies: None,
    ) -> None:
        """Analyse the games that are not done yet; after Ctrl-C or an error those done are kept.

        Args:
            evaluator: evaluates positions, called by all threads.
            tables: tablebases.
            threads: number of threads, each with a game of its own.
            progress: called with the plies done after every game, one call at a time.
        """
        stop, lock = threading.Event(), threading.Lock()
        waiting = [number for number in range(len(self.games)) if self._report(number) is None]
        self.done = self.kept = len(self.games) - len(waiting)
        plies = sum(len(game.moves) for game in self.games)
        plies -= sum(len(self.games[number].moves) for number in waiting)
        progress(plies)
        numbers = iter(waiting)

        def work() -> None:
            nonlocal plies
            analyst = Analyst(evaluator, self.config, tables=tables, stopped=stop.is_set)
            try:
                for number in numbers:  # which all threads share
                    game = self.games[number]
                    report = analyst.analyze(game.play(), game.result)
                    if game.problem is not None:
                        report = replace(report, theory="")  # what comes after is not known
                    data = {"of": self._key(number), "report": asdict(report)}
                    write_whole(self._path(number), json.dumps(data))
                    with lock:
                        plies += len(report.plies)
                        self.done += 1
                        progress(plies)
            except CancelledError:
                pass
            finally:
                analyst.close()

        run_all([work] * threads, stop, name="analysis")

    def results(self) -> Iterator[tuple[PdnGame, GameReport]]:
        """Yield the games with their reports, once all are analysed."""
        for number, game in enumerate(self.games):
            report = self._report(number)
            assert report is not None, "it was written"
            yield game, report

    def remove(self) -> None:
        """Remove the work folder, after the output was written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _key(self, number: int) -> dict[str, Any]:
        """What a report depends on, as JSON has it."""
        game = self.games[number]
        moves = [str(each.move) for each in game.moves]
        return {**self._identity, "fen": game.start.fen, "moves": moves, "result": game.result}

    def _report(self, number: int) -> GameReport | None:
        """The report of a game, None if there is none, one of other work, or a damaged file."""
        try:
            found = json.loads(self._path(number).read_text(encoding="utf-8"))
            return _REPORT.validate_python(found["report"]) if found["of"] == self._key(number) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
