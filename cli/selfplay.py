"""`ckai selfplay`: generations of games against itself."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.common import tell_of_compiling
from ckai.cli.endgames import make_sure_of
from ckai.cli.networks import EVALUATOR_HELP, EVALUATORS


@click.command("selfplay")
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Checkpoint that a new run begins from, or `none` for a network that knows nothing; a run that goes "
    "on has its own.  [default: pretrained.ckpt]",
)
@click.option("--model", help="Architecture for --init none.  [default: cnn2x2]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of that network.")
@click.option(
    "--run",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run; an existing run is continued.  [default: a new one, runs/run-001, -002, ...]",
)
@click.option(
    "--generations", type=click.IntRange(0), default=10, show_default=True, help="Of the run, in all."
)
@click.option("--games", type=click.IntRange(1), help="Games a generation.  [default: 400]")
@click.option("--sims", type=click.IntRange(1), help="Visits at the root for a move.  [default: 100]")
@click.option("--in-flight", type=click.IntRange(1), help="Games at once.  [default: 256]")
@click.option("--groups", type=click.IntRange(1), help="Threads that play.  [default: one a core]")
@click.option("--leaves", type=click.IntRange(1), help="Leaves of a tree in one batch.  [default: 1]")
@click.option(
    "--root-rule", type=click.Choice(["puct", "forced", "gumbel"]), help="Of the search.  [default: puct]"
)
@click.option("--full-share", type=float, help="Share of full searches (playout cap).  [default: 1.0]")
@click.option("--fast-sims", type=click.IntRange(1), help="Visits of the other searches.  [default: 20]")
@click.option("--cache-positions", type=click.IntRange(0), help="Evaluations remembered.  [default: 0]")
@click.option("--c-puct", type=float, help="Weight of the prior in the search.  [default: 4.0]")
@click.option("--noise-alpha", type=float, help="Dirichlet concentration at the root.  [default: 1.0]")
@click.option("--noise-epsilon", type=float, help="Share of noise at the root.  [default: 0.25]")
@click.option("--temperature", type=float, help="Of the first moves.  [default: 1.0]")
@click.option("--temperature-plies", type=click.IntRange(0), help="Plies before it tapers.  [default: 16]")
@click.option(
    "--tables",
    type=click.IntRange(0, 6),
    help="Endgames of so many pieces are known, built first if they are not there; 0: none.  [default: 3]",
)
@click.option(
    "--at-tables",
    type=click.Choice(["adjudicate", "label", "play"]),
    help="A game that reaches them ends with the true result; or is played on, and z is the truth; or is "
    "played on, and z is how it ends.  [default: adjudicate]",
)
@click.option("--q-weight", type=float, help="w in the value's target (1 - w) z + w q.  [default: 0.5]")
@click.option("--q-first", type=float, help="w in the first generation, if it is to change.")
@click.option("--q-ramp", type=click.IntRange(1), help="Generations until it is --q-weight.  [default: 10]")
@click.option(
    "--opening-share",
    type=float,
    help="Games that begin with an opening of three plies that loses no man by force.  [default: 0.5]",
)
@click.option("--expert-share", type=float, help="Games that begin in positions of --experts.  [default: 0]")
@click.option(
    "--experts",
    type=click.Path(path_type=Path),
    help="Rows to draw those positions from, for a new run.",
)
@click.option("--window", type=click.IntRange(1), help="Generations whose games are learned.  [default: 4]")
@click.option("--epochs", type=click.IntRange(1), help="Times over the window.  [default: 2]")
@click.option("--lr", type=float, help="Highest learning rate.  [default: 0.0005]")
@click.option(
    "--gate-games", type=int, help="Games of the match new against old; 0: no match.  [default: 100]"
)
@click.option("--gate-sims", type=click.IntRange(1), help="Visits a move there.  [default: as in self-play]")
@click.option(
    "--gate", type=float, help="Share of points a new network must reach; 0: none.  [default: 0.55]"
)
@click.option("--no-gate", is_flag=True, help="Take every new network; the match is still played and shown.")
@click.option("--seed", type=click.IntRange(0), help="Of everything random.  [default: 0]")
@click.option(
    "--evaluator",
    default="auto",
    show_default=True,
    type=click.Choice(EVALUATORS),
    help=EVALUATOR_HELP,
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    init: Path | None,
    folder: Path | None,
    generations: int,
    no_gate: bool,
    evaluator: str,
    model: str | None,
    pairs: tuple[str, ...],
    experts: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Let a network learn from games against itself.

    Each generation plays games with the best network, learns from the last ones, and keeps what it learned
    if it wins the match against the network before it. The value learns (1 - w) z + w q: z the game's
    result, q the search's value. Stop it at any time; the same command with --run continues.
    """
    from ckai.rl.config import RunConfig
    from ckai.rl.run import Run, RunError, fresh_folder

    if no_gate:
        given["gate"] = 0.0
    settings = {name: value for name, value in given.items() if value is not None}
    folder = folder or fresh_folder()
    if Run.exists(folder):
        run = Run.open(folder)
        wanted = apply_settings(run.config, settings)
        if wanted != run.config:
            what = _first_difference(run.config.to_dict(), wanted.to_dict())
            raise RunError(
                f"{folder}: this run has begun with its own settings ({what}); continue without that option"
            )
    else:
        config = apply_settings(RunConfig(), settings)
        run = Run.create(
            folder, first_network(init, model, pairs, config.seed), config, expert_positions(experts, config)
        )
    _go(run, generations, evaluator, as_json)


