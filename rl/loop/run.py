"""A self-play run: generations of self-play, training and a gate match, in a folder that survives a kill.

    config.json              the settings; target.json has the number of generations asked for
    gen_0000/network.ckpt    the first network
    gen_0001/shards/         finished games, until all games are finished
    gen_0001/rows.parquet    rows of the generation's games; also games.pdn and rows.headers.parquet
    gen_0001/selfplay.json   what was measured of them
    gen_0001/training.ckpt   state of the training, until it is finished
    gen_0001/candidate.ckpt  the trained network
    gen_0001/match.json      result of the gate match against the old network; games in match.pdn
    gen_0001/network.ckpt    the network that plays the next generation
    gen_0001/done.json       all measurements; marks the generation as finished
    latest.ckpt              the network of the last finished generation, with which self-play continues
    best.ckpt                the network with the highest Elo in metrics.csv; without matches the latest
    metrics.csv              the measurements of every done.json as a table;
                             also as metrics.png and in tensorboard/

Every file is written under a temporary name and renamed, and each stage reads only complete files of earlier
stages. So a killed run continues where it was when it is started again.

While the run is played, the folder has `joined/` too, for workers that join, see `ckai.rl.workers.folder`.

With `overlap`, a generation is played during the training and gate match of the previous one, by the network
of two generations ago: self-play on a GPU and training on the CPU then do not wait for each other.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ckai.datasets.data_module import Batch
from ckai.datasets.files import remove_temporaries, write_whole
from ckai.datasets.tables import Tables
from ckai.rl.engine.tree import TreeEngine, by_visits
from ckai.rl.games.rng import seed_stream
from ckai.rl.loop.config import MAX_GENERATIONS
from ckai.rl.loop.dashboard import write_dashboard
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import RunError, fresh_folder, read_measured
from ckai.rl.loop.gate import GATE_PART, play_gate_match
from ckai.rl.loop.learning import learn, window_of
from ckai.rl.loop.playing import RunSelfPlay
from ckai.rl.loop.report import best_generation
from ckai.rl.search.threads import running
from ckai.rl.workers.folder import FOLDER as JOINED
from ckai.rl.workers.folder import JoinedWorkers, Workers, remove_joined


class Run(RunSelfPlay):
    """A run that can be continued; made by `Run.create` or `Run.open`."""

    # --- generations --------------------------------------------------------------------------------

    def go(
        self,
        generations: int,
        on_event: EventCallback,
        *,
        backend: str = "torch",
        workers: Workers | None = None,
    ) -> None:
        """Continue until the run has `generations` finished generations in total.

        Args:
            generations: total number, including those already finished.
            on_event: called with the progress of every stage, see `RunEvent`.
            backend: evaluator backend, see `load_evaluator`.
            workers: other processes that play; None: those that join in the run's folder.

        Raises:
            RunError: the run is locked by another process, its files are damaged, or it has more than
                `MAX_GENERATIONS` generations.
            CheckpointError, DatasetError, TableError: a network, rows or tablebases cannot be used.
            BackendError: the evaluator cannot run the network.
            TrainingError: the loss is not finite.
            WriteError: the folder cannot be written.
        """
        if generations > MAX_GENERATIONS:
            raise RunError(
                f"{self.folder}: expected at most {MAX_GENERATIONS:,} generations, found {generations:,}; "
                "begin a new run from its latest.ckpt"
            )
        with self.lock():
            remove_temporaries(self.folder, skip=JOINED)
            if generations > self.generations:
                self.set_target(generations)
            workers = workers or JoinedWorkers(self.folder)
            finished = time.monotonic()
            try:
                while self.generations < generations:
                    n = self.generations + 1
                    played = self._play(n, on_event, backend, workers)
                    if "workers" in played:
                        played["workers"]["learner_waited"] = round(time.monotonic() - finished, 3)
                    ahead = self.config.overlap and n < generations
                    with self._playing(n + 1, on_event, backend, workers) if ahead else nullcontext():
                        self._finish(n, played, on_event, backend)
                        finished = time.monotonic()
            finally:
                workers.close()
            if self.generations >= self.target:
                remove_joined(self.folder)
            self._publish()

    @contextmanager
    def _playing(self, n: int, on_event: EventCallback, backend: str, workers: Workers) -> Iterator[None]:
        """Play generation `n` in a thread during the block; then wait for its games."""
        stop = threading.Event()

        def work() -> None:
            try:
                self._play(n, on_event, backend, workers, stop)
            except BaseException as error:
                warning = f"self-play stopped ({error}); the run ends after this training"
                on_event(RunEvent(n, "selfplay", 0, self.config.games, {"warning": warning}))
                raise

        with running([work], stop, name="generation"):
            yield

    def _finish(self, n: int, played: dict[str, Any], on_event: EventCallback, backend: str) -> None:
        """Train on a generation that was played, play its gate match, and mark it as finished."""
        learned = self._learn(n, on_event)
        gate = self._play_gate(n, on_event, backend)
        accepted = gate["accepted"]
        chosen = self.path(n, "candidate.ckpt") if accepted else self.path(n - 1, "network.ckpt")
        _copy(chosen, self.path(n, "network.ckpt"))
        measured = {
            "generation": n,
            "selfplay": played,
            "learn": learned,
            "match": gate,
            "accepted": accepted,
        }
        write_whole(self.path(n, "done.json"), json.dumps(measured, indent=2) + "\n")
        self._publish()
        on_event(RunEvent(n, "done", 1, 1, measured))

    def _publish(self) -> None:
        """Update the files made from the finished generations: latest.ckpt, best.ckpt and the metrics."""
        history = self.history()
        _copy(self.network, self.folder / "latest.ckpt")
        _copy(self.path(best_generation(history), "network.ckpt"), self.folder / "best.ckpt")
        if history:
            write_dashboard(self.folder, history)

    # --- training -----------------------------------------------------------------------------------

    def transform(self, batch: Batch) -> Batch:
        """Return the batch to train on in place of a training batch; override it for targets of your own.

        Args:
            batch: as it is read from the rows, see `ckai.datasets.data_module`.
        """
        return batch

    def _learn(self, n: int, on_event: EventCallback) -> dict[str, Any]:
        settings = self.config.learn
        window = window_of(n, settings)
        return learn(
            self.path(n - 1, "network.ckpt"),
            [self.path(g, "rows.parquet") for g in window.generations],
            window.weights,
            self.path(n, "candidate.ckpt"),
            settings,
            generation=n,
            seed=seed_stream(self.config.seed, n, 1) % 2**31,
            game=self.config.game,
            run=self.folder.name,
            on_event=on_event,
            transform=self.transform,
        )

    # --- gate match ----------------------------------------------------------------------------------

    def _play_gate(self, n: int, on_event: EventCallback, backend: str) -> dict[str, Any]:
        path, gate = self.path(n, "match.json"), self.config.gate
        if not path.exists():
            measured: dict[str, Any] = {"games": 0, "accepted": True}
            if gate.games:
                with self._gate_engines(n, backend) as (new, old):
                    measured = play_gate_match(
                        new,
                        old,
                        gate,
                        path,
                        names=(
                            f"{self.folder.name} gen {n} candidate",
                            f"{self.folder.name} gen {n - 1} network",
                        ),
                        generation=n,
                        seed=seed_stream(self.config.seed, n, 2),
                        spec=self.spec,
                        max_plies=self.config.selfplay.max_plies,
                        on_event=on_event,
                    )
            write_whole(path, json.dumps(measured) + "\n")
        self.path(n, GATE_PART).unlink(missing_ok=True)
        return read_measured(path)

    @contextmanager
    def _gate_engines(self, n: int, backend: str) -> Iterator[list[TreeEngine]]:
        """Yield the engines of the gate match of generation `n`: the new network and the old one.

        They have the constants of play, as best.ckpt has in use, and none of self-play.
        """
        selfplay = self.config.selfplay
        tables = Tables.open(selfplay.tables) if selfplay.tables else None
        with ExitStack() as stack:
            engines = []
            for network in (self.path(n, "candidate.ckpt"), self.path(n - 1, "network.ckpt")):
                loaded = self._load(network, backend)
                engine = by_visits(loaded, selfplay.sims, tables=tables, spec=self.spec)
                engine.owns_evaluator = True
                engines.append(stack.enter_context(engine))
            yield engines


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that the target is never half written."""
    write_whole(target, source.read_bytes())


__all__ = ["Run", "RunError", "RunEvent", "fresh_folder"]
