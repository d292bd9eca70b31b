"""`ckai ladder`: how many playouts vanilla MCTS needs to play as well as a network."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.arena import EVEN, Arena, arena_options
from ckai.cli.shared.output import json_option, print_json, talk

FIRST, LAST = 10, 20_480
LEAST_SCORE = 0.05
"""Below this score the rungs above are not played."""


@click.command("ladder")
@click.argument("players", nargs=-1, required=True)
@click.option(
    "--first", type=click.IntRange(1), default=FIRST, show_default=True, help="Playouts of the first rung."
)
@click.option("--last", type=click.IntRange(1), default=LAST, show_default=True, help="Most playouts.")
@click.option("--games", type=EVEN, default=40, show_default=True, help="Of each rung; even.")
@click.option("--all", "all_rungs", is_flag=True, help="Play on where all is lost.")
@arena_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("ladder.png"),
    show_default=True,
    help="Plot of the scores.",
)
@json_option
def command(
    players: tuple[str, ...],
    first: int,
    last: int,
    games: int,
    all_rungs: bool,
    output: Path,
    as_json: bool,
    **where: Any,
) -> None:
    """Let PLAYERS climb: vanilla MCTS with random playouts, twice as many on every rung.

    The number that comes out is the playouts a move at which both would score the same. PLAYERS are named as
    in `ckai match`.
    """
    from ckai.rl.matches.ladder import ladder_rating
    from ckai.rl.matches.plots import plot_ladder
    from ckai.rl.matches.ratings import plain

    if first > last:
        raise click.BadParameter(f"expected at most --last {last}, found {first}", param_hint="--first")
    arena = Arena(players, **where)
    positions = arena.positions(games // 2)
    rungs = [first]
    while rungs[-1] * 2 <= last:
        rungs.append(rungs[-1] * 2)
    screen = talk()
    climbed: dict[str, Any] = {}
    for name in players:
        player = arena.load(name, games)
        found: dict[int, Any] = {}
        for playouts in rungs:
            rival = arena.load(f"rollout@{playouts}", games)
            found[playouts] = arena.play(player, rival, positions).pairs
            screen.print(f"{name} against {playouts:,} playouts: {found[playouts].score:.1%}")
            if not all_rungs and found[playouts].score < LEAST_SCORE:
                break
        climbed[name] = found
    output.parent.mkdir(parents=True, exist_ok=True)
    levels = {name: ladder_rating(found) for name, found in climbed.items()}
    plot_ladder(output, climbed, levels)
    if as_json:
        print_json(
            {
                "players": [
                    {"name": name, "playouts": levels[name], "rungs": {n: plain(f) for n, f in found.items()}}
                    for name, found in climbed.items()
                ],
                "plot": str(output),
            }
        )
        return
    for name, level in levels.items():
        beyond = " or more" if level > rungs[-1] else " or fewer" if level < rungs[0] else ""
        shown = min(max(level, rungs[0]), rungs[-1])
        click.echo(f"{name}: as good as vanilla MCTS with {shown:,.0f} playouts a move{beyond}")
    click.echo(str(output))
