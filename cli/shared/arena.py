"""What the commands that let players meet have in common."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, GAMES
from ckai.cli.shared.output import report_compiling
from ckai.cli.shared.tables import chosen_tables, tables_option


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
    click.option("--game", type=click.Choice(GAMES), help="What is played.  [default: as the networks]"),
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
    """`--game`, `--openings`, `--tables`, `--seed` and `--evaluator`, the fields of an `Arena`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Arena:
    """Where players of one game meet."""

    def __init__(
        self, names: Sequence[str], game: str | None, openings: str, tables: str, seed: int, evaluator: str
    ) -> None:
        """Find out what is played, and what is known of it.

        Raises:
            CheckpointError: a file that is no network.
            TableError: damaged endgame tables.
        """
        from ckai.rl.games.registry import DEFAULT_GAME, get_game
        from ckai.rl.matches.specs import game_of

        report_compiling()
        self.game = get_game(game or game_of(names) or DEFAULT_GAME.name)
        self.tables = chosen_tables(tables) if self.game.supports_tables else None
        self.openings, self.seed, self.evaluator = openings, seed, evaluator
        self.threads = os.cpu_count() or 1

    def load(self, name: str, boards: int) -> Any:
        """The player of a name, at so many boards.

        Raises:
            PlayerSpecError, CheckpointError: see `load_player`.
        """
        from ckai.rl.matches.specs import load_player

        return load_player(
            name,
            backend=self.evaluator,
            tables=self.tables,
            game=self.game,
            boards=boards,
            threads=self.threads,
        )

    def positions(self, count: int) -> list[Any]:
        """First positions by the word of `--openings`."""
        from ckai.rl.matches.openings import draw_openings, random_openings

        if self.openings == "balanced":
            return draw_openings(count, self.seed, self.game)
        if self.openings == "random":
            return random_openings(count, 4, self.seed, self.game)
        return [self.game.position()] * count

    def play(self, a: Any, b: Any, positions: list[Any], number: int = 0, **settings: Any) -> Any:
        """The match `number` of this arena, see `play_match`."""
        from ckai.rl.matches.match import play_match

        return play_match(
            a, b, positions, spec=self.game, threads=self.threads, seed=self.seed + number, **settings
        )