def first_network(init: Path | None, model: str | None, pairs: tuple[str, ...], seed: int) -> Any:
    """The checkpoint of `--init`, or a new network.

    Raises:
        RunError: no such checkpoint, or an architecture beside one.
    """
    import torch

    from ckai.models.registry import build, parse_settings
    from ckai.rl.run import RunError

    if init == Path("none"):
        torch.manual_seed(seed)
        name = model or "cnn2x2"
        return build(name, parse_settings(name, list(pairs)))
    if model or pairs:
        raise RunError("--model and --set are for --init none: a checkpoint has its own architecture")
    source = init or Path("pretrained.ckpt")
    if not source.exists():
        hint = "" if init else " (give --init CHECKPOINT or --init none, or make one with `ckai pretrain`)"
        raise RunError(f"{source}: no such checkpoint{hint}")
    return source


def expert_positions(path: Path | None, config: Any) -> list[Any]:
    """Positions for the games that begin in them.

    Raises:
        RunError: a share of such games and no data, or data and no share.
    """
    from ckai.rl.run import RunError
    from ckai.rl.starts import draw_expert_positions

    if bool(config.start.experts) != (path is not None):
        raise RunError("expected --experts ROWS and --expert-share together, found one of them")
    return draw_expert_positions(path, seed=config.seed) if path is not None else []


_PLACES = {
    "games": ("", "games"),
    "seed": ("", "seed"),
    "q_weight": ("learn", "q_weight"),
    "q_first": ("learn", "q_first"),
    "q_ramp": ("learn", "q_ramp"),
    "opening_share": ("start", "balanced"),
    "expert_share": ("start", "experts"),
    "window": ("learn", "window"),
    "epochs": ("learn", "epochs"),
    "lr": ("learn", "lr"),
    "gate_games": ("gate", "games"),
    "gate_sims": ("gate", "sims"),
    "gate": ("gate", "threshold"),
}
"""Option -> part of the settings and name there; all others are settings of self-play."""


def apply_settings(config: Any, given: dict[str, Any]) -> Any:
    """A run's settings with the options given put in their places."""
    for option, value in given.items():
        part, name = _PLACES.get(option, ("selfplay", option))
        if part:
            config = replace(config, **{part: replace(getattr(config, part), **{name: value})})
        else:
            config = replace(config, **{name: value})
    return config


def _first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    for name, value in old.items():
        if isinstance(value, dict):
            found = _first_difference(value, new[name])
            if found:
                return found
        elif value != new[name]:
            return f"{name} = {value}, not {new[name]}"
    return ""


def _go(run: Any, generations: int, evaluator: str, as_json: bool) -> None:
    import json
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    make_sure_of(run.config.selfplay.tables)
    tell_of_compiling()
    screen = Console(stderr=True)
    config = run.config
    screen.print(
        f"{run.folder}: generation {run.generations} of {generations}; {config.games} games a generation, "
        f"{config.selfplay.sims} visits a move, {config.selfplay.in_flight} games at once "
        f"({config.selfplay.memory() / 2**20:.0f} MiB of trees)",
        highlight=False,
        soft_wrap=True,
    )
    begun = time.monotonic()
    names = {"selfplay": "playing", "learn": "learning", "judge": "judging"}
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as bars:
        tasks: dict[tuple[int, str], Any] = {}

        def watch(event: Any) -> None:
            if "evaluator" in event.info:
                screen.print(event.info["evaluator"], highlight=False, soft_wrap=True)
                return
            if "warning" in event.info:
                screen.print(f"warning: {event.info['warning']}", highlight=False, soft_wrap=True)
                return
            if event.stage == "done":
                for task in tasks.values():
                    bars.remove_task(task)
                tasks.clear()
                screen.print(describe(event.info), highlight=False, soft_wrap=True)
                return
            key = (event.generation, event.stage)
            if key not in tasks:
                tasks[key] = bars.add_task(
                    f"generation {event.generation} {names[event.stage]:8}", total=event.total, note=""
                )
            note = ""
            if event.info.get("evaluations_per_second") == 0:
                note = "starting"
            elif "evaluations_per_second" in event.info:
                note = f"{event.info['evaluations_per_second']:,.0f} evaluations/s"
                if event.info.get("cache_hits"):
                    note += f", {event.info['cache_hits']:.0%} cached"
            elif "train_policy_loss" in event.info:
                note = (
                    f"policy {event.info['train_policy_loss']:.3f} value {event.info['train_value_loss']:.3f}"
                )
            bars.update(tasks[key], completed=event.done, note=note)

        try:
            run.go(generations, watch, backend=evaluator)
        except KeyboardInterrupt:
            screen.print(
                f"stopped; continue with: ckai selfplay --run {run.folder}", highlight=False, soft_wrap=True
            )
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
    in_tables = ""
    if played.get("adjudicated"):
        in_tables = f", {played['adjudicated'] / played['games']:.0%} by the tables"
    elif played.get("labelled"):
        in_tables = f", z of {played['labelled'] / played['rows']:.0%} of the rows by the tables"
    text = (
        f"generation {measured['generation']}: {played['games']} games in {played['seconds']:.0f} s "
        f"({played['black_won']} black, {played['drawn']} drawn, {played['white_won']} white{in_tables}), "
        f"loss {learned['train_policy_loss']:.3f} + {learned['train_value_loss']:.3f}"
    )
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": refused, the old network stays")
