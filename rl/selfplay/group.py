"""`Group`: the games that one thread of self-play plays, with their trees and their batch of leaves."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.rl.evaluators.calling import evaluate_into
from ckai.rl.games.contract import as_state
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.recording import FINISHED, IDLE, make_records, start_game
from ckai.rl.selfplay.rows import PLAYER_NAME, FinishedGame, copy_game
from ckai.rl.selfplay.searches import Searches

if TYPE_CHECKING:
    from ckai.rl.selfplay.config import SelfPlayConfig
    from ckai.rl.selfplay.numbers import GroupNumbers
    from ckai.rl.selfplay.progress import SelfPlayCounts


class Group(Searches):
    """Games played at the same time by one thread, one per tree, with one batch of leaves."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: "SelfPlayConfig",
        spec: GameSpec,
        pool: Pool | None,
        tables: Tables | None,
        numbers: "list[int] | GroupNumbers",
        seed: int,
        starts: Callable[[int], Any],
        name: str = PLAYER_NAME,
    ) -> None:
        """Allocate the trees and start the first games.

        Args:
            evaluator: evaluates the leaves.
            config: the settings.
            spec: the game.
            pool: past networks as opponents; None: none.
            tables: tablebases; None: none.
            numbers: numbers of the games to play, in order.
            seed: of the run.
            starts: first position of a game by its number.
            name: name of the network in PDN.
        """
        self.name = name
        self.pool = pool if pool is not None and pool.generations else None
        self.seed, self.starts = seed, starts
        trees = min(config.group_size, len(numbers))
        super().__init__(evaluator, config, spec, tables, trees, inline=self.pool is None)
        self.records = make_records(self.game, trees, config.max_plies)
        self.opponents = np.zeros(trees, np.int64)
        """[T] index in the pool of the opponent in each tree."""
        self.numbers = numbers
        self.waiting = iter(numbers)
        """Numbers of the games not started yet."""
        for t in range(trees):
            self.start(t)

    def start(self, t: int) -> None:
        """Start the next game in tree `t`."""
        number = next(self.waiting, None)
        if number is None:
            self.records.games[t]["status"] = IDLE
            return
        state = self.spec.state(self.starts(number))
        stream = np.uint64(seed_stream(self.seed, number))
        first = tuple(np.int64(word) for word in state)
        start_game(self.game, self.tree_batch, self.records, self.rules, t, number, first, stream)
        opponent = self.pool.opponent(number) if self.pool else None
        if opponent is not None:
            self.records.games[t]["opponent"] = 1 if opponent.moves_first else 2
            self.opponents[t] = opponent.index

    def fill(self) -> None:
        """Start games in the trees that have none, if there are numbers again; see `Numbers.refills`."""
        self.waiting = iter(self.numbers)
        for t in np.flatnonzero(self.records.games["status"] == IDLE).tolist():
            self.start(t)
            if self.records.games[t]["status"] == IDLE:
                return

    def with_player_names(self, game: FinishedGame) -> FinishedGame:
        """Return the game with the names of the networks that played it."""
        game = replace(game, black=self.name, white=self.name)
        opponent = self.pool.opponent(game.number) if self.pool else None
        if self.pool is None or opponent is None or not len(game.rows):
            return game
        first = game.rows[0]["state"]
        black = self.spec.position(as_state(first)).black == opponent.moves_first
        name = self.pool.name(opponent)
        return replace(game, black=name) if black else replace(game, white=name)

    def evaluate_boards(self, boards: Boards, logits: Floats, values: Floats) -> None:
        """See `Searches`; each tree is searched with the network of the side to move at its root."""
        if self.pool is None:
            super().evaluate_boards(boards, logits, values)
            return
        trees = self.tree_batch.slots["tree"][: len(boards)]
        games = self.records.games[trees]
        players = np.where(games["opponent"] == games["side"] + 1, self.opponents[trees], -1)
        for player in np.unique(players).tolist():
            evaluator = self.evaluator if player < 0 else self.pool.evaluators[player]
            rows = np.flatnonzero(players == player)
            some_logits, some_values = logits[rows], values[rows]
            evaluate_into(evaluator, boards[rows], some_logits, some_values)
            logits[rows], values[rows] = some_logits, some_values

    def step(self, on_game: Callable[[FinishedGame], None], progress: "SelfPlayCounts") -> bool:
        """Play and search until the next batch is full, and evaluate it.

        Args:
            on_game: called with each finished game.
            progress: counts that are increased.

        Returns:
            Whether any game is still in progress.

        Raises:
            ValueError: the evaluator answered with another shape, or with numbers that are not finite; or a
                tree has a node without an edge to follow.
        """

        def take_finished() -> None:
            for t in np.flatnonzero(self.records.games["status"] == FINISHED).tolist():
                on_game(self.with_player_names(copy_game(self.records, t, self.spec)))
                self.start(t)

        return self.search(take_finished, progress)
