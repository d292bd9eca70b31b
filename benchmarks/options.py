"""Compare options of self-play at equal cost.

    python benchmarks/options.py pretrained.ckpt -o folder --compare targets

Runs that differ in one option: the value target, the search, its exploration, the training or the gate. The
visits of the search variants, and the games of those with gate matches, are scaled to equal numbers of
network evaluations. The last network of each run then plays the initial one, both by the plain search. Runs
are saved in the folder, and a second call continues an interrupted one.
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

from ckai.datasets.files import save_figure, write_whole
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
        # Builds a new tree for every move, so half the visits cost as much.
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
    "exploration": {
        "as it is": {},
        "noise shared by the actions": {"selfplay.noise_total": 10.0},
        "temperature that falls": {
            "selfplay.root_policy_temperature_early": 1.25,
            "selfplay.root_policy_temperature": 1.1,
        },
        "pruned target": {"selfplay.policy_target_pruning": True},
        "value bias": {"selfplay.value_bias_factor": 0.35},
        "all four": {
            "selfplay.noise_total": 10.0,
            "selfplay.root_policy_temperature_early": 1.25,
            "selfplay.root_policy_temperature": 1.1,
            "selfplay.policy_target_pruning": True,
            "selfplay.value_bias_factor": 0.35,
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
"""Comparison -> variant -> settings of the run; visits and games relative to --sims and --games."""


def one_run(folder: Path, init: Path, config: RunConfig, generations: int, backend: str) -> Path:
    """Create or continue a run; return its last network."""
    run = Run.open(folder) if Run.exists(folder) else Run.create(folder, init, config)
    run.go(generations, lambda event: None, backend=backend)
    return run.network


def absolute_counts(options: Options, sims: int, games: int) -> dict[str, int]:
    """Return the visits and games of a variant as numbers, with even numbers of games."""
    visits = {
        key: round(options[key] * sims) for key in ("selfplay.sims", "selfplay.fast_visits") if key in options
    }
    halves = {key: round(options[key] * games / 2) for key in ("games", "gate.games") if key in options}
    return visits | {key: 2 * half for key, half in halves.items()}


def evaluations(folder: Path) -> float:
    """Return the network evaluations in the self-play of a run, without gate matches."""
    stages = [measured["selfplay"] for measured in Run.open(folder).history()]
    return sum(stage["evaluations_per_second"] * stage["seconds"] for stage in stages)


def match_against_start(
    path: Path, init: Path, games: int, sims: int, backend: str, tables: int
) -> dict[str, Any]:
    """Play a network against the initial one."""
    threads = os.cpu_count() or 1
    tablebases = Tables.open(tables) if tables else None
    players = [
        SearchPlayer(load_evaluator(file, backend, batch=games, threads=threads), sims, tables=tablebases)
        for file in (path, init)
    ]
    result = play_match(players[0], players[1], draw_openings(games // 2, 0), threads=threads)
    return {**result.summary(), "elo": result.pairs.elo, "interval": list(result.pairs.interval)}


def draw(path: Path, results: dict[str, list[dict[str, Any]]]) -> None:
    """Plot every run with its interval, and the mean of each variant."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for place, runs in enumerate(results.values()):
        for n, run in enumerate(runs):
            low, high = run["interval"]
            x = place + 0.08 * (n - (len(runs) - 1) / 2)
            axes.errorbar(
                x, run["elo"], [[run["elo"] - low], [high - run["elo"]]], fmt="o", capsize=3, color="C0"
            )
        mean = statistics.mean(run["elo"] for run in runs)
        axes.plot([place - 0.25, place + 0.25], [mean, mean], color="C3")
    axes.set_xticks(range(len(results)), [textwrap.fill(name, 12) for name in results])
    axes.set_ylabel("Elo above the initial network")
    axes.set_title("red: mean of the seeds")
    axes.grid(alpha=0.3, axis="y")
    save_figure(path, figure, 130)


@click.command()
@click.argument("init", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the runs.")
@click.option("--compare", type=click.Choice(list(COMPARED)), default="targets", show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--generations", default=5, show_default=True)
@click.option("--games", default=400, show_default=True, help="Games per generation.")
@click.option("--sims", default=50, show_default=True, help="Visits per move, in self-play and matches.")
@click.option(
    "--match-games",
    default=300,
    show_default=True,
    help="Games of each run's last network against the initial one.",
)
@click.option("--tables", default=3, show_default=True, help="Use N-piece tablebases; 0: none.")
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
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPARED[compare]}
    for seed in range(seeds):
        for number, (name, options) in enumerate(COMPARED[compare].items()):
            base = RunConfig(
                games=games,
                seed=seed,
                selfplay=SelfPlayConfig(sims=sims, tables=tables),
                learn=LearnConfig(epochs=1, q_ramp=max(1, generations - 1)),
                gate=GateConfig(games=0),
            )
            config = change_settings(base, options | absolute_counts(options, sims, games))
            folder = output / f"{number}-{seed}"
            network = one_run(folder, init, config, generations, evaluator)
            saved = folder / "gated.json"
            if not saved.exists():
                result = match_against_start(network, init, match_games, sims, "torch", tables)
                write_whole(saved, json.dumps(result) + "\n")
            result = json.loads(saved.read_text(encoding="utf-8"))
            results[name].append(result | {"evaluations": evaluations(folder)})
            print(f"{name}, seed {seed}: {results[name][-1]['elo']:+.0f} Elo", file=sys.stderr, flush=True)
    draw(output / f"{compare}.png", results)
    print(f"| {compare} | Elo, mean of the seeds ± 1.96 standard errors | each seed | evaluations |")
    print("|---|---|---|---|")
    for name, runs in results.items():
        elos = [run["elo"] for run in runs]
        spread = Z95 * statistics.stdev(elos) / len(elos) ** 0.5 if len(elos) > 1 else 0.0
        each = ", ".join(f"{elo:+.0f}" for elo in elos)
        asked = statistics.mean(run["evaluations"] for run in runs) / 1e6
        print(f"| {name} | {statistics.mean(elos):+.0f} ± {spread:.0f} | {each} | {asked:.1f} million |")


if __name__ == "__main__":
    main()
