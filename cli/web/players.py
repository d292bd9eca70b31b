"""Who can play and analyse on the page, and what has been loaded for it."""

import random
from collections.abc import Sequence
from functools import partial

from ckai.cli.playing.engines import EngineLoader, LazyEngine, player_name
from ckai.cli.playing.start import HUMAN
from ckai.cli.shared.networks import NO_NETWORK, networks_in
from ckai.cli.shared.tables import open_tables
from ckai.cli.web.table import PERSON, ActionError, Seat
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.tables import Tables
from ckai.models.pretrained import CKAI, PRETRAINED, SMALL
from ckai.rl.engine.text import ALPHA_BETA, FULL_STRENGTH_SECONDS, LEVEL, EngineText
from ckai.rl.games.spec import GameSpec

MAX_LOADED = 10
"""Most engines that stay loaded; the least recently used one goes first."""


class PlayerCatalog:
    """The players that the page may choose, and those that are loaded.

    The page cannot name files and programs of its own: only what is found here, what comes with ckai and what
    was given when the server began.

    Args:
        games: the games on the page.
        evaluator, tables, seed: as the options of `ckai play`.
        vary: whether engines may play moves nearly as good as the best at the start of a game.
        given: texts of engines given on the command line.
    """

    def __init__(
        self,
        games: Sequence[GameSpec],
        *,
        evaluator: str,
        tables: str,
        seed: int | None,
        vary: bool = True,
        given: Sequence[str] = (),
    ) -> None:
        self._games = games
        self._evaluator, self._tables_choice, self._seed = evaluator, tables, seed
        self.chance = random.Random(seed) if vary else None
        """Of `choose_move`."""
        self._given = [EngineText.read(text) for text in given]
        self.offered: list[dict[str, str]] = []
        """What the page offers: game, spec, name, group and note of each player."""
        self.networks: list[dict[str, str]] = []
        """Networks for analyses: game, name and note, the newest first."""
        self._names: set[tuple[str, str]] = set()
        """Game and name, without a limit, of all players that may be chosen."""
        self._engines: dict[tuple[str, str], LazyEngine] = {}
        """By game and text, the least recently used one first."""
        self.tables: Tables | None = None
        """The tablebases, once they are open."""

    # --- who there is -------------------------------------------------------------------------------

    def find(self) -> None:
        """Open the tables and look for the players; takes seconds, as it imports what they need.

        Raises:
            ValueError: the tables are damaged.
        """
        from ckai.rl.engine.levels import FULL_LEVEL, describe_level
        from ckai.rl.engine.loading import game_of

        self.tables = open_tables(self._tables_choice)
        offered: list[dict[str, str]] = []
        networks: list[dict[str, str]] = []

        def offer(game: str, spec: str, name: str, group: str, note: str = "") -> None:
            offered.append({"game": game, "spec": spec, "name": name, "group": group, "note": note})

        main = DEFAULT_GAME_NAME
        for number in range(1, FULL_LEVEL + 1):
            offer(main, f"{LEVEL}{number}", f"Level {number}", "levels", describe_level(number))
        found = [(str(path), game) for path, game in networks_in() if game is not None]
        for name, game in [*found, (CKAI, main), (SMALL, main)]:
            note = "installed with ckai" if name in PRETRAINED else ""
            networks.append({"game": game, "name": name, "note": note})
            limit = f"@{FULL_STRENGTH_SECONDS:g}s"
            offer(game, name + limit, name, "networks", f"{FULL_STRENGTH_SECONDS:g} s a move")
        offer(main, f"{ALPHA_BETA}{CKAI}@1s", "Alpha-beta with a network", "search", "1 s a move")
        offer(main, "alphabeta@6", "Alpha-beta, material only", "search", "6 plies deep")
        for spec in self._games:
            offer(spec.name, "rollout@1000", "Random playouts", "search", "1,000 a move")
            offer(spec.name, "uniform@400", "Search without a network", "search", "400 visits a move")
            offer(spec.name, "random", "Random moves", "other")
            if spec.solver is not None:
                offer(spec.name, "perfect", "Perfect play", "other")
        for player in self._given:
            try:
                game, note = game_of([player.text]) or main, "given at the start"
            except ValueError as error:  # the same error comes again when the player is to move
                game, note = main, str(error)
            offer(game, player.text, player_name(player.text), "other", note)
        self._names = {(each["game"], EngineText.read(each["spec"]).who) for each in offered}
        self.offered, self.networks = offered, networks

    def seat(self, text: str, spec: GameSpec) -> Seat:
        """Return the seat of a player.

        Raises:
            ActionError: the page may not choose this player, or a clock is given to one player only.
            ValueError: it is not the text of an engine.
        """
        if text == HUMAN:
            return PERSON
        player = EngineText.read(text)
        if (spec.name, player.who) not in self._names:
            names = sorted({name for game, name in self._names if game == spec.name})
            raise ActionError(
                f"expected {HUMAN} or one of {', '.join(names)}, found {player.who[:60]!r}; others are given "
                "when the server begins: ckai board --engine SPEC"
            )
        if player.control is not None:
            raise ActionError(f"{text[:60]}: expected one clock for both sides; give it as that of the game")
        return Seat(text, player_name(text))

    # --- what is loaded -----------------------------------------------------------------------------

    def engine(self, text: str, spec: GameSpec) -> LazyEngine:
        """Return the engine of a text; it is loaded when it is first used."""
        key = spec.name, text
        if key not in self._engines:
            loader = EngineLoader(spec, self._evaluator, self._tables_choice, self._seed)
            self._engines[key] = LazyEngine(partial(loader.load, text), player_name(text))
        self._engines[key] = self._engines.pop(key)
        while len(self._engines) > MAX_LOADED:
            self._engines.pop(next(iter(self._engines))).close()
        return self._engines[key]

    def network(self, name: str | None, spec: GameSpec) -> str:
        """Return the name of the network that analyses a game.

        Args:
            name: one of `networks`; None: the newest, or a search without a network where there is none.
            spec: the game.

        Raises:
            ActionError: there is no such network.
        """
        names = [each["name"] for each in self.networks if each["game"] == spec.name]
        if name is None:
            return names[0] if names else NO_NETWORK[0]
        if name not in [*names, *NO_NETWORK]:
            known = ", ".join([*names, *NO_NETWORK])
            raise ActionError(f"expected one of {known} for {spec.title or spec.name}, found {name[:60]!r}")
        return name

    def close(self) -> None:
        """Release all that is loaded."""
        while self._engines:
            self._engines.popitem()[1].close()
