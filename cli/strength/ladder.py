"""`ckai ladder`: find how many playouts vanilla MCTS needs to match a player."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.output import count_text, json_option, print_json, stderr_console
from ckai.cli.shared.plot_file import plot_file, plot_options
from ckai.cli.strength.arena import EVEN, Arena, arena_options

FIRST, LAST = 10, 20_480
PLOT = "ladder.png"
MIN_SCORE = 0.05
"""Score below which the higher rungs are skipped."""


@click.command("ladder")
@click.argument("players", nargs=-1, required=True)
@click.option(
    "--first",
    type=click.IntRange(1),
    default=FIRST,
    show_default=True,
    help="Playouts per move on the first rung.",
)
@click.option(
    "--last",
    type=click.IntRange(1),
    default=LAST,
    show_default=True,
    help="Most playouts per move, on the last rung.",
)
@click.option(
    "--games", type=EVEN, default=40, show_default=True, help="Number of games on each rung, an even number."
)
@click.option("--all", "all_rungs", is_flag=True, help="Play all rungs, even after a rung is lost.")
@arena_options
@plot_options(PLOT, "Plot of the scores to write.")
@json_option
def command(
    players: tuple[str, ...],
    first: int,
    last: int,
    games: int,
    all_rungs: bool,
    output: Path,
    force: bool,
    as_json: bool,
    **arena_settings: Any,
) -> None:
    """Find how many playouts per move vanilla MCTS needs to match each of PLAYERS.

    Each player meets vanilla MCTS with random playouts, with twice as many playouts on every rung. The result
    is the number of playouts at which both would score the same. PLAYERS are given as in `ckai match`.
    """
    from ckai.rl.matches.ladder import ladder_rating, ladder_text
    from ckai.rl.matches.plots import plot_ladder
    from ckai.rl.matches.ratings import plain

    if first > last:
        raise click.BadParameter(
            f"expected --first at most --last {last}, found {first}", param_hint="--first"
        )
    plot = plot_file(output, force)
    arena = Arena(players, **arena_settings)
    positions = arena.positions(games // 2)
    rungs = [first]
    while rungs[-1] * 2 <= last:
        rungs.append(rungs[-1] * 2)
    console = stderr_console()
    climbed: dict[str, Any] = {}
    for name in players:
        player = arena.load(name)
        scores: dict[int, Any] = {}
        for playouts in rungs:
            opponent = arena.load(f"rollout@{playouts}")
            scores[playouts] = arena.play(player, opponent, positions).pairs
            console.print(f"{name} against {count_text(playouts, 'playout')}: {scores[playouts].score:.1%}")
            if not all_rungs and scores[playouts].score < MIN_SCORE:
                break
        climbed[name] = scores
    levels = {name: ladder_rating(scores) for name, scores in climbed.items()}
    plot_ladder(plot, climbed, levels)
    if as_json:
        print_json(
            {
                "players": [
                    {
                        "name": name,
                        "playouts": levels[name],
                        "rungs": {n: plain(s) for n, s in scores.items()},
                    }
                    for name, scores in climbed.items()
                ],
                "plot": str(plot),
            }
        )
        return
    for name, level in levels.items():
        shown = ladder_text(level, rungs)
        noun = "playout" if shown == "1" else "playouts"
        click.echo(f"{name}: as good as vanilla MCTS with {shown} {noun} per move")
    click.echo(str(plot))
