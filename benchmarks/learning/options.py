"""Compare options of self-play at equal cost.

    python benchmarks/learning/options.py pretrained.ckpt -o folder --compare targets

Runs of the network's game that differ in one option: the value target, the search, the training or the gate.
The visits of the search variants, and the games of those with gate matches, are scaled to equal numbers of
network evaluations. The last network of each run then plays the initial one, both by the plain search; where
the game is solved, its mistakes are counted too.
Runs are saved in the folder, and a second call continues an interrupted one. Comparisons in one folder share
the runs of the variant that they have in common.
"""

import json
import statistics
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
from matplotlib.figure import Figure

from ckai.datasets.files import save_figure, write_whole
from ckai.datasets.machine import available_cores
from ckai.datasets.settings import change_settings
from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_network
from ckai.rl.analysis.solved import POLICY, mistakes_of_network, solved_classes
from ckai.rl.engine.tree import by_visits
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.elo import Z95
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.run.config import RunConfig
from ckai.rl.run.run import Run

Options = dict[str, Any]
COMPARED: dict[str, dict[str, Options]] = {
    "targets": {
        "z only": {"learn.q_weight": 0.0},
        "q only": {"learn.q_weight": 1.0},
        "half and half": {"learn.q_weight": 0.5},
        "from z to q": {"learn.q_first": 0.0, "learn.q_weight": 1.0},
    },
    "rate": {
        "as it is": {},
        "learning rate 0.0015": {"learn.lr": 0.0015},
    },
    "constant": {
        "as it is": {},
        "c_puct 2": {"selfplay.c_puct": 2.0},
        "c_puct 1.2": {"selfplay.c_puct": 1.2},
        "c_puct 0.6": {"selfplay.c_puct": 0.6},
    },
    "learning": {
        "as it is": {},
        "pool": {"pool.share": 0.2},
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
"""Comparison -> variant -> settings of the run; games relative to --games."""
FOLDER_NAME = str.maketrans({" ": "-", ",": None, "%": None, ".": None})
"""What becomes of these characters of a variant in the name of its run's folder."""


def one_run(folder: Path, init: Path, config: RunConfig, generations: int, backend: str) -> Run:
    """Create or continue a run."""
    run = Run.open(folder) if Run.exists(folder) else Run.create(folder, init, config)
    if run.config != config:
        raise click.ClickException(f"expected these settings in {folder}, found others; give another -o")
    run.go(generations, lambda event: None, backend=backend)
    return run


def absolute_counts(options: Options, games: int) -> dict[str, int]:
    """Return the games of a variant as even numbers."""
    halves = {key: round(options[key] * games / 2) for key in ("games", "gate.games") if key in options}
    return {key: 2 * half for key, half in halves.items()}


def match_against_start(
    path: Path, init: Path, spec: GameSpec, games: int, sims: int, tables: int, backend: str
) -> dict[str, Any]:
    """Play a network against the initial one."""
    threads = available_cores()
    tablebases = Tables.open(tables) if tables else None
    players = [
        by_visits(
            load_evaluator(file, backend, threads=threads, game=spec.name),
            sims,
            tables=tablebases,
            spec=spec,
        )
        for file in (path, init)
    ]
    openings = draw_openings(games // 2, 0, spec)
    result = play_match(players[0], players[1], openings, threads=threads, spec=spec)
    return {**result.summary(), "elo": result.pairs.elo, "interval": list(result.pairs.interval)}


def mistakes_in_percent(path: Path, spec: GameSpec, sims: int) -> dict[str, float]:
    """Return the mistakes of a network's policy and of its search, over all classes of solved positions."""
    if spec.solver is None:
        return {}
    counted = mistakes_of_network(
        load_evaluator(path, "torch", game=spec.name), spec, [sims], solved_classes(spec)
    )
    names = {POLICY: POLICY, f"{sims} visits": "search"}
    return {
        names[player]: 100
        * sum(each["mistakes"] for each in classes.values())
        / sum(each["positions"] for each in classes.values())
        for player, classes in counted.items()
    }


def mean_and_spread(values: list[float]) -> tuple[float, float]:
    """Return the mean of the seeds and 1.96 standard errors."""
    spread = Z95 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return statistics.mean(values), spread


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
@click.option("--evaluator", default="auto", show_default=True)
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
    spec = get_game(load_network(init, game=None).encode.GAME)
    tables = tables if spec.supports_tables else 0
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPARED[compare]}
    for seed in range(seeds):
        for name, options in COMPARED[compare].items():
            common: Options = {
                "games": games,
                "seed": seed,
                "selfplay.sims": sims,
                "selfplay.tables": tables,
                "learn.epochs": 1,
                "learn.q_ramp": max(1, generations - 1),
                "gate.games": 0,
            }
            config = change_settings(
                RunConfig.defaults_for(spec.name), common | options | absolute_counts(options, games)
            )
            folder = output / f"{name.translate(FOLDER_NAME)}-{seed}"
            run = one_run(folder, init, config, generations, evaluator)
            saved = folder / "measured.json"
            settings = {"generations": generations, "match_games": match_games}
            done = json.loads(saved.read_text(encoding="utf-8")) if saved.exists() else {}
            if done.get("settings") != settings:
                result = match_against_start(run.network, init, spec, match_games, sims, tables, evaluator)
                result["mistakes"] = mistakes_in_percent(run.network, spec, sims)
                done = {"settings": settings, **result}
                write_whole(saved, json.dumps(done) + "\n")
            played = [measured["selfplay"] for measured in run.history()]
            evaluations = sum(each["evaluations_per_second"] * each["seconds"] for each in played)
            results[name].append(done | {"evaluations": evaluations})
            print(f"{name}, seed {seed}: {results[name][-1]['elo']:+.0f} Elo", file=sys.stderr, flush=True)
    draw(output / f"{compare}.png", results)
    solved = list(next(iter(results.values()))[0]["mistakes"])
    heads = [f"mistakes of the {player}, %" for player in solved]
    columns = [compare, "Elo, mean of the seeds ± 1.96 standard errors", "each seed", *heads, "evaluations"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for name, runs in results.items():
        mean, spread = mean_and_spread([run["elo"] for run in runs])
        cells = [name, f"{mean:+.0f} ± {spread:.0f}", ", ".join(f"{run['elo']:+.0f}" for run in runs)]
        for player in solved:
            mean, spread = mean_and_spread([run["mistakes"][player] for run in runs])
            cells.append(f"{mean:.1f} ± {spread:.1f}")
        asked = statistics.mean(run["evaluations"] for run in runs) / 1e6
        print(f"| {' | '.join([*cells, f'{asked:.1f} million'])} |")


if __name__ == "__main__":
    main()
