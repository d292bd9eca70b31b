"""The screen of `ckai selfplay`: progress bars, and a line for each generation."""

import threading
import time
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ckai.cli.shared.console import ProgressLines, stderr_console
from ckai.cli.shared.output import count_text, print_json
from ckai.cli.shared.run_estimate import estimate, estimate_text

if TYPE_CHECKING:
    from ckai.rl.run.events import RunEvent
    from ckai.rl.run.on_ray import RayWorkers
    from ckai.rl.run.run import Run

STAGES = {"selfplay": "playing", "learn": "training", "gate": "gate match"}


class RunScreen:
    """A line for each finished generation and a progress bar for each stage in progress, on standard error.

    If that is not a terminal, there is a line a minute in place of the bars.
    """

    def __init__(self, run: "Run", generations: int) -> None:
        self.run, self._console = run, stderr_console()
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._all = self.bars.add_task("generations", total=generations, completed=run.generations, note="")
        self._stages: dict[tuple[int, str], tuple[Any, ProgressLines]] = {}
        """Bar and lines of each stage in progress, by generation and stage."""
        self._lock = threading.Lock()
        self._ceiling = 0.0

    def on_event(self, event: "RunEvent") -> None:
        """Show an event of the run; may be called from any thread."""
        with self._lock:
            if "evaluator" in event.info:
                self._ceiling = event.info["ceiling"]
                self._console.print(
                    f"evaluator {event.info['evaluator']}: {self._ceiling:,.0f} evaluations/s alone"
                )
                size = self.run.network.stat().st_size
                self._console.print(estimate_text(estimate(self.run.config, self._ceiling, size)))
            elif "warning" in event.info:
                self._console.print(f"ckai: warning: {event.info['warning']}")
            elif event.stage == "done":
                self._end_bars(event)
                self.bars.update(self._all, completed=event.generation)
                self._console.print(generation_text(event.info))
            else:
                self._show(event)

    def _show(self, event: "RunEvent") -> None:
        key, name = (event.generation, event.stage), STAGES[event.stage]
        if key not in self._stages:
            self._end_bars(event)
            task = self.bars.add_task(f"gen {event.generation} {name}", total=event.total, note="")
            self._stages[key] = task, ProgressLines(self._console)
        task, lines = self._stages[key]
        note = self._note(event.info)
        self.bars.update(task, completed=event.done, note=note)
        text = f"generation {event.generation}, {name}: {event.done:,} of {event.total:,}"
        lines.update(f"{text}, {note}" if note else text)

    def _end_bars(self, event: "RunEvent") -> None:
        """Remove the bars of what an event ends: a generation is in one stage at a time, and the reverse."""
        for generation, stage in [*self._stages]:
            if generation == event.generation or stage == event.stage:
                self.bars.remove_task(self._stages.pop((generation, stage))[0])

    def _note(self, info: dict[str, Any]) -> str:
        rate = info.get("evaluations_per_second")
        if rate == 0:
            return "starting"
        if rate is not None:
            share = f" ({rate / self._ceiling:.0%})" if self._ceiling else ""
            workers = f", {count_text(len(info['workers']), 'worker')}" if info.get("workers") else ""
            return f"{rate:,.0f} eval/s{share}{workers}"
        if "train_policy_loss" in info:
            return f"policy {info['train_policy_loss']:.3f} value {info['train_value_loss']:.3f}"
        return ""


def generation_text(measured: dict[str, Any]) -> str:
    """Format the measurements of a finished generation, see `Run.history`, in one line."""
    played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
    stopped = f", stopped {played['unknown']}" if played.get("unknown") else ""
    text = (
        f"generation {measured['generation']}: {count_text(played['games'], 'game')} in "
        f"{played['seconds']:.0f} s (Black won {played['black_won']}, drawn {played['drawn']}, "
        f"White won {played['white_won']}{stopped}), "
        f"policy loss {learned['train_policy_loss']:.3f}, value loss {learned['train_value_loss']:.3f}"
    )
    if played.get("adjudicated"):
        text += f"; {played['adjudicated'] / played['games']:.0%} adjudicated by tablebase"
    if "resigned" in played:
        text += f"; {played['resigned'] / played['games']:.0%} resigned"
        if played["played_out"]:
            text += f", wrong in {played['wrongly']} of {played['played_out']} that were played out"
    for generation, score in played.get("pool", {}).items():
        text += f"; +{score['won']} ={score['drawn']} -{score['lost']} against generation {generation}"
    if "workers" in played:
        workers = played["workers"]
        text += f"; {count_text(workers['count'], 'worker')} played {count_text(workers['games'], 'game')}"
        text += f", {count_text(workers['refused'], 'shard')} left out" if workers["refused"] else ""
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": rejected, keeping the old network")


def continue_run(
    run: "Run", generations: int, evaluator: str, ray: "RayWorkers | None", as_json: bool
) -> None:
    """Continue a run to a number of generations, with its screen on standard error; print the result."""
    from ckai.rl.run.report import best_generation

    begun, config = time.monotonic(), run.config
    screen = RunScreen(run, generations)
    say = screen.bars.console.print
    with screen.bars:
        if run.generations >= generations:
            say(
                f"{run.folder}: already has {count_text(run.generations, 'generation')}; continue with "
                f"--generations {run.generations + 1} or more"
            )
        else:
            say(
                f"{run.folder}: generation {run.generations + 1} of {generations}; "
                f"{count_text(config.games, 'game')} per generation, {config.selfplay.sims} visits per move, "
                f"{config.selfplay.in_flight} games at once"
            )
        run.go(generations, screen.on_event, backend=evaluator, ray=ray)
    history = run.history()
    best, accepted = best_generation(history), sum(bool(measured["accepted"]) for measured in history)
    network = run.folder / "best.ckpt"
    if as_json:
        told = {"run": str(run.folder), "generations": run.generations, "network": str(network)}
        told |= {"best": best, "latest": str(run.folder / "latest.ckpt"), "accepted": accepted}
        print_json({**told, "seconds": round(time.monotonic() - begun, 3), "history": history})
        return
    matches = any(measured["match"]["games"] for measured in history)
    why = "the best by the gate matches" if matches else "the newest"
    click.echo(
        f"{network}: the network of generation {best}, {why}; {accepted} of "
        f"{count_text(run.generations, 'new network')} accepted (latest.ckpt, metrics.csv and metrics.png "
        "next to it)"
    )
