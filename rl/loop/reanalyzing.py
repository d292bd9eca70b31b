"""The reanalysis of a run: rows of the older generations of the window get new targets before learning.

Of an older generation g, generation n learns `gen_g/reanalyzed-n.parquet` in place of `gen_g/rows.parquet`.
It is the file that generation n - 1 learned, with a share of the rows searched again with the newest network;
so rows keep their newest targets. Once generation n is finished, the file before is removed.
"""

import json
import shutil
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.leases.lease import hash_of
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import REANALYSIS, read_measured
from ckai.rl.loop.learning import window_of
from ckai.rl.loop.playing import EXCHANGE_SECONDS, RunSelfPlay
from ckai.rl.reanalysis.reanalyze import ReanalysisCounts, drawn_rows, reanalyze, settings_of
from ckai.rl.reanalysis.targets import Reanalysis, ReanalysisError, read_reanalysis
from ckai.rl.reanalysis.warmup import compile_reanalysis
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.shards import Spent

SUMMARY = "reanalysis.json"
"""Name of the measurements in the folder of a generation."""


class RunReanalysis(RunSelfPlay):
    """The files of a run, its self-play, and the reanalysis of its rows."""

    def _rows(self, g: int, n: int) -> Path:
        """Return the rows of generation `g` that generation `n` learns."""
        if not self.config.learn.reanalyze or g >= n:
            return self.path(g, "rows.parquet")
        return self.path(g, f"reanalyzed-{n:03d}.parquet")

    def _older(self, n: int) -> list[int]:
        """Return the older generations in the window of generation `n`."""
        return [g for g in window_of(n, self.config.learn).generations if g < n]

    def _reanalyze(self, n: int, on_event: EventCallback, backend: str) -> dict[str, Any]:
        """Reanalyze rows of the older generations in the window of generation `n`; return what was measured.

        What is there already is checked, and made again if it is damaged. Empty if there is nothing to do.
        """
        if not self.config.learn.reanalyze:
            return {}
        older = self._older(n)
        if not older:
            return {}
        summary, folder = self.path(n, SUMMARY), self.path(n, REANALYSIS)
        before = read_measured(summary) if summary.exists() else {}
        spent = Spent.read(folder)
        if before:  # finished in an earlier call
            seconds = float(before["seconds"])
            spent = Spent(seconds, round(seconds * before["evaluations_per_second"]))
        with _Stage(self, n, on_event, backend, spent) as stage:
            found = {g: stage.rows_of(g, n) for g in older}
            measured = before if before and not stage.worked else stage.measured(found)
        if measured is not before:
            write_whole(summary, json.dumps(measured) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        return measured

    def _remove_reanalyzed(self, n: int) -> None:
        """Remove the files that those of generation `n`, which is finished, have replaced."""
        if self.config.learn.reanalyze:
            for g in self._older(n):
                for path in self.path(g).glob("reanalyzed-*.parquet"):
                    if path != self._rows(g, n):
                        path.unlink()

    def _reanalysis_config(self, n: int) -> SelfPlayConfig:
        """Return the settings of the searches before the learning of generation `n`."""
        config = self.config.selfplay
        return replace(config, sims=self.config.learn.reanalyze_sims or config.sims)


class _Stage:
    """The reanalysis before the learning of a generation."""

    def __init__(
        self, run: RunReanalysis, n: int, on_event: EventCallback, backend: str, spent: Spent
    ) -> None:
        """Prepare, without loading a network.

        Args:
            run: the run.
            n: the generation.
            on_event, backend: see `Run.go`.
            spent: the effort for it in earlier calls.
        """
        self.run, self.n, self.on_event, self.backend = run, n, on_event, backend
        self.folder, self.config = run.path(n, REANALYSIS), run._reanalysis_config(n)
        self.before, self.begun = spent, 0.0
        self.counts, self.stop = ReanalysisCounts(), threading.Event()
        self.total, self.finished = 0, 0
        """Rows to search, and those of the generations that are done."""
        self._evaluators: dict[int, Evaluator] = {}
        self._closing = ExitStack()

    def __enter__(self) -> "_Stage":
        share = self.run.config.learn.reanalyze
        for g in self.run._older(self.n):
            rows = self.run.path(g, "rows.parquet")
            self.total += len(drawn_rows(rows, share, self._seed(g, self.n)))
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    @property
    def worked(self) -> bool:
        """Whether anything had to be searched."""
        return bool(self._evaluators)

    def rows_of(self, g: int, n: int) -> Reanalysis:
        """Make the rows of generation `g` that generation `n` learns, unless they are there."""
        output, share, seed = self.run._rows(g, n), self.run.config.learn.reanalyze, self._seed(g, n)
        network = self.run.path(n - 1, "network.ckpt")
        identity = hash_of(network.read_bytes())
        if output.exists():
            try:
                return read_reanalysis(output, settings_of(self.config, share, seed, identity))
            except ReanalysisError as error:
                output.replace(output.with_suffix(".damaged"))
                self._publish(warning=f"{error}; set aside, making it again")
        if n > g + 1:
            self.rows_of(g, n - 1)
        evaluator = self._evaluator(n, network)
        folder = self.folder / f"{g:04d}-{n:03d}"
        self.counts.rows = self.counts.kept = 0
        with repeated(self._publish, EXCHANGE_SECONDS, self.stop):
            found = reanalyze(
                self.run._rows(g, n - 1),
                output,
                evaluator,
                self.config,
                spec=self.run.spec,
                folder=folder,
                share=share,
                seed=seed,
                network=identity,
                counts=self.counts,
                on_shard=lambda: self._spent().write(self.folder),
                warn=lambda line: self._publish(warning=line),
                stop=self.stop,
            )
        assert found is not None, "an early end is an error, which was raised"
        if n == self.n:
            self.finished += self.counts.rows + found.left
            self.counts.rows = 0
            self._publish()
        return found

    def measured(self, found: dict[int, Reanalysis]) -> dict[str, Any]:
        """Return the measurements of all generations together, and those of each."""
        each = found.values()
        reanalyzed, compared = sum(one.reanalyzed for one in each), sum(one.compared for one in each)
        spent = self._spent()
        changes = sum(one.policy_change * one.compared for one in each)
        values = sum(one.q_change * one.reanalyzed for one in each)
        return {
            "rows": reanalyzed,
            "visits": self.config.sims,
            "left": sum(one.left for one in each),
            "left_games": sum(one.left_games for one in each),
            "policy_change": changes / compared if compared else None,
            "q_change": values / reanalyzed if reanalyzed else None,
            "seconds": round(spent.seconds, 3),
            "rows_per_second": round(reanalyzed / max(spent.seconds, 1e-9), 1),
            "evaluations_per_second": round(spent.evaluations / max(spent.seconds, 1e-9), 1),
            "generations": {str(g): asdict(one) for g, one in found.items()},
        }

    def _seed(self, g: int, n: int) -> int:
        return seed_stream(self.run.config.seed, n, 5, g)

    def _spent(self) -> Spent:
        seconds = time.monotonic() - self.begun if self.begun else 0.0
        return Spent(self.before.seconds + seconds, self.before.evaluations + self.counts.evaluations)

    def _evaluator(self, n: int, network: Path) -> Evaluator:
        """Load the network that reanalyzes for generation `n`, if it is not loaded."""
        if n not in self._evaluators:
            evaluator = self.run._load(network, self.backend)
            self._closing.callback(evaluator.close)
            self._evaluators[n] = evaluator
            compile_reanalysis(self.run.spec, evaluator)  # before the clock of the speed
            self.begun = self.begun or time.monotonic()
        return self._evaluators[n]

    def _publish(self, **info: Any) -> None:
        if self.begun and not info:
            seconds = max(1e-9, time.monotonic() - self.begun)
            info["evaluations_per_second"] = self.counts.evaluations / seconds
        self.on_event(
            RunEvent(self.n, "reanalyze", min(self.total, self.finished + self.counts.rows), self.total, info)
        )
