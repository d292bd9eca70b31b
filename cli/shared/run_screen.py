"""The screen of `ckai selfplay`: estimated cost, a table of generations, and progress bars."""

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ckai.cli.shared.output import ProgressLines, count_text, time_text

if TYPE_CHECKING:
    from ckai.rl.leases.workers import Workers
    from ckai.rl.loop.config import RunConfig
    from ckai.rl.loop.events import RunEvent
    from ckai.rl.loop.run import Run

BARS, CURVE = "▁▂▃▄▅▆▇█", 60
"""Characters of the Elo curve, and its greatest length."""
SHOWN = 12
"""Most generations in the table."""
STAGES = {"selfplay": "playing", "reanalyze": "reanalysis", "learn": "training", "gate": "gate match"}
WIDE = 80
"""Columns of the terminal from which the table shows all its columns."""
DETAILS = ("tb", "q-z", "calib")
"""Columns left out on narrower terminals."""

EVALUATIONS = 0.85
"""Network evaluations per visit, on average."""
EMPTY_TREE = 1.4
"""Network evaluations of a search in an empty tree, for each of one that begins with an earlier tree."""
PLY_BYTES = 55
"""Disk space per ply in bytes: rows, headers and PDN."""
NETWORK_FILES = 2
"""Checkpoints per generation."""


def estimate(config: "RunConfig", rate: float, network_bytes: int) -> str:
    """Estimate the time, memory and disk space of a generation, as text.

    Args:
        config: settings of the run.
        rate: evaluations/s of the network; 0 if unknown.
        network_bytes: size of a checkpoint.
    """
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.setup import memory

    play, spec = config.selfplay, get_game(config.game)
    plies = (config.games + config.gate.games) * spec.plies
    time_of = ""
    if rate:
        gate = config.gate.games * (config.gate.sims or play.sims) * spec.plies * EVALUATIONS
        seconds = (evaluations_of(config, config.games) + gate + reanalysis_of(config)) / rate
        work = "games and reanalysis" if config.learn.reanalyze else "games"
        time_of = f"about {time_text(max(1, seconds))} of {work}, "
    disk = (plies * PLY_BYTES + NETWORK_FILES * network_bytes) / 2**20
    return (
        f"each generation takes {time_of}{memory(play, spec) / 2**20:.0f} MiB of memory for search trees and "
        f"{max(1, disk):.0f} MiB of disk"
    )


def evaluations_of(config: "RunConfig", games: int) -> float:
    """Estimate the network evaluations of games of self-play."""
    from ckai.rl.games.registry import get_game

    play = config.selfplay
    visits = play.full_search_prob * play.sims + (1 - play.full_search_prob) * min(
        play.fast_visits, play.sims
    )
    return games * visits * get_game(config.game).plies * EVALUATIONS


def reanalysis_of(config: "RunConfig") -> float:
    """Estimate the network evaluations of the reanalysis of a generation with a full window."""
    from ckai.rl.games.registry import get_game

    learn = config.learn
    rows = learn.reanalyze * max(0, learn.window - 1) * config.games * get_game(config.game).plies
    return rows * (learn.reanalyze_sims or config.selfplay.sims) * EVALUATIONS * EMPTY_TREE


