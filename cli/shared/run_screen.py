"""What `ckai selfplay` shows: before it starts what it will take, then where it is and how it has gone."""

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ckai.cli.shared.output import time_text

if TYPE_CHECKING:
    from ckai.rl.loop.config import RunConfig
    from ckai.rl.loop.run import Run

BARS, CURVE = "▁▂▃▄▅▆▇█", 60
"""Of the line that shows the curve of the Elo, and how many at most."""
SHOWN = 12
"""Generations in the table, the last ones."""
STAGES = {"selfplay": "playing", "learn": "learning", "gate": "gate match"}

EVALUATIONS = 0.85
"""Of each visit."""
PLY_BYTES = 55
"""Of rows, headers and PDN."""
NETWORK_FILES = 2
"""Checkpoints that a generation leaves."""


def estimate(config: "RunConfig", rate: float, network_bytes: int) -> str:
    """Time, memory and disk of a generation, as text.

    Args:
        config: of the run.
        rate: evaluations/s, 0 if nobody knows.
        network_bytes: of a checkpoint.
    """
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.setup import memory

    play, spec = config.selfplay, get_game(config.game)
    visits = play.full_search_prob * play.sims + (1 - play.full_search_prob) * min(
        play.fast_visits, play.sims
    )
    plies = (config.games + config.gate.games) * spec.plies
    time_of = ""
    if rate:
        seconds = plies * visits * EVALUATIONS / rate
        time_of = f"about {time_text(seconds)} of play, "
    disk = (plies * PLY_BYTES + NETWORK_FILES * network_bytes) / 2**20
    return (
        f"a generation takes {time_of}{memory(play, spec) / 2**20:.0f} MiB for the trees, "
        f"{disk:.0f} MiB of disk"
    )


class Screen:
    """A table of the generations and a bar for the work under way, on standard error."""

    def __init__(self, run: "Run", generations: int) -> None:
        self.run, self.generations = run, generations
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.history = run.history()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self._tasks: dict[str, tuple[int, Any]] = {}
        """Generation and bar of each stage under way."""
        self._lock = threading.Lock()
        self._ceiling = run.ceiling
        self._begun, self._over = time.monotonic(), len(self.history)
        self._live = Live(
            console=self.console, get_renderable=self._render, transient=True, refresh_per_second=4
        )

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, markup=False)

    def watch(self, event: Any) -> None:
        """Take an event of the run, from any thread."""
        with self._lock:
            self._take(event)

    def _take(self, event: Any) -> None:
        if "evaluator" in event.info:
            self.say(event.info["evaluator"])
            self._ceiling = self.run.ceiling
            self.say(estimate(self.run.config, self._ceiling, self.run.network.stat().st_size))
        elif "warning" in event.info:
            self.say(f"warning: {event.info['warning']}")
        elif event.stage == "done":
            self._forget(event.generation)
            self.history.append(event.info)
            self.say(describe(event.info))
        else:
            self._update(event)

    def _update(self, event: Any) -> None:
        generation, task = self._tasks.get(event.stage, (0, None))
        if generation != event.generation:
            self._forget(event.generation)
            text = f"generation {event.generation} {STAGES[event.stage]:8}"
            task = self._bars.add_task(text, total=event.total, note="")
            self._tasks[event.stage] = (event.generation, task)
        self._bars.update(task, completed=event.done, note=self._note(event.info))

    def _forget(self, generation: int) -> None:
        """Remove the bar of a generation: it is in one stage at a time, and no two are in the same."""
        for stage, (other, bar) in list(self._tasks.items()):
            if other == generation:
                self._bars.remove_task(bar)
                del self._tasks[stage]

    def _note(self, info: dict[str, Any]) -> str:
        rate = info.get("evaluations_per_second")
        if rate == 0:
            return "starting"
        if rate is not None:
            text = f"{rate:,.0f} evaluations/s"
            if self._ceiling:
                text += f" of {self._ceiling:,.0f}"
            if info.get("cache_hits"):
                text += f", {info['cache_hits']:.0%} cached"
            return text
        if "train_policy_loss" in info:
            return f"policy {info['train_policy_loss']:.3f} value {info['train_value_loss']:.3f}"
        return ""

    def _render(self) -> Group:
        return Group(generations_table(self.history), elo_line(self.history), self._bars, self._left())

    def _left(self) -> str:
        """Time left, as the generations of this start have gone."""
        done = len(self.history) - self._over
        if not done:
            return ""
        seconds = (time.monotonic() - self._begun) / done * (self.generations - len(self.history))
        return f"{len(self.history)} of {self.generations} generations, about {seconds / 60:.0f} minutes left"


