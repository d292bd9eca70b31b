"""The opponents that options and player specs ask for."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.playing.opponent import SIMS, EngineOpponent, Opponent
from ckai.cli.playing.player_opponent import PlayerOpponent
from ckai.cli.shared.networks import NO_NETWORK, NoNetworkError, network_file, newest_name, resolve_network
from ckai.cli.shared.tables import open_tables
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores
from ckai.models.pretrained import CKAI
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.forms import FULL_STRENGTH_SECONDS
from ckai.rl.players.parsing import ALPHA_BETA, GTP, HUB, LEVEL, PlayerSpec

if TYPE_CHECKING:
    from rich.console import Console

    from ckai.rl.games.clock import TimeControl


class OpponentFactory:
    """Makes the opponents of a game.

    Args:
        spec: the game.
        console: shows what is being loaded.
        evaluator, tables, vary, seed: values of the options.
        control: time of each side, None without clocks.
    """

    def __init__(
        self,
        spec: GameSpec,
        console: "Console",
        *,
        evaluator: str,
        tables: str,
        vary: int,
        seed: int | None,
        control: "TimeControl | None" = None,
    ) -> None:
        self.control = control
        self.spec, self.console = spec, console
        self.evaluator, self.tables, self.vary, self.seed = evaluator, tables, vary, seed

    def opponent(
        self, player: PlayerSpec | None, *, sims: int | None, seconds: float | None, later: bool = False
    ) -> Opponent:
        """Return the opponent of a player spec.

        Args:
            player: the spec; None: the newest network.
            sims, seconds: limits per move, in place of one in the spec.
            later: look for the newest network only when it is needed.

        Raises:
            UsageError: a limit is given twice.
            NoNetworkError: there is no network.
        """
        if player is None:
            if later:
                return self._searching(lambda: newest_name(self.spec.name), network_name(None), sims, seconds)
            source = newest_name(self.spec.name)
            if source == CKAI and (sims, seconds, self.control) == (None, None, None):
                seconds = FULL_STRENGTH_SECONDS
            return self._searching(lambda: source, network_name(source), sims, seconds)
        limited = player.number is not None or player.seconds is not None or player.policy
        if limited and (sims is not None or seconds is not None):
            raise click.UsageError(f"--engine {player.text} has a limit; leave out --sims and --seconds")
        if player.policy or not searches(player.who):
            text = player.text + limit_text(sims, seconds)
            if not limited and self.control is not None and player.who.startswith((HUB, GTP, ALPHA_BETA)):
                text = player.who + clock_text(self.control)
            return self._playing(lambda: text, player_name(text))
        limits = sims or player.number, seconds or player.seconds
        return self._searching(lambda: player.who, network_name(player.who), *limits)

    def analyst(self) -> Opponent:
        """Return an opponent that gives hints beside one that cannot: the newest network, or playouts."""

        def find() -> str:
            try:
                return newest_name(self.spec.name)
            except NoNetworkError:
                return NO_NETWORK[0]

        return self._searching(find, network_name(None), None, None, timed=False)

    def _searching(
        self,
        find: Callable[[], str],
        name: str,
        sims: int | None,
        seconds: float | None,
        *,
        timed: bool = True,
    ) -> Opponent:
        """Return a tree search; `find` says with which network, or with none, when it is needed.

        With `timed` it plays by the clock, if there is one.
        """
        if self.spec.name != DEFAULT_GAME_NAME:
            limit = limit_text(SIMS if sims is None and seconds is None else sims, seconds)
            control = self.control if timed else None
            if control is not None:
                limit = clock_text(control)
            return self._playing(lambda: find() + limit, name, analyses=control is None)

        def load() -> Any:
            from ckai.rl.engine import Engine

            network, endgames = resolve_network(find()), open_tables(self.tables)
            with self.console.status("loading the network ..."):
                return Engine.load(
                    network,
                    evaluator=self.evaluator,
                    tables=endgames,
                    seed=self.seed,
                )

        return EngineOpponent(load, name, sims=sims, seconds=seconds, vary=self.vary, seed=self.seed)

    def _playing(self, find: Callable[[], str], name: str, *, analyses: bool = False) -> Opponent:
        """Return a player of matches; `find` returns its spec when it is needed."""

        def load() -> Any:
            from ckai.rl.players.loading import load_player

            endgames = open_tables(self.tables) if self.spec.supports_tables else None
            with self.console.status("loading the player ..."):
                return load_player(
                    find(),
                    backend=self.evaluator,
                    tables=endgames,
                    game=self.spec,
                    search_threads=available_cores(),
                )

        return PlayerOpponent(load, name, self.spec, seed=self.seed, analyses=analyses)


def player_name(text: str) -> str:
    """Return the name of a player of matches for messages and PDN headers, without folders and arguments."""
    who, at, limit = text.rpartition("@")
    who, end = (who, at + limit) if who else (text, "")
    for program in (HUB, GTP):
        if who.startswith(program):
            return program + Path(who.removeprefix(program).split()[0]).name + end
    if who.startswith(LEVEL):
        return who.replace(":", " ") + end
    start = ALPHA_BETA if who.startswith(ALPHA_BETA) else ""
    return start + "/".join(Path(who.removeprefix(start)).parts[-2:]) + end


def searches(who: str) -> bool:
    """Return whether a player without its limit is a tree search: with a network, or without one."""
    try:
        return who in NO_NETWORK or bool(network_file(Path(who)))
    except (NoNetworkError, OSError):  # also a name that is too long for a file
        return False


def clock_text(control: "TimeControl") -> str:
    """Return a clock as the end of a player spec, where `@300s` would be seconds for every move."""
    text = str(control)
    return f"@{text}" if "/" in text or "+" in text else f"@{text}+0s"


def limit_text(sims: int | None, seconds: float | None) -> str:
    """Return limits per move as the end of a player spec.

    Raises:
        UsageError: both are given.
    """
    if sims is not None and seconds is not None:
        raise click.UsageError("this player takes --sims or --seconds, not both")
    if seconds is not None:
        return f"@{seconds:.9f}".rstrip("0").rstrip(".") + "s"
    return "" if sims is None else f"@{sims}"


def game_of_player(player: PlayerSpec | None) -> str:
    """Return the name of the game of a player's network, or the default one."""
    if player is None or not os.path.exists(player.who):
        return DEFAULT_GAME_NAME
    from ckai.rl.players.loading import game_of

    return game_of([player.text]) or DEFAULT_GAME_NAME


def network_name(source: str | None) -> str:
    """Return the name of a network for PDN headers: `ckai run-001/best.ckpt`, without leading folders."""
    if source is None or source in NO_NETWORK:
        return "ckai" if source is None else f"ckai {source}"
    if source == CKAI:
        return CKAI
    path = Path(source, "best.ckpt") if Path(source).is_dir() else Path(source)
    return "ckai " + "/".join(path.parts[-2:])