class RunScreen:
    """A table of the generations and a progress bar for each active stage, on standard error.

    If that is not a terminal, it is a line for each finished generation, and one a minute before it.

    Args:
        run: the run.
        generations: total number of generations to reach.
        evaluator: evaluator backend, as for `Run.go`.
    """

    def __init__(self, run: "Run", generations: int, evaluator: str) -> None:
        self.run, self.generations, self.evaluator = run, generations, evaluator
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
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
        self._ceiling = run.ceiling(evaluator)
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
            self.message(event.info["evaluator"])
            self._ceiling = self.run.ceiling(self.evaluator)
            self.message(estimate(self.run.config, self._ceiling, self.run.network.stat().st_size))
        elif "warning" in event.info:
            self.message(f"warning: {event.info['warning']}")
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
            if info.get("cache_hits"):
                text += f", {info['cache_hits']:.0%} cached"
            return text
        if "train_policy_loss" in info:
            return f"policy {info['train_policy_loss']:.3f} value {info['train_value_loss']:.3f}"
        return ""

    def _render(self) -> Group:
        return Group(
            generations_table(self.history, self.console.width),
            elo_line(self.history),
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


def generations_table(history: list[dict[str, Any]], width: int = 80) -> Table:
    """Make a table of the last generations, one per line.

    Args:
        history: measurements by generation, as in `done.json`.
        width: columns of the terminal; below `WIDE` the `DETAILS` are left out.
    """
    from ckai.rl.loop.report import elo_curve

    rows = []
    for measured, elo in zip(history, elo_curve(history), strict=True):
        played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
        calibration = learned.get("heldout_value_calibration_error")
        rows.append(
            {
                "gen": str(measured["generation"]),
                "games": f"{played['games']:,}",
                "drawn": f"{played['drawn'] / played['games']:.0%}",
                "tb": f"{played.get('adjudicated', 0) / played['games']:.0%}",
                "plies": f"{played['plies_mean']:.0f}",
                "rows": f"{learned['rows']:,.0f}",
                "policy": f"{learned['train_policy_loss']:.3f}",
                "value": f"{learned['train_value_loss']:.3f}",
                "q-z": "" if played["q_z_mse"] is None else f"{played['q_z_mse']:.3f}",
                "calib": "" if calibration is None else f"{calibration:.3f}",
                "match": f"{match['score']:.0%}" if match["games"] else "",
                "gate": "pass" if measured["accepted"] else "fail",
                "Elo": f"{elo:+.0f}" if match["games"] else "",
            }
        )
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    columns = [title for title in (rows[0] if rows else ()) if width >= WIDE or title not in DETAILS]
    for title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows[-SHOWN:]:
        table.add_row(*(row[title] for title in columns))
    return table


def workers_table(workers: dict[str, Any]) -> Group:
    """Make a table of the processes that play for the run; empty without any.

    Args:
        workers: `workers` of an event of self-play, see `ckai.rl.loop.playing`.
    """
    if not workers:
        return Group()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("worker", "games", "games/min", "eval/s"):
        table.add_column(title, justify="left" if title == "worker" else "right", no_wrap=True)
    for name, worker in sorted(workers["alive"].items())[:SHOWN]:
        rates = (f"{worker['games_per_minute']:.1f}", f"{worker['evaluations_per_second']:,.0f}")
        table.add_row(name, str(worker["games"]), *rates)
    alive = count_text(len(workers["alive"]), "worker")
    line = f"{alive}, {workers['out']} leases out, {workers['taken_back']} taken back"
    if workers["late"]:
        line += f", {count_text(workers['late'], 'late game')} out"
    return Group(table, f"{line}, {workers['moved'] / 2**20:.1f} MiB moved")


def elo_line(history: list[dict[str, Any]]) -> str:
    """Draw the Elo curve of the last generations in one line; empty without matches."""
    from ckai.rl.loop.report import elo_curve

    curve = [0.0, *elo_curve(history)][-CURVE:]
    if not any(curve):
        return ""
    low, high = min(curve), max(curve)
    steps = [round((elo - low) / max(high - low, 1.0) * (len(BARS) - 1)) for elo in curve]
    return f"Elo {low:+.0f} to {high:+.0f}  {''.join(BARS[step] for step in steps)}"


def continue_run(run: "Run", generations: int, evaluator: str, workers: "Workers", as_json: bool) -> None:
    """Continue a run with its screen on standard error, and print the result on standard output.

    Args:
        run: the run.
        generations: total number of generations to reach.
        evaluator: evaluator backend.
        workers: other processes that play.
        as_json: print the result as JSON.
    """
    from ckai.rl.loop.report import best_generation

    begun = time.monotonic()
    config = run.config
    with RunScreen(run, generations, evaluator) as screen:
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
            ceiling = run.ceiling(evaluator)
            if ceiling or evaluator != "fastest":  # else it follows the trial
                screen.message(estimate(config, ceiling, run.network.stat().st_size))
        run.go(generations, screen.on_event, backend=evaluator, workers=workers)
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
        click.echo(json.dumps({**result, "history": history}))
    else:
        click.echo(
            f"{result['network']}: the network of generation {result['best']}, {why}; "
            f"{result['accepted']} of {count_text(run.generations, 'new network')} accepted "
            "(latest.ckpt, metrics.csv and metrics.png next to it)"
        )


def generation_text(measured: dict[str, Any]) -> str:
    """Format the measurements of a finished generation, as in `done.json`, in one line."""
    played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
    text = (
        f"generation {measured['generation']}: {count_text(played['games'], 'game')} in "
        f"{played['seconds']:.0f} s (Black won {played['black_won']}, drawn {played['drawn']}, "
        f"White won {played['white_won']}{_endings(played)}), {_reanalysis_text(measured.get('reanalyze'))}"
        f"policy loss {learned['train_policy_loss']:.3f}, value loss {learned['train_value_loss']:.3f}"
    )
    if "workers" in played:
        text += f"; {_workers_text(played['workers'])}"
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": rejected, keeping the old network")


def _reanalysis_text(measured: dict[str, Any] | None) -> str:
    """Format what the reanalysis before the learning did, with a comma after it; empty without one."""
    if measured is None:
        return ""
    text = f"{count_text(measured['rows'], 'row')} reanalyzed at {measured['rows_per_second']:,.0f}/s"
    if measured["policy_change"] is not None:
        text += f" (policy changed by {measured['policy_change']:.3f} nats)"
    if measured["left"]:
        text += f", {count_text(measured['left'], 'row')} left as they were"
    return f"{text}, "


def _workers_text(counts: dict[str, Any]) -> str:
    """Format what workers did for a generation."""
    text = f"{count_text(counts['count'], 'worker')} played {count_text(counts['games'], 'game')}"
    if counts["taken_back"]:
        text += f", {count_text(counts['taken_back'], 'lease')} taken back"
    if counts["refused"]:
        text += f", {count_text(counts['refused'], 'shard')} refused"
    # Measurements of earlier versions have none of these.
    if counts.get("late"):
        text += f", {count_text(counts['late'], 'game')} late"
    if counts.get("carried"):
        text += f", {count_text(counts['carried'], 'game')} of earlier generations"
    if counts.get("stale"):
        text += f", {count_text(counts['stale'], 'game')} given up as stale"
    waited = counts.get("learner_waited")
    return text + ("" if waited is None else f", learning waited {waited:.0f} s")


def _endings(played: dict[str, Any]) -> str:
    """Format how games ended other than by rule, and results that are from tablebases."""
    text = f", stopped {played['unknown']}" if played.get("unknown") else ""
    if played.get("adjudicated"):
        text += f"; {played['adjudicated'] / played['games']:.0%} adjudicated by tablebase"
    if played.get("labelled"):
        text += f"; z from tablebases in {played['labelled'] / played['rows']:.0%} of the rows"
    if "resigned" in played:
        text += f"; {played['resigned'] / played['games']:.0%} resigned"
        if played["played_out"]:
            text += f", wrongly in {played['wrongly']} of {played['played_out']} games played out"
    for generation, score in played.get("pool", {}).items():
        text += f"; +{score['won']} ={score['drawn']} -{score['lost']} against generation {generation}"
    return text
