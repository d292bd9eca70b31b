"""`ckai levels`: list the levels of play, or measure them by matches."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import json_option, print_json, stderr_console
from ckai.cli.strength.arena import EVEN, Arena, arena_options, elo_text
from ckai.rl.players.forms import FULL_STRENGTH_SECONDS

if TYPE_CHECKING:
    from ckai.rl.matches.match import MatchResult


@click.command("levels")
@click.option(
    "--games",
    type=EVEN,
    help="Play this many games of each level against the one below, and estimate the Elo difference.",
)
@click.option(
    "--against",
    metavar="PLAYER",
    multiple=True,
    help="Play each level against this player instead, as `ckai match` takes it; may be repeated.",
)
@click.option(
    "--only", type=click.IntRange(1), multiple=True, help="Measure only this level; may be repeated."
)
@click.option(
    "--max-plies",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="Plies after which a game counts as a draw.",
)
@arena_options
@json_option
def command(
    games: int | None,
    against: tuple[str, ...],
    only: tuple[int, ...],
    max_plies: int,
    as_json: bool,
    **arena_settings: Any,
) -> None:
    """List the levels of play, or measure them by matches.

    A level plays the moves that people play, weighted by a shallow search. Play against one with
    `ckai play --level 3`.

    \b
    Examples:
      ckai levels                         the settings of each level
      ckai levels --games 200             each level against the one below
      ckai levels --games 60 --only 1 --against alphabeta@1
    """
    from ckai.rl.players.levels import FULL_LEVEL

    if games is None and (against or only):
        raise click.UsageError("--against and --only need --games")
    for number in only:
        if number > FULL_LEVEL:
            raise click.BadParameter(
                f"expected levels from 1 to {FULL_LEVEL}, found {number}", param_hint="--only"
            )
    if 1 in only and not against:
        raise click.UsageError("level 1 has no level below it; name a player with --against")
    chosen = sorted(set(only)) or range(1, FULL_LEVEL + 1)
    matches = [
        (number, opponent)
        for number in chosen
        for opponent in against or ([f"level:{number - 1}"] if number > 1 else [])
    ]
    played: list[tuple[int, str, MatchResult]] = []
    if games is not None:
        console = stderr_console()
        arena = Arena([f"level:{number}" for number in chosen] + list(against), **arena_settings)
        positions = arena.positions(games // 2)
        names = {name for number, opponent in matches for name in (f"level:{number}", opponent)}
        players = {name: arena.load(name) for name in names}
        for number, opponent in matches:
            level, other = players[f"level:{number}"], players[opponent]
            result = arena.play(level, other, positions, number, max_plies=max_plies)
            played.append((number, opponent, result))
            console.print(f"level {number} against {opponent}: {result.pairs}")
    if as_json:
        matched = [
            {"level": number, "against": opponent, **result.summary()}
            | {"elo": result.pairs.elo, "interval": list(result.pairs.interval)}
            for number, opponent, result in played
        ]
        print_json({"levels": [_plain(number) for number in range(1, FULL_LEVEL + 1)], "matches": matched})
    elif games is None:
        _print_levels()
    else:
        _print_matches(played)


def _plain(number: int) -> dict[str, Any]:
    """Return the settings of a level; those that it does not have are None."""
    from ckai.rl.players.levels import LEVELS, QUICK_NODES

    settings = asdict(LEVELS[number - 1]) if number <= len(LEVELS) else dict.fromkeys(asdict(LEVELS[0]))
    nodes = dict(enumerate(QUICK_NODES, len(LEVELS) + 1)).get(number)
    return {"level": number, **settings, "nodes": nodes}


def _print_levels() -> None:
    from rich.console import Console
    from rich.table import Table

    from ckai.rl.players.levels import FULL_LEVEL, LEVELS, QUICK_NODES

    table = Table(box=None, pad_edge=False)
    for title in ("level", "temperature", "plies", "regret", "positions"):
        table.add_column(title, justify="right")
    for number in range(1, len(LEVELS) + 1):
        level = _plain(number)
        searched = (str(level["depth"]), f"{level['regret']:g}") if level["depth"] else ("-", "-")
        table.add_row(str(number), f"{level['temperature']:g}", *searched, "-")
    for number, nodes in enumerate(QUICK_NODES, len(LEVELS) + 1):
        table.add_row(str(number), "-", "-", "-", f"{nodes:,}")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "temperature: of the human policy; plies: searched after each move; regret: the loss of value that "
        "makes a move e times rarer; positions: searched by alpha-beta per move; level "
        f"{FULL_LEVEL} is full strength, alpha-beta for {FULL_STRENGTH_SECONDS:g} s per move"
    )


def _print_matches(played: "list[tuple[int, str, MatchResult]]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("level", "against", "won", "drawn", "lost", "Elo, 95 %"):
        table.add_column(title, justify="left" if title == "against" else "right", overflow="fold")
    for number, opponent, result in played:
        counts = [str(n) for n in (result.wins, result.draws, result.losses)]
        table.add_row(str(number), opponent, *counts, elo_text(result.pairs.elo, *result.pairs.interval))
    Console(highlight=False).print(table)
