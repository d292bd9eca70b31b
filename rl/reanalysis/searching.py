"""Searches of many positions at once, by the kernel of self-play: a position is a game of one action."""

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.rows import Visits
from ckai.datasets.tables import Tables
from ckai.game.jit import kernel
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.games import contract
from ckai.rl.games.spec import GameSpec
from ckai.rl.reanalysis.replay import Replay
from ckai.rl.search.mcts import get_tree, reset
from ckai.rl.selfplay.recording import COUNT, FINISHED, GAME, IDLE, Records, begin_record, row_dtype
from ckai.rl.selfplay.searches import Searches

if TYPE_CHECKING:
    from ckai.rl.selfplay.config import SelfPlayConfig
    from ckai.rl.selfplay.progress import SelfPlayCounts


class Positions(NamedTuple):
    """M positions to search, and what the searches found."""

    rows: Any
    """[M] int64, their rows in a `Replay`."""
    states: Any
    """[N, STATE_WORDS] int64, see `Replay`."""
    keys: Any
    """See `Replay`."""
    first: Any
    """See `Replay`."""
    q: Any
    """[M] float32, the search's value for the side to move, [-1, 1]."""
    policy_kl: Any
    """[M] float32, KL divergence of the policy target from the network's policy, in nats."""
    num_counts: Any
    """[M] int64, number of legal actions."""
    counts: Any
    """[M, MAX_LEGAL_ACTIONS] COUNT, the policy target; the first `num_counts` of each."""


@kernel
def take_and_start(game, trees, records, positions, started):
    """Take the results of the searches that have ended, and start others in their trees.

    Args:
        game: the rules.
        trees: the `TreeBatch`.
        records: the `Records`, one row each.
        positions: the `Positions`; the number of a game in the records is the index of its position.
        started: int64, positions whose search was started before.

    Returns:
        The same afterwards.
    """
    for t in range(len(records.games)):
        here = records.games[t]
        if here.status == FINISHED:
            i, row = here.game, records.rows[t, 0]
            positions.q[i] = row.q
            positions.policy_kl[i] = row.policy_kl
            positions.num_counts[i] = row.num_counts
            for n in range(row.num_counts):
                positions.counts[i, n] = records.counts[t, n]
            here.status = IDLE
        if here.status == IDLE and started < len(positions.rows):
            row = positions.rows[started]
            length = min(row - positions.first[row], np.int64(trees.history.shape[1]))
            for n in range(length):
                key = contract.load_state(game, positions.keys[row - length + n])
                contract.store_state(trees.history[t, n], key)
            trees.info[t].history_length = length
            reset(game, get_tree(trees, t), contract.load_state(game, positions.states[row]), np.bool_(False))
            begin_record(here, started)
            started += 1
    return started


class PositionSearches(Searches):
    """Searches of positions by one thread, each in an empty tree and without noise at the root.

    A search has the visits, constants and rule at the root of a full search of self-play. Its results follow
    from the position and its history alone, as far as the evaluator's answers do not depend on the batch.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        config: "SelfPlayConfig",
        spec: GameSpec,
        tables: Tables | None,
        trees: int,
        seed: int,
    ) -> None:
        """See `Searches`."""
        # Proven wins are the best edge alone, as in self-play; otherwise what would be played has no meaning.
        config = replace(config, full_search_prob=1.0, temperature=0.0, resign=0.0)
        super().__init__(evaluator, config, spec, tables, trees)
        self.constants = self.fast = self.constants.without_exploration()
        # A game ends when its records are full: after one row.
        self.records = Records(
            np.zeros(trees, GAME),
            np.zeros((trees, 1), row_dtype(self.game.STATE_WORDS)),
            np.zeros((trees, self.game.MAX_LEGAL_ACTIONS), COUNT),
        )

    def run(
        self, replay: Replay, rows: NDArray[np.int64], progress: "SelfPlayCounts", stop: threading.Event
    ) -> Positions:
        """Search the positions of some rows.

        Args:
            replay: the games of the rows.
            rows: `[M]`, indices of rows whose games are exact.
            progress: counts that are increased; searches that have ended count as rows.
            stop: event for an early end; the results then have no meaning.

        Raises:
            ValueError: see `Searches.search`.
        """
        count, most = len(rows), self.game.MAX_LEGAL_ACTIONS
        positions = Positions(
            rows,
            replay.states,
            replay.keys,
            replay.first,
            np.zeros(count, np.float32),
            np.zeros(count, np.float32),
            np.zeros(count, np.int64),
            np.zeros((count, most), COUNT),
        )
        started, ended = 0, 0

        def take() -> None:
            nonlocal started, ended
            started = int(take_and_start(self.game, self.tree_batch, self.records, positions, started))
            now = started - int((self.records.games["status"] != IDLE).sum())
            progress.rows += now - ended
            ended = now

        self.records.games["status"] = IDLE
        take()
        while self.search(take, progress) and not stop.is_set():
            pass
        return positions


def visits_of(positions: Positions) -> Visits:
    """Return the policy targets of M positions as the visit counts of rows."""
    offsets = np.concatenate([[0], np.cumsum(positions.num_counts)])
    listed = np.arange(positions.counts.shape[1]) < positions.num_counts[:, None]
    counts = positions.counts[listed]
    return Visits(offsets, counts["action"].copy(), counts["visits"].copy())
