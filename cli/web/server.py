"""What the requests of all tabs share: the games, the engines, the one search, the data set of experts."""

import random
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.engines import EngineLoader, LazyEngine, player_name
from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.shared.networks import NO_NETWORK, networks_in
from ckai.cli.shared.tables import open_tables
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
LOAD_AFTER_SECONDS = 0.5
"""Time before the engines are loaded, in which the page is served: the server is slow meanwhile."""


class Server:
    """Holds no games: a page has its own, and says in every request which position it means.

    The page cannot name files and programs of its own as engines: only what is found here, what comes with
    ckai and what was given when the server began.

    Args:
        games: the games on the page, by name.
        evaluator, tables, seed: as the options of `ckai play`.
        vary: whether engines may play moves nearly as good as the best at the start of a game.
        given: texts of engines given on the command line.
        experts: the data set in which moves are counted, if any.
        folder: where runs are looked for.

    Attributes:
        offered: players and analysts: game, spec, name, group, note; of a level its `level`.
        searches: the one search that runs, and those that wait.
        ready: set once the players are known.
        problem: why there are none; empty if nothing is wrong.
        chance: of `choose_move`.
    """

    def __init__(
        self,
        games: dict[str, GameSpec],
        *,
        evaluator: str,
        tables: str,
        seed: int | None,
        vary: bool = True,
        given: tuple[str, ...] = (),
        experts: ExpertMoves | None = None,
        folder: Path = Path(),
    ) -> None:
        self.games, self.experts, self.folder = games, experts, folder
        self.chance = random.Random(seed) if vary else None
        self.searches, self.ready, self.problem = Searches(), threading.Event(), ""
        self.offered: list[dict[str, Any]] = []
        self._options, self._given = (evaluator, tables, seed), [EngineText.read(text) for text in given]
        self._engines: dict[tuple[str, str], LazyEngine] = {}
        """By game and text, the least recently used one first."""
        self._loader = threading.Timer(LOAD_AFTER_SECONDS, self._load)

    def open(self) -> None:
        """Begin to load what the first game and the first analysis need."""
        self._loader.daemon = True
        self._loader.start()

    def close(self) -> None:
        """End all searches and release what is loaded."""
        self._loader.cancel()
        self.ready.set()  # what waits for the players ends
        self.searches.close()
        while self._engines:
            self._engines.popitem()[1].close()

    def _load(self) -> None:
        try:
            self._find()
        except Exception as error:  # people can play each other
            self.problem = f"no players can be loaded: {error}"
        finally:
            self.ready.set()
        try:
            if not self.problem:
                self.engine(ANALYST, DEFAULT_GAME)
        except Exception as error:
            self.problem = f"the network cannot be loaded: {error}"

    def _find(self) -> None:
        """Look for the players; takes seconds, as it imports what they need."""
        from ckai.rl.engine.loading import game_of

        open_tables(self._options[1])
        main, limit = DEFAULT_GAME.name, f"@{FULL_STRENGTH_SECONDS:g}s"
        offered = level_players()

        def offer(game: str, spec: str, name: str, group: str, note: str = "") -> None:
            offered.append({"game": game, "spec": spec, "name": name, "group": group, "note": note})

        offer(main, f"{ANALYST}@1s", "Alpha-beta, ckai", "engine", "the strongest; 1 s a move")
        found = [(str(path), game) for path, game in networks_in() if game is not None]
        for name, game in [*found, (CKAI, main), (SMALL, main)]:
            offer(game, name + limit, name, "network", f"tree search, {FULL_STRENGTH_SECONDS:g} s a move")
        for spec in self.games.values():
            offer(spec.name, "rollout@1000", "Random playouts", "search", "1,000 a move")
            offer(spec.name, "uniform@400", "Search without a network", "search", "400 visits a move")
            if spec.solver is not None:
                offer(spec.name, "perfect", "Perfect play", "other")
            offer(spec.name, "random", "Random moves", "other")
        offer(main, "alphabeta@6", "Alpha-beta, material only", "other", "6 plies deep")
        for player in self._given:
            try:
                game, note = game_of([player.text]) or main, "given at the start"
            except ValueError as error:  # the same error comes again when the player is to move
                game, note = main, str(error)
            offer(game, player.text, player_name(player.text), "other", note)
        self.offered = offered

    def spec(self, name: str) -> GameSpec:
        """Return a game.

        Raises:
            ValueError: there is no such game.
        """
        if name not in self.games:
            raise ValueError(f"expected one of the games {', '.join(self.games)}, found {name[:60]!r}")
        return self.games[name]

    def engine(self, text: str, spec: GameSpec) -> "Engine":
        """Return an engine, loaded; of an empty text the one that explains and judges a game.

        Raises:
            ValueError: the page may not choose it, or it cannot be loaded.
            OSError, RuntimeError: it cannot be loaded.
        """
        mine = [each for each in self.offered if each["game"] == spec.name]
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
        lazy = self._engines.pop((spec.name, text), None)
        if lazy is None:
            lazy = LazyEngine(partial(EngineLoader(spec, *self._options).load, text), player_name(text))
        self._engines[spec.name, text] = lazy
        while len(self._engines) > MAX_LOADED:
            self._engines.pop(next(iter(self._engines))).close()
        return lazy.get()


def level_players() -> list[dict[str, Any]]:
    """Return the levels of play as players, see `Server.offered`."""
    from ckai.rl.engine.levels import FULL_LEVEL, describe_level, level_name

    return [
        {"game": DEFAULT_GAME.name, "spec": f"{LEVEL}{n}", "group": "level", "level": n}
        | {"name": f"Level {n}, {level_name(n)}", "note": describe_level(n)}
        for n in range(1, FULL_LEVEL + 1)
    ]
