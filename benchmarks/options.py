"""Options of self-play against each other at equal cost.

    python benchmarks/options.py pretrained.ckpt -o folder --compare targets

Runs that differ in one option alone: the target of the value, the search, how is learned, or the gate. The
visits of the search variants, and the games of those with matches, are set so that all ask the network about
as often. Each run's last network then plays the one they all began with. Runs are kept in the folder; a
second call goes on where the first was stopped.
"""

import json
import os
import statistics
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
from matplotlib.figure import Figure

from ckai.datasets.files import whole_file
from ckai.datasets.settings import change_settings
from ckai.datasets.tables import Tables
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.run import Run
from ckai.rl.matches.elo import Z95
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.players import SearchPlayer
from ckai.rl.selfplay.config import SelfPlayConfig

Options = dict[str, Any]
COMPARED: dict[str, dict[str, Options]] = {
    "targets": {
        "z only": {"learn.q_weight": 0.0},
        "q only": {"learn.q_weight": 1.0},
        "half and half": {"learn.q_weight": 0.5},
        "from z to q": {"learn.q_first": 0.0, "learn.q_weight": 1.0},
    },
    "search": {
        "visits": {},
        "forced playouts": {"selfplay.root_rule": "forced"},
        # Its trees begin anew with every move, so that half the visits cost as much.
        "gumbel": {"selfplay.root_rule": "gumbel", "selfplay.sims": 0.5, "selfplay.gumbel_scale": 1.0},
        # A quarter of the searches has 2.3 times the visits, the others 0.56 times.
        "playout cap": {
            "selfplay.full_search_prob": 0.25,
            "selfplay.sims": 2.32,
            "selfplay.fast_visits": 0.56,
        },
        "gumbel, values a quarter": {
            "selfplay.root_rule": "gumbel",
            "selfplay.sims": 0.5,
            "selfplay.gumbel_scale": 0.25,
        },
        "gumbel, values a twentieth": {
            "selfplay.root_rule": "gumbel",
            "selfplay.sims": 0.5,
            "selfplay.gumbel_scale": 0.05,
        },
    },
    "learning": {
        "as it is": {},
        "surprise": {"learn.policy_kl_share": 0.5},
        "averaged weights": {"learn.ema": 0.999},
        "averaged positions": {"learn.positions": "average"},
        "pool": {"pool.share": 0.2},
        "label by the tables": {"selfplay.tables_mode": "label"},
        "play on at the tables": {"selfplay.tables_mode": "play"},
        "no tables": {"selfplay.tables": 0},
    },
    "gate": {
        "no match": {},
        "55 % of the points": {
            "games": 0.75,
            "gate.games": 0.25,
            "gate.rule": "score",
            "gate.threshold": 0.55,
        },
        "half of the points": {
            "games": 0.75,
            "gate.games": 0.25,
            "gate.rule": "score",
            "gate.threshold": 0.5,
        },
        "a match, every network is taken": {"games": 0.75, "gate.games": 0.25, "gate.rule": "none"},
    },
}
"""What is compared -> settings of the run; visits and games are shares of those given."""


def one_run(folder: Path, init: Path, config: RunConfig, generations: int, backend: str) -> Path:
    """A run, made or gone on with; its last network."""
    run = Run.open(folder) if Run.exists(folder) else Run.create(folder, init, config)
    run.go(generations, lambda event: None, backend=backend)
    return run.network


def counted(options: Options, sims: int, games: int) -> dict[str, int]:
    """The visits and games of a variant in numbers; those of a match are even."""
    visits = {
        key: round(options[key] * sims) for key in ("selfplay.sims", "selfplay.fast_visits") if key in options
    }
    halves = {key: round(options[key] * games / 2) for key in ("games", "gate.games") if key in options}
    return visits | {key: 2 * half for key, half in halves.items()}


def evaluations(folder: Path) -> float:
    """Positions that the network gated in all the self-play of a run; its matches do not count."""
    stages = [measured["selfplay"] for measured in Run.open(folder).history()]
    return sum(stage["evaluations_per_second"] * stage["seconds"] for stage in stages)


