"""Compare runs: the ratings of their generations over time.

    python benchmarks/learning/climb.py runs/expert runs/nothing --every 4 -o climb.png

All chosen generations of all runs play each other at equal visits. Time is the sum of self-play, training and
gate matches that the runs have recorded. Results are kept next to the plot, so a second call plays only the
missing matches.
"""

import json
import os
from itertools import accumulate, combinations
from pathlib import Path

import click
from matplotlib.figure import Figure

from ckai.datasets.files import save_figure, write_whole
from ckai.rl.loop.report import seconds_of
from ckai.rl.loop.run import Run
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.ratings import Rating, ratings, thinned
from ckai.rl.matches.specs import load_player


def hours(run: Run) -> list[float]:
    """Return the hours after each generation, starting with 0."""
    return [seconds / 3600 for seconds in accumulate(map(seconds_of, run.history()), initial=0.0)]


def draw(path: Path, runs: list[Run], places: list[tuple[int, int]], rated: list[Rating], title: str) -> None:
    """Plot the ratings of each run with their intervals."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for number, run in enumerate(runs):
        when = hours(run)
        mine = [(g, r) for (n, g), r in zip(places, rated, strict=True) if n == number]
        x, y = [when[g] for g, _ in mine], [r.elo for _, r in mine]
        errors = [[r.elo - r.low for _, r in mine], [r.high - r.elo for _, r in mine]]
        axes.errorbar(x, y, errors, marker="o", capsize=3, label=run.folder.name)
        for at, (generation, rating) in zip(x, mine, strict=True):
            axes.annotate(
                str(generation), (at, rating.elo), textcoords="offset points", xytext=(6, -12), fontsize=8
            )
    axes.set(xlabel="hours", ylabel="Elo, 95 %", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(path, figure, 130)


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--every", default=4, show_default=True, help="Rate every Nth generation.")
@click.option("--games", default=60, show_default=True, help="Number of games in each match, an even number.")
@click.option("--sims", default=100, show_default=True, help="Visits per move; no tablebases.")
@click.option("--evaluator", default="torch", show_default=True)
@click.option("-o", "--output", default=Path("climb.png"), show_default=True, type=click.Path(path_type=Path))
def main(folders: tuple[Path, ...], every: int, games: int, sims: int, evaluator: str, output: Path) -> None:
    """Play the missing matches, print the ratings and plot them."""
    runs = [Run.open(folder) for folder in folders]
    places = [(n, g) for n, run in enumerate(runs) for g in thinned(range(run.generations + 1), every)]
    names = [f"{runs[n].path(g, 'network.ckpt')}@{sims}" for n, g in places]
    threads = os.cpu_count() or 1
    players = [load_player(name, backend=evaluator, boards=games, threads=threads) for name in names]
    kept = output.with_suffix(".matches.json")
    scores = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    pairs = {}
    for i, j in combinations(range(len(players)), 2):
        key = f"{names[i]} {names[j]} {games}"
        if key not in scores:
            result = play_match(players[i], players[j], draw_openings(games // 2, i), threads=threads)
            scores[key] = result.pair_scores
            write_whole(kept, json.dumps(scores))
            click.echo(f"{names[i]} against {names[j]}: {result.score:.1%}", err=True)
        pairs[i, j] = scores[key]
    rated = ratings(len(players), pairs)
    when = [hours(run) for run in runs]
    for (n, g), rating in zip(places, rated, strict=True):
        click.echo(
            f"{runs[n].folder.name} generation {g}: {rating.elo:+.0f} "
            f"({rating.low:+.0f} to {rating.high:+.0f}), {when[n][g]:.2f} h"
        )
    draw(output, runs, places, rated, f"{sims} visits per move, {games} games per match")


if __name__ == "__main__":
    main()
