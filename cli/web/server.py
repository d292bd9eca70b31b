"""What the requests of all tabs share: the games, the engines, the one search."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.engines import EngineLoader, player_name
from ckai.cli.shared.networks import NO_NETWORK, networks_in
from ckai.cli.shared.tables import open_tables
from ckai.cli.web.rules import all_games
from ckai.cli.web.searches import Searches
from ckai.models.pretrained import CKAI, SMALL
from ckai.rl.engine.text import ALPHA_BETA, FULL_STRENGTH_SECONDS, LEVEL, EngineText
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.engine.base import Engine

ANALYST = f"{ALPHA_BETA}{CKAI}"
"""The engine that explains, judges and draws the curve in checkers."""
MAX_LOADED = 10
"""Most engines that stay loaded; the least recently used one goes first."""


class Server:
    """Holds no games: a page has its own, and says in every request which position it means.

    The page cannot name files and programs of its own as engines: only what is found here, what comes with
    ckai and what was given when the server began.

    Args:
        evaluator, tables, seed: as the options of `ckai play`.
        given: texts of engines given on the command line.

    Attributes:
        searches: the one search that runs, and those that wait.
        chance: of `choose_move`.
    """

    def __init__(self, *, evaluator: str, tables: str, seed: int | None, given: Sequence[str]) -> None:
        self.chance, self.searches = random.Random(seed), Searches()
        self._options, self._given = (evaluator, tables, seed), [EngineText.read(text) for text in given]
        self._engines: dict[tuple[str, str], Engine] = {}
        """By game and text, the least recently used one first."""

    async def __aenter__(self) -> None:
        self._runner = asyncio.create_task(self.searches.run())

    async def __aexit__(self, *error: object) -> None:
        self._runner.cancel()
        await self.searches.close()
        while self._engines:
            self._engines.popitem()[1].close()

    @cached_property
    def players(self) -> list[dict[str, Any]]:
        """Players and analysts: game, spec, name, group and note; a level has its `level`.

        For the thread of searches: the first time takes seconds, to import what they need.
        """
        from ckai.rl.engine.loading import game_of

        open_tables(self._options[1])
        main, limit = DEFAULT_GAME.name, FULL_STRENGTH_SECONDS
        found = [(str(path), game) for path, game in networks_in() if game is not None]
        offered = [
            (main, f"{ANALYST}@1s", "Alpha-beta, ckai", "engine", "the strongest; 1 s a move"),
            *(
                (game, f"{name}@{limit:g}s", name, "network", f"tree search, {limit:g} s a move")
                for name, game in [*found, (CKAI, main), (SMALL, main)]
            ),
            (main, "alphabeta@6", "Alpha-beta, material only", "other", "6 plies deep"),
        ]
        for spec in all_games():
            offered += [
                (spec.name, "rollout@1000", "Random playouts", "search", "1,000 a move"),
                (spec.name, "uniform@400", "Search without a network", "search", "400 visits a move"),
                *([(spec.name, "perfect", "Perfect play", "other", "")] if spec.solver else []),
                (spec.name, "random", "Random moves", "other", ""),
            ]
        for player in self._given:
            game = main
            with suppress(ValueError):  # the error comes when the player is to move
                game = game_of([player.text]) or main
            offered.append((game, player.text, player_name(player.text), "other", "given at the start"))
        names = ("game", "spec", "name", "group", "note")
        return level_players() + [dict(zip(names, each, strict=True)) for each in offered]

    def engine(self, text: str, spec: GameSpec, tell: Callable[[dict[str, Any]], Any]) -> "Engine":
        """Return an engine by its text, loaded; of an empty one the engine that explains and judges a game.

        Raises:
            ValueError: the page may not choose it, or it cannot be loaded.
            OSError, RuntimeError: it cannot be loaded.
        """
        mine = [each for each in self.players if each["game"] == spec.name]
        if not text:
            networks = [each["spec"] for each in mine if each["group"] == "network"]
            text = ANALYST if spec == DEFAULT_GAME else (networks or ["rollout@1000"])[0]
        player, names = EngineText.read(text), {EngineText.read(each["spec"]).who for each in mine}
        if player.who not in names and player.who not in NO_NETWORK:
            raise ValueError(
                f"expected one of {', '.join(sorted(names))}, found {player.who[:60]!r}; others are given "
                "when the server begins: ckai board --engine SPEC"
            )
        if player.control is not None:
            raise ValueError(f"{text[:60]}: expected one clock for both sides; give it as the game's")
        engine = self._engines.pop((spec.name, text), None)
        if engine is None:
            tell({"waiting": "Loading the engine …"})
            engine = EngineLoader(spec, *self._options).load(text)
        self._engines[spec.name, text] = engine
        while len(self._engines) > MAX_LOADED:
            self._engines.pop(next(iter(self._engines))).close()
        return engine


def level_players() -> list[dict[str, Any]]:
    """Return the levels of play as players, see `Server.players`."""
    from ckai.rl.engine.levels import FULL_LEVEL, describe_level

    return [
        {"game": DEFAULT_GAME.name, "spec": f"{LEVEL}{n}", "group": "level", "level": n}
        | {"name": f"Level {n}, {name}", "note": note}
        for n, (name, note) in enumerate(map(describe_level, range(1, FULL_LEVEL + 1)), 1)
    ]