def match_against_start(
    path: Path, init: Path, games: int, sims: int, backend: str, tables: int
) -> dict[str, Any]:
    """A network against the one at the beginning."""
    threads = os.cpu_count() or 1
    known = Tables.open(tables) if tables else None
    players = [
        SearchPlayer(load_evaluator(file, backend, batch=games, threads=threads), sims, tables=known)
        for file in (path, init)
    ]
    result = play_match(players[0], players[1], draw_openings(games // 2, 0), threads=threads)
    return {**result.summary(), "elo": result.pairs.elo, "interval": list(result.pairs.interval)}


def draw(path: Path, found: dict[str, list[dict[str, Any]]]) -> None:
    """Every run as a point with its interval, and the mean of each target."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for place, runs in enumerate(found.values()):
        for n, run in enumerate(runs):
            low, high = run["interval"]
            x = place + 0.08 * (n - (len(runs) - 1) / 2)
            axes.errorbar(
                x, run["elo"], [[run["elo"] - low], [high - run["elo"]]], fmt="o", capsize=3, color="C0"
            )
        mean = statistics.mean(run["elo"] for run in runs)
        axes.plot([place - 0.25, place + 0.25], [mean, mean], color="C3")
    axes.set_xticks(range(len(found)), [textwrap.fill(name, 12) for name in found])
    axes.set_ylabel("Elo above the network at the beginning")
    axes.set_title("red: mean of the seeds")
    axes.grid(alpha=0.3, axis="y")
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=130)


@click.command()
@click.argument("init", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the runs.")
@click.option("--compare", type=click.Choice(list(COMPARED)), default="targets", show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--generations", default=5, show_default=True)
@click.option("--games", default=400, show_default=True, help="A generation.")
@click.option("--sims", default=50, show_default=True, help="Visits a move, in self-play and in the matches.")
@click.option("--match-games", default=300, show_default=True, help="Of each run's last network.")
@click.option("--tables", default=3, show_default=True, help="Pieces of the endgame tables; 0: none.")
@click.option("--evaluator", default="fastest", show_default=True)
def main(
    init: Path,
    output: Path,
    compare: str,
    seeds: int,
    generations: int,
    games: int,
    sims: int,
    match_games: int,
    tables: int,
    evaluator: str,
) -> None:
    """Play the runs and print the table."""
    output.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPARED[compare]}
    for seed in range(seeds):
        for number, (name, options) in enumerate(COMPARED[compare].items()):
            usual = RunConfig(
                games=games,
                seed=seed,
                selfplay=SelfPlayConfig(sims=sims, tables=tables),
                learn=LearnConfig(epochs=1, q_ramp=max(1, generations - 1)),
                gate=GateConfig(games=0),
            )
            config = change_settings(usual, options | counted(options, sims, games))
            folder = output / f"{number}-{seed}"
            network = one_run(folder, init, config, generations, evaluator)
            kept = folder / "gated.json"
            if not kept.exists():
                result = match_against_start(network, init, match_games, sims, "torch", tables)
                kept.write_text(json.dumps(result) + "\n", encoding="utf-8")
            told = json.loads(kept.read_text(encoding="utf-8"))
            found[name].append(told | {"evaluations": evaluations(folder)})
            print(f"{name}, seed {seed}: {found[name][-1]['elo']:+.0f} Elo", file=sys.stderr, flush=True)
    draw(output / f"{compare}.png", found)
    print(f"| {compare} | Elo, mean of the seeds ± 1.96 standard errors | each seed | evaluations |")
    print("|---|---|---|---|")
    for name, runs in found.items():
        elos = [run["elo"] for run in runs]
        spread = Z95 * statistics.stdev(elos) / len(elos) ** 0.5 if len(elos) > 1 else 0.0
        each = ", ".join(f"{elo:+.0f}" for elo in elos)
        asked = statistics.mean(run["evaluations"] for run in runs) / 1e6
        print(f"| {name} | {statistics.mean(elos):+.0f} ± {spread:.0f} | {each} | {asked:.1f} million |")


if __name__ == "__main__":
    main()
