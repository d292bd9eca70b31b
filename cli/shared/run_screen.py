"""The screen of `ckai selfplay`: a table of generations, and progress bars."""

import threading
import time
from typing import TYPE_CHECKING, Any

import click
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ckai.cli.shared.output import ProgressLines, count_text, print_json, stderr_console, time_text
from ckai.cli.shared.run_estimate import estimate, estimate_text
from ckai.cli.shared.run_tables import generation_text, generations_table, workers_table

if TYPE_CHECKING:
    from ckai.rl.run.events import RunEvent
    from ckai.rl.run.on_ray import RayWorkers
    from ckai.rl.run.run import Run

STAGES = {"selfplay": "playing", "learn": "training", "gate": "gate match"}


class RunScreen:
    """A table of the generations and a progress bar for each active stage, on standard error.

    If that is not a terminal, it is a line for each finished generation, and one a minute before it.

    Args:
        run: the run.
        generations: total number of generations to reach.
    """

    def __init__(self, run: "Run", generations: int) -> None:
        self.run, self.generations = run, generations
        self.console = stderr_console()
        self.history = run.history()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self._tasks: dict[str, tuple[int, Any, ProgressLines]] = {}
        """Generation, bar and lines of each active stage."""
        self._lock = threading.Lock()
        self._workers: dict[str, Any] = {}
        """What the last event of self-play says of workers."""
        self._ceiling = 0.0
        self._begun, self._done_before = time.monotonic(), len(self.history)
        self._live = Live(
            console=self.console, get_renderable=self._render, transient=True, refresh_per_second=4
        )

    def __enter__(self) -> "RunScreen":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def message(self, text: str) -> None:
        """Print a line above the table."""
        self.console.print(text, markup=False)

    def on_event(self, event: "RunEvent") -> None:
        """Show an event of the run; may be called from any thread."""
        with self._lock:
            self._handle(event)

    def _handle(self, event: "RunEvent") -> None:
        if "evaluator" in event.info:
            self._ceiling = event.info["ceiling"]
            self.message(f"evaluator {event.info['evaluator']}: {self._ceiling:,.0f} evaluations/s alone")
            size = self.run.network.stat().st_size
            self.message(estimate_text(estimate(self.run.config, self._ceiling, size)))
        elif "warning" in event.info:
            self.message(f"ckai: warning: {event.info['warning']}")
        elif event.stage == "done":
            self._remove_bar(event.generation)
            self.history.append(event.info)
            self.message(generation_text(event.info))
        else:
            self._update(event)

    def _update(self, event: "RunEvent") -> None:
        if event.stage == "selfplay":
            self._workers = event.info.get("workers", {})
        generation = self._tasks[event.stage][0] if event.stage in self._tasks else 0
        if generation != event.generation:
            self._remove_bar(generation)
            self._remove_bar(event.generation)
            text = f"gen {event.generation} {STAGES[event.stage]:8}"
            task = self._bars.add_task(text, total=event.total, note="")
            self._tasks[event.stage] = (event.generation, task, ProgressLines(self.console))
        _, task, lines = self._tasks[event.stage]
        note = self._note(event.info)
        self._bars.update(task, completed=event.done, note=note)
        text = f"generation {event.generation}, {STAGES[event.stage]}: {event.done:,} of {event.total:,}"
        lines.update(event.done, event.total, f"{text}, {note}" if note else text)

    def _remove_bar(self, generation: int) -> None:
        """Remove the bar of a generation, which is in one stage at a time."""
        for stage, (other, bar, _) in list(self._tasks.items()):
            if other == generation:
                self._bars.remove_task(bar)
                del self._tasks[stage]

    def _note(self, info: dict[str, Any]) -> str:
        rate = info.get("evaluations_per_second")
        if rate == 0:
            return "starting"
        if rate is not None:
            text = f"{rate:,.0f} eval/s"
            if self._ceiling:
                text += f" ({rate / self._ceiling:.0%})"
            return text
        if "train_policy_loss" in info:
            return f"policy {info['train_policy_loss']:.3f} value {info['train_value_loss']:.3f}"
        return ""

    def _render(self) -> Group:
        return Group(
            generations_table(self.history),
            self._bars,
            workers_table(self._workers),
            self._left(),
        )

    def _left(self) -> str:
        """Estimate the time left from the generations finished since the start."""
        done = len(self.history) - self._done_before
        if not done:
            return ""
        seconds = (time.monotonic() - self._begun) / done * (self.generations - len(self.history))
        return f"{len(self.history)} of {self.generations} generations, about {time_text(seconds)} left"


def continue_run(
    run: "Run", generations: int, evaluator: str, ray: "RayWorkers | None", as_json: bool
) -> None:
    """Continue a run to a number of generations, with its screen on standard error; print the result."""
    from ckai.rl.run.report import best_generation

    begun = time.monotonic()
    config = run.config
    with RunScreen(run, generations) as screen:
        if run.generations >= generations:
            screen.message(
                f"{run.folder}: already has {count_text(run.generations, 'generation')}; continue with "
                f"--generations {run.generations + 1} or more"
            )
        else:
            before = f" (before: {run.target})" if run.target not in (0, generations) else ""
            screen.message(
                f"{run.folder}: generation {run.generations + 1} of {generations}{before}; "
                f"{count_text(config.games, 'game')} per generation, {config.selfplay.sims} visits per move, "
                f"{config.selfplay.in_flight} games at once"
            )
        run.go(generations, screen.on_event, backend=evaluator, ray=ray)
    history = run.history()
    result = {
        "run": str(run.folder),
        "generations": run.generations,
        "network": str(run.folder / "best.ckpt"),
        "best": best_generation(history),
        "latest": str(run.folder / "latest.ckpt"),
        "accepted": sum(bool(h["accepted"]) for h in history),
        "seconds": round(time.monotonic() - begun, 3),
    }
    matches = any(measured["match"]["games"] for measured in history)
    why = "the best by the gate matches" if matches else "the newest"
    if as_json:
        print_json({**result, "history": history})
    else:
        click.echo(
            f"{result['network']}: the network of generation {result['best']}, {why}; "
            f"{result['accepted']} of {count_text(run.generations, 'new network')} accepted "
            "(latest.ckpt, metrics.csv and metrics.png next to it)"
        )