def generations_table(history: list[dict[str, Any]]) -> Table:
    """The last generations, one a line."""
    from ckai.rl.loop.report import elo_curve

    table = Table(box=None, pad_edge=False)
    for title in (
        "gen",
        "games",
        "drawn",
        "tables",
        "plies",
        "rows",
        "policy",
        "value",
        "q to z",
        "calibration",
        "match",
        "Elo",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    lines = []
    for measured, elo in zip(history, elo_curve(history), strict=True):
        played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
        calibration = learned.get("heldout_value_calibration_error")
        lines.append(
            (
                str(measured["generation"]),
                f"{played['games']:,}",
                f"{played['drawn'] / played['games']:.0%}",
                f"{played.get('adjudicated', 0) / played['games']:.0%}",
                f"{played['plies_mean']:.0f}",
                f"{learned['rows']:,.0f}",
                f"{learned['train_policy_loss']:.3f}",
                f"{learned['train_value_loss']:.3f}",
                "" if played["q_z_mse"] is None else f"{played['q_z_mse']:.3f}",
                "" if calibration is None else f"{calibration:.3f}",
                f"{match['score']:.0%}" + ("" if measured["accepted"] else " no") if match["games"] else "",
                f"{elo:+.0f}" if match["games"] else "",
            )
        )
    for line in lines[-SHOWN:]:
        table.add_row(*line)
    return table


def elo_line(history: list[dict[str, Any]]) -> str:
    """The curve of the matches in one line, the last generations; empty where there were no matches."""
    from ckai.rl.loop.report import elo_curve

    curve = [0.0, *elo_curve(history)][-CURVE:]
    if not any(curve):
        return ""
    low, high = min(curve), max(curve)
    steps = [round((elo - low) / max(high - low, 1.0) * (len(BARS) - 1)) for elo in curve]
    return f"Elo {low:+.0f} to {high:+.0f}  {''.join(BARS[step] for step in steps)}"


def go(run: "Run", generations: int, evaluator: str, as_json: bool) -> None:
    """Let a run go on, and show it; what came of it goes to standard output."""
    begun = time.monotonic()
    config = run.config
    with Screen(run, generations) as screen:
        screen.say(
            f"{run.folder}: generation {run.generations} of {generations}; {config.games} games a "
            f"generation, {config.selfplay.sims} visits a move, {config.selfplay.in_flight} games at once"
        )
        screen.say(estimate(config, run.ceiling, run.network.stat().st_size))
        try:
            run.go(generations, screen.watch, backend=evaluator)
        except KeyboardInterrupt:
            screen.say(f"stopped; continue with: ckai selfplay --run {run.folder}")
            raise
    history = run.history()
    result = {
        "run": str(run.folder),
        "generations": run.generations,
        "network": str(run.folder / "best.ckpt"),
        "accepted": sum(bool(h["accepted"]) for h in history),
        "seconds": round(time.monotonic() - begun, 3),
    }
    if as_json:
        click.echo(json.dumps({**result, "history": history}))
    else:
        click.echo(
            f"{result['network']}: {result['accepted']} of {result['generations']} new networks accepted "
            f"(metrics.csv and metrics.png beside it)"
        )


def describe(measured: dict[str, Any]) -> str:
    """One line on a generation that is over."""
    played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
    text = (
        f"generation {measured['generation']}: {played['games']} games in {played['seconds']:.0f} s "
        f"({played['black_won']} black, {played['drawn']} drawn, {played['white_won']} white"
        f"{_endings(played)}), "
        f"loss {learned['train_policy_loss']:.3f} + {learned['train_value_loss']:.3f}"
    )
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": refused, the old network stays")


def _endings(played: dict[str, Any]) -> str:
    """How games ended other than by rule, or where their z is from."""
    text = ""
    if played.get("adjudicated"):
        text += f", {played['adjudicated'] / played['games']:.0%} by the tables"
    if played.get("labelled"):
        text += f", z of {played['labelled'] / played['rows']:.0%} of the rows by the tables"
    if "resigned" in played:
        text += f", {played['resigned'] / played['games']:.0%} given up"
        if played["played_out"]:
            text += f", wrong in {played['wrongly']} of {played['played_out']} played out"
    for generation, told in played.get("pool", {}).items():
        text += f", +{told['won']} ={told['drawn']} -{told['lost']} against generation {generation}"
    return text
