"""The screen of `ckai selfplay`: progress bars, a line for each generation, what a generation will cost."""

import time
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.console import ProgressBars, stderr_console
from ckai.cli.shared.output import count_text, print_json, time_text

if TYPE_CHECKING:
    from ckai.models.network import Network
    from ckai.rl.run.config import RunConfig
    from ckai.rl.run.run import Run, RunEvent
    from ckai.rl.run.worker import RayWorkers

STAGES = {"selfplay": "playing", "learn": "training", "gate": "gate match"}


class RunScreen:
    """A line for each finished generation and a `progress_bar` for each stage in progress."""

    def __init__(self, run: "Run", generations: int) -> None:
        self.run, self._console = run, stderr_console()
        self.bars = ProgressBars(self._console)
        self._all = self.bars.add_task("generations", total=generations, completed=run.generations, note="")
        self._stages = {stage: self.bars.add_task(STAGES[stage], visible=False, note="") for stage in STAGES}
        self._ceiling = 0.0

    def on_event(self, event: "RunEvent") -> None:
        """Show an event of the run; may be called from any thread."""
        if "evaluator" in event.info:
            from ckai.rl.bench import estimate

            self._ceiling, size = event.info["ceiling"], self.run.network.stat().st_size
            alone = f"evaluator {event.info['evaluator']}: {self._ceiling:,.0f} evaluations/s alone"
            self._console.print(alone)
            self._console.print(estimate_text(estimate(self.run.config, self._ceiling, size)))
        elif "warning" in event.info:
            self._console.print(f"ckai: warning: {event.info['warning']}")
        elif event.stage == "done":
            for task in self._stages.values():
                self.bars.reset(task, visible=False)
            self.bars.update(self._all, completed=event.generation)
            self._console.print(generation_text(event.info))
        else:
            title, note = f"gen {event.generation} {STAGES[event.stage]}", self._note(event.info)
            task = self._stages[event.stage]
            self.bars.update(task, description=title, note=note, visible=True)
            self.bars.update(task, completed=event.done, total=event.total)

    def _note(self, info: dict[str, Any]) -> str:
        rate = info.get("evaluations_per_second")
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
    if workers := played.get("workers"):
        text += f"; {count_text(workers['count'], 'worker')} played {count_text(workers['games'], 'game')}"
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": rejected, keeping the old network")


def continue_run(
    run: "Run", generations: int, evaluator: str, ray: "RayWorkers | None", as_json: bool
) -> None:
    """Continue a run to a number of generations, with its screen on standard error; print the result."""
    from ckai.rl.run.dashboard import best_generation

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
            most = config.selfplay.in_flight
            say(
                f"{run.folder}: generation {run.generations + 1} of {generations}; "
                f"{count_text(config.games, 'game')} per generation, {config.selfplay.sims} visits per move, "
                f"{most if config.overlap else min(most, config.games)} games at once"
            )
        run.go(generations, screen.on_event, backend=evaluator, ray=ray)
    history, network = run.history(), run.folder / "best.ckpt"
    best, accepted = best_generation(history), sum(measured["accepted"] for measured in history)
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


def estimate_text(found: dict[str, float]) -> str:
    """Return an estimate as text."""
    return (
        f"each generation takes about {time_text(max(1, found['seconds']))} of games, "
        f"{found['memory'] / 2**20:.0f} MiB of memory for search trees and "
        f"{max(1, found['disk'] / 2**20):.0f} MiB of disk"
    )


def print_dry_run(config: "RunConfig", network: "Network", evaluator: str) -> None:
    """Measure the network on one core, or on the GPU, and print what a generation will take here."""
    from ckai.models.inference.backends import best_rate, make_evaluator
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.rl.bench import estimate

    loaded, threads = make_evaluator(network, evaluator), config.selfplay.group_count
    callers = threads if isinstance(loaded, CudaEvaluator) else 1  # the threads share a GPU
    batch = -(-config.selfplay.in_flight // callers)
    rate = best_rate(loaded, network.encode, [batch], [callers])[0] * (threads // callers)
    found = estimate(config, rate, 4 * sum(weights.numel() for weights in network.parameters()))
    cores = count_text(threads, "thread")
    click.echo(f"{loaded.name}: {rate:,.0f} eval/s with {cores}, if each is as fast as one alone")
    click.echo(f"{estimate_text(found)}; learning comes on top")
