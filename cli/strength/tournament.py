"""`ckai tournament`: rate all players in a round robin."""

import os
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.cluster import ray_option
from ckai.cli.shared.output import json_option, print_json, progress_bar
from ckai.cli.shared.plot_file import plot_file, plot_options
from ckai.cli.strength.arena import EVEN, Arena, arena_options

PLOT = "tournament.png"


@click.command("tournament")
@click.argument("players", nargs=-1, required=True)
@click.option(
    "--every",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Use every Nth generation of a run folder.",
)
@click.option(
    "--sims",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Visits per move of a run's networks.",
)
@click.option(
    "--games", type=EVEN, default=40, show_default=True, help="Number of games in each match, an even number."
)
@arena_options
@ray_option
@plot_options(PLOT, "Plot of the ratings and scores to write; the games go to a PDN file of the same name.")
@json_option
def command(
    players: tuple[str, ...],
    every: int,
    sims: int,
    games: int,
    output: Path,
    force: bool,
    as_json: bool,
    **arena_settings: Any,
) -> None:
    """Rate all PLAYERS in a round robin: ratings with intervals, a cross table and a plot.

    PLAYERS are given as in `ckai match`. A run folder without a limit stands for the networks of all its
    generations.
    """
    from ckai.datasets.files import write_whole
    from ckai.rl.matches.pdn import match_pdn
    from ckai.rl.matches.plots import plot_tournament
    from ckai.rl.matches.ratings import cross_table, ratings

    names = expand(players, every, sims)
    if len(names) < 2:
        raise click.UsageError(f"expected at least two players, found {', '.join(names) or 'none'}")
    plot = plot_file(output, force, [".pdn"])
    arena = Arena(names, **arena_settings)
    loaded = [arena.load(name) for name in names]
    positions = arena.positions(games // 2)
    pairs: dict[tuple[int, int], list[float]] = {}
    texts = []
    matches = list(combinations(range(len(names)), 2))
    with progress_bar("playing", "matches") as progress:
        for number, (i, j) in enumerate(matches):
            progress(number, len(matches))
            result = arena.play(loaded[i], loaded[j], positions, number)
            pairs[i, j] = result.pair_scores
            texts.append(match_pdn(result, names[i], names[j], arena.game))
            # After every match, so that an interrupted tournament keeps its games.
            write_whole(plot.with_suffix(".pdn"), "".join(texts))
    rated, table = ratings(len(names), pairs), cross_table(len(names), pairs)
    plot_tournament(plot, names, rated, table)
    if as_json:
        print_json(
            {
                "players": [
                    {
                        "name": name,
                        "elo": r.elo,
                        "interval": [r.low, r.high],
                        "points": r.points,
                        "games": r.games,
                    }
                    for name, r in zip(names, rated, strict=True)
                ],
                "scores": [[None if s != s else round(s, 4) for s in row] for row in table.tolist()],
                "plot": str(plot),
            }
        )
        return
    _print_tables(names, rated, table)
    click.echo(f"{plot} and {plot.with_suffix('.pdn')}")


def expand(players: tuple[str, ...], every: int, sims: int) -> list[str]:
    """Replace run folders by the networks of their generations.

    Args:
        players: player specs and run folders.
        every: take every Nth generation, and the last.
        sims: visits per move of these networks.

    Returns:
        Player specs, each once.
    """
    from ckai.rl.matches.ratings import thinned

    names = []
    for text in players:
        networks = sorted(Path(text).glob("gen_*/network.ckpt")) if os.path.isdir(text) else []
        if networks:
            names += [f"{path}@{sims}" for path in thinned(networks, every)]
        else:
            names.append(text)
    return list(dict.fromkeys(names))


def _print_tables(names: list[str], rated: list[Any], table: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    from ckai.rl.matches.plots import short

    shown = Table(box=None, pad_edge=False)
    for title in ("", "player", "Elo", "95 %", "points", "games"):
        name = title == "player"  # on a narrow screen a long name is folded, not the figures cut
        shown.add_column(title, justify="left" if name else "right", no_wrap=not name, overflow="fold")
    order = sorted(range(len(names)), key=lambda n: -rated[n].elo)
    for place, n in enumerate(order, 1):
        r = rated[n]
        shown.add_row(
            str(place),
            short(names[n]),
            f"{r.elo:+.0f}",
            f"{r.low:+.0f} to {r.high:+.0f}",
            f"{r.points:g}",
            str(r.games),
        )
    console = Console(highlight=False)
    console.print(shown)
    # A column is 5 wide with the space around it, and the screen may not have room for all.
    fit = max(1, (console.width - 4) // 5)
    for first in range(0, len(order), fit):
        columns = order[first : first + fit]
        console.print("score of the row, %", style="italic")
        cross = Table(box=None, pad_edge=False)
        cross.add_column("", justify="right")
        for place in range(first + 1, first + len(columns) + 1):
            cross.add_column(str(place), justify="right", no_wrap=True)
        for place, n in enumerate(order, 1):
            cells = ["" if table[n, m] != table[n, m] else f"{100 * table[n, m]:.0f}" for m in columns]
            cross.add_row(str(place), *cells)
        console.print(cross)
