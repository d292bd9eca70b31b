"""What the commands that let players meet have in common."""

from collections.abc import Callable
from typing import Any

import click

from ckai.cli.endgames import tables_option
from ckai.cli.networks import EVALUATOR_HELP, EVALUATORS


class _Even(click.IntRange):
    """An even number from 2 on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number % 2:
            self.fail(
                f"expected an even number, as every opening is played twice, found {number}", param, ctx
            )
        return number


EVEN = _Even(2)
"""Type of a number of games."""

_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "--openings",
        type=click.Choice(["balanced", "random", "start"]),
        default="balanced",
        show_default=True,
        help="balanced: positions after three plies that lose no man by force; random: after four random "
        "plies; start: the first position.",
    ),
    tables_option,
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of openings and players."
    ),
    click.option(
        "--evaluator", default="torch", show_default=True, type=click.Choice(EVALUATORS), help=EVALUATOR_HELP
    ),
]


def arena_options(command: Any) -> Any:
    """`--openings`, `--tables`, `--seed` and `--evaluator`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def opening_positions(kind: str, count: int, seed: int) -> list[Any]:
    """First positions by the word of `--openings`."""
    from ckai.game import Position
    from ckai.rl.match import random_openings
    from ckai.rl.openings import draw_openings

    if kind == "balanced":
        return list(draw_openings(count, seed))
    return random_openings(count, 4, seed) if kind == "random" else [Position.start()] * count
