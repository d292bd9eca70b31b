"""Compare runs: the ratings of their generations over time, and what they rate against other players.

    python benchmarks/learning/climb.py runs/expert runs/nothing --every 4 -o climb.png
    python benchmarks/learning/climb.py runs/first runs/second --chained --against rollout@1000 --tables 4

All chosen generations of all runs play each other at equal visits, and each of the other players. Time is the
sum of self-play, training and gate matches that the runs have recorded; `--chained` runs, each begun with the
last network of the one before, follow each other in time. Results are kept next to the plot, so a second call
plays only the missing matches. `--tables` adds the errors of the bare network in endgames.
"""

import json
from collections.abc import Callable
from functools import partial
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any, NamedTuple

import click
from matplotlib.figure import Figure

from ckai.cli.strength.arena import elo_text
from ckai.datasets.files import file_digest, save_figure, write_whole
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_network
from ckai.models.evaluation.endgames import measure_endgames
from ckai.rl.loop.report import seconds_of
from ckai.rl.loop.run import Run
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.ratings import Rating, ratings, thinned
from ckai.rl.players.loading import checkpoints_of, load_player
from ckai.rl.players.parsing import PlayerSpec


class Place(NamedTuple):
    """A generation of one of the runs."""

    run: int
    generation: int
    hours: float
    """Time that it took, in all."""
    path: Path
    """Its network."""


def places_of(runs: list[Run], every: int, chained: bool) -> list[Place]:
    """Return the generations to rate, the first and last of each run among them."""
    places, before = [], 0.0
    for number, run in enumerate(runs):
        hours = list(accumulate((seconds_of(of) / 3600 for of in run.history()), initial=before))
        places += [
            Place(number, g, hours[g], run.path(g, "network.ckpt"))
            for g in thinned(range(run.generations + 1), every)
            if g or not number or not chained  # else it is the last one of the run before
        ]
        before = hours[-1] if chained else 0.0
    return places


class Kept:
    """Results in a JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """Return a result, made and kept if it is not there."""
        if key not in self.results:
            self.results[key] = make()
            write_whole(self.path, json.dumps(self.results))
        return self.results[key]


def version_of(name: str) -> str:
    """Return a player spec with hashes of its networks, which may change under their name."""
    files = checkpoints_of(PlayerSpec.read(name))
    return " ".join([name, *(file_digest(file)[:16] for file in files)])


def measure(path: Path, tables: Tables) -> dict[str, Any]:
    """Return what `measure_endgames` reports of the network in a file."""
    return measure_endgames(load_network(path), tables)


def draw(
    path: Path,
    runs: list[Run],
    places: list[Place],
    rated: list[Rating],
    others: dict[str, Rating],
    errors: list[dict[str, float]],
    title: str,
) -> None:
    """Plot the ratings of each run with their intervals, and below them the errors in endgames, if any."""
    figure = Figure(figsize=(8, 8 if errors else 4.8), layout="constrained")
    panels = figure.subplots(2 if errors else 1, 1, sharex=True, squeeze=False)[:, 0]
    for number, run in enumerate(runs):
        mine = [i for i, place in enumerate(places) if place.run == number]
        x, y = [places[i].hours for i in mine], [rated[i].elo for i in mine]
        bars = [[rated[i].elo - rated[i].low for i in mine], [rated[i].high - rated[i].elo for i in mine]]
        color = f"C{number}"
        panels[0].errorbar(x, y, bars, marker="o", capsize=3, color=color, label=run.folder.name)
        for i in mine:
            panels[0].annotate(
                str(places[i].generation),
                (places[i].hours, rated[i].elo),
                textcoords="offset points",
                xytext=(6, -12),
                fontsize=8,
            )
        for name, style in zip(errors[0] if errors else (), ("-", "--"), strict=False):
            shares = [100 * errors[i][name] for i in mine]
            label = f"{run.folder.name}: {name}"
            panels[1].plot(x, shares, marker="o", color=color, linestyle=style, label=label)
    for name, rating in others.items():
        panels[0].axhline(rating.elo, color="grey", linestyle="--", linewidth=1)
        panels[0].annotate(
            name, (1, rating.elo), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
        )
    panels[0].set(ylabel="Elo, 95 %", title=title)
    if errors:
        panels[1].set(ylabel="% of endgame positions", ylim=(0, None))
    panels[-1].set_xlabel("hours")
    for axes in panels:
        axes.grid(alpha=0.3)
        axes.legend()
    save_figure(path, figure, 130)


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--every", default=4, show_default=True, help="Rate every Nth generation.")
@click.option("--chained", is_flag=True, help="Each run began with the last network of the one before.")
@click.option("--games", default=60, show_default=True, help="Number of games in each match, an even number.")
@click.option("--sims", default=100, show_default=True, help="Visits per move; no tablebases.")
@click.option("--against", multiple=True, help="Also rate this player, as in `ckai match`; may be repeated.")
@click.option("--tables", type=int, help="Also show errors in N-piece endgames.")
@click.option("--evaluator", default="torch", show_default=True)
@click.option("-o", "--output", default=Path("climb.png"), show_default=True, type=click.Path(path_type=Path))
def main(
    folders: tuple[Path, ...],
    every: int,
    chained: bool,
    games: int,
    sims: int,
    against: tuple[str, ...],
    tables: int | None,
    evaluator: str,
    output: Path,
) -> None:
    """Play the missing matches, print the ratings and plot them."""
    runs = [Run.open(folder) for folder in folders]
    places = places_of(runs, every, chained)
    names = [f"{place.path}@{sims}" for place in places] + list(against)
    threads = available_cores()
    players = [load_player(name, backend=evaluator, threads=threads) for name in names]
    versions = list(map(version_of, names))
    kept = Kept(output.with_suffix(".matches.json"))

    def play(i: int, j: int) -> list[float]:
        result = play_match(players[i], players[j], draw_openings(games // 2, i), threads=threads)
        click.echo(f"{names[i]} against {names[j]}: {result.score:.1%}", err=True)
        return result.pair_scores

    pairs = {
        (i, j): kept.get(f"{versions[i]} {versions[j]} {games} {sims} {evaluator}", partial(play, i, j))
        for i, j in combinations(range(len(players)), 2)
        if i < len(places)
    }
    rated = ratings(len(players), pairs)
    errors = []
    if tables:
        tablebases = Tables.open(tables)
        for place in places:
            report = kept.get(
                f"{version_of(str(place.path))} {tables} pieces", partial(measure, place.path, tablebases)
            )
            wrong = {
                "move gives the result away": 1 - report["keeps_decided"],
                "value has the wrong sign": report["wrong_sign"],
            }
            errors.append(wrong)
    for i, (place, rating) in enumerate(zip(places, rated, strict=False)):
        shares = "".join(f", {name} {share:.1%}" for name, share in errors[i].items()) if errors else ""
        click.echo(
            f"{runs[place.run].folder.name} generation {place.generation}: "
            f"{elo_text(rating.elo, rating.low, rating.high)}, {place.hours:.2f} h{shares}"
        )
    others = dict(zip(against, rated[len(places) :], strict=True))
    for name, rating in others.items():
        click.echo(f"{name}: {elo_text(rating.elo, rating.low, rating.high)}")
    title = f"{sims} visits per move, {games} games per match"
    draw(output, runs, places, rated, others, errors, title)


if __name__ == "__main__":
    main()
