"""Options and setup that match, tournament and ladder share."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from ckai.cli.shared.networks import GAMES, evaluator_option
from ckai.cli.shared.numbers import FiniteRange
from ckai.cli.shared.output import report_compilation
from ckai.cli.shared.tables import check_tables, ensure_tables, open_tables, tables_option
from ckai.datasets.machine import available_cores
from ckai.rl.players.forms import HUB_SILENCE_SECONDS


class _Even(click.IntRange):
    """An even number, at least 2."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        if number % 2:
            self.fail(
                f"expected an even number, as every opening is played with both colours, found {number}",
                param,
                ctx,
            )
        return number


EVEN = _Even(2)
"""Option type of a number of games."""

_OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--game", type=click.Choice(GAMES), help="Game to play.  [default: the networks' game]"),
    click.option(
        "--openings",
        type=click.Choice(["balanced", "random", "start"]),
        default="balanced",
        show_default=True,
        help="Start positions: after three plies that lose no man by force (balanced), after four random "
        "plies (random), or the initial position (start).",
    ),
    tables_option,
    click.option(
        "--adjudicate",
        type=click.IntRange(2, 6),
        metavar="N",
        help="End games with the result of the N-piece tablebases, building them if missing.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of the openings and players.",
    ),
    click.option(
        "--hub-timeout",
        type=FiniteRange(0, min_open=True),
        default=HUB_SILENCE_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="Silence after which a depth-limited Hub program is dropped.",
    ),
    evaluator_option(),
]


def arena_options(command: Any) -> Any:
    """Add the options that are the arguments of `Arena`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Arena:
    """Loads players of one game and plays matches between them."""

    def __init__(
        self,
        names: Sequence[str],
        game: str | None,
        openings: str,
        tables: str,
        adjudicate: int | None,
        seed: int,
        hub_timeout: float,
        evaluator: str,
        ray: str | None = None,
    ) -> None:
        """Choose the game and open the tablebases.

        Args:
            names: player specs, see `ckai.rl.players.loading`.
            game: name of the game; None: that of the first network.
            openings: value of `--openings`.
            tables: value of `--tables`.
            adjudicate: value of `--adjudicate`.
            seed: seed of the openings and players.
            hub_timeout: see `load_player`.
            evaluator: backend of the networks.
            ray: value of `--ray`; None: play in this process.

        Raises:
            CheckpointError: a file is not a checkpoint.
            TableError: a tablebase is damaged.
            RayError: there is no such cluster.
            click.BadParameter: tablebases of a game that has none.
        """
        from ckai.rl.games.registry import DEFAULT_GAME, get_game
        from ckai.rl.players.loading import game_of

        report_compilation()
        self.game = get_game(game or game_of(names) or DEFAULT_GAME.name)
        check_tables(tables, self.game)
        self.tables = open_tables(tables) if self.game.supports_tables else None
        if adjudicate is not None:
            if not self.game.supports_tables:
                raise click.BadParameter(
                    f"expected a game with tablebases, found {self.game.name}", param_hint="--adjudicate"
                )
            ensure_tables(adjudicate)
        self.adjudicate = adjudicate or 0
        self.openings, self.seed, self.evaluator = openings, seed, evaluator
        self.hub_timeout = hub_timeout
        self.threads, self.on_ray = available_cores(), ray is not None
        if ray is not None:
            from ckai.rl.leases.cluster import connect
            from ckai.rl.leases.config import WorkersConfig

            connect(ray, WorkersConfig())

    def load(self, name: str) -> Any:
        """Load the player of a spec; on Ray it is loaded where it plays, and this returns the spec.

        Args:
            name: the spec.

        Raises:
            PlayerSpecError, CheckpointError: see `load_player`.
        """
        from ckai.rl.players.loading import load_player

        if self.on_ray:
            return name
        return load_player(
            name,
            backend=self.evaluator,
            tables=self.tables,
            game=self.game,
            threads=self.threads,
            hub_timeout=self.hub_timeout,
        )

    def identity(self, names: Sequence[str]) -> dict[str, Any]:
        """Return what decides the games of a match, as plain data; networks by the hash of their files."""
        from ckai.rl.leases.lease import hash_of
        from ckai.rl.players.loading import checkpoints_of
        from ckai.rl.players.parsing import PlayerSpec

        def networks(name: str) -> str | None:
            hashes = [hash_of(path.read_bytes()) for path in checkpoints_of(PlayerSpec.read(name))]
            return " ".join(hashes) or None

        adjudicated = {"adjudicate": self.adjudicate} if self.adjudicate else {}
        return {
            "players": list(names),
            "networks": list(map(networks, names)),
            "game": self.game.name,
            "openings": self.openings,
            "seed": self.seed,
            "tables": self.tables.pieces if self.tables is not None else 0,
            "evaluator": self.evaluator,
            **adjudicated,
        }

    def positions(self, count: int) -> list[Any]:
        """Draw `count` start positions as `--openings` says."""
        from ckai.rl.matches.openings import draw_openings, random_openings

        if self.openings == "balanced":
            return draw_openings(count, self.seed, self.game)
        if self.openings == "random":
            return random_openings(count, 4, self.seed, self.game)
        return [self.game.position()] * count

    def play(self, a: Any, b: Any, positions: list[Any], number: int = 0, **settings: Any) -> Any:
        """Play match `number` of this arena from `positions`, see `play_match` and `play_match_on_ray`."""
        settings["adjudicate"] = self.adjudicate
        if self.on_ray:
            from ckai.rl.leases.matches import play_match_on_ray

            return play_match_on_ray(
                a,
                b,
                positions,
                spec=self.game,
                tables=self.tables,
                backend=self.evaluator,
                hub_timeout=self.hub_timeout,
                seed=self.seed + number,
                **settings,
            )
        from ckai.rl.matches.match import play_match

        return play_match(
            a, b, positions, spec=self.game, threads=self.threads, seed=self.seed + number, **settings
        )


def elo_text(elo: float, low: float, high: float) -> str:
    """Return an Elo difference with its interval, for a table."""
    return f"{elo:+.0f} ({low:+.0f} to {high:+.0f})"
