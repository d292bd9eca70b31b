"""The games of rows played through again: the state at every row, and the earlier ones for repetitions.

A row has the encoded position only. What that leaves out (a halfmove clock above 127, earlier states that may
not be repeated) follows from the actions of the game, from its first row on. A game whose rows are not those
of its actions, or do not begin with its first one, cannot be recreated.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.rows import Rows
from ckai.game.jit import kernel
from ckai.models.inputs.packing import pack_rows
from ckai.rl.games import contract
from ckai.rl.games.spec import GameSpec


@dataclass(frozen=True)
class Replay:
    """N rows as states of the search. Where `exact` is False the other arrays have no meaning."""

    states: NDArray[np.int64]
    """[N, STATE_WORDS]; which side is Black may be swapped in all states of a game."""
    keys: NDArray[np.int64]
    """[N, STATE_WORDS] repetition keys, see `ckai.rl.games.contract.key`."""
    first: NDArray[np.int64]
    """[N] row of the oldest earlier state that can still occur again: the history of row i is that of the
    rows `first[i]` to `i - 1`."""
    exact: NDArray[np.bool_]
    """[N] whether the game of the row could be recreated exactly."""


@kernel
def play_through(game, boards, labels, starts, states, keys, first, exact):
    """Play games through, from the position of their first row.

    Args:
        game: the rules.
        boards: `[N, POSITION_BYTES]` int8, the encoded positions of the rows.
        labels: `[N]` uint8, the actions played.
        starts: `[G + 1]` int64, the first row of each game, and N.
        states, keys, first: filled, see `Replay`.
        exact: `[G]` bool; set to False where a row has another position than the game, or an action that is
            not legal in it.
    """
    encoded = np.empty(boards.shape[1], np.int8)
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for g in range(len(exact)):
        begin = starts[g]
        state = contract.decode(game, boards[begin])
        oldest = begin
        for i in range(begin, starts[g + 1]):
            contract.encode(game, state, encoded)
            legal = False
            for n in range(contract.legal(game, state, actions)):
                legal = legal or actions[n] == labels[i]
            same = True
            for byte in range(len(encoded)):
                same = same and encoded[byte] == boards[i, byte]
            if not (legal and same):
                exact[g] = False
                break
            # As `ckai.rl.search.repetitions.append_history` does it while a game is played.
            if i > begin and contract.repetition_window(game, state) == 0:
                oldest = i
            contract.store_state(states[i], state)
            contract.store_state(keys[i], contract.key(game, state))
            first[i] = oldest
            state, _ = contract.play(game, state, np.int64(labels[i]))


def replay(rows: Rows, hops: NDArray[np.int8], rules: Any, spec: GameSpec) -> Replay:
    """Recreate the games of rows.

    Args:
        rows: the rows, ordered by game, ply and hop.
        hops: `[N]`, the column `hop`.
        rules: the rules of the game, without tablebases.
        spec: the game.
    """
    starts = np.flatnonzero(np.diff(rows.game, prepend=rows.game[0] - 1, append=rows.game[-1] + 1))
    shape = (len(rows), spec.state_words)
    states, keys = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    first = np.zeros(len(rows), np.int64)
    exact = (rows.ply[starts[:-1]] == 0) & (hops[starts[:-1]] == 0)
    labels = np.ascontiguousarray(rows.label)
    play_through(rules, pack_rows(rows), labels, starts, states, keys, first, exact)
    # The encoding ends at a clock of 127: a game that began above it would be wrong from there on.
    wrong = spec.halfmove_clocks(states) != rows.quiet
    exact &= ~np.logical_or.reduceat(wrong, starts[:-1])
    return Replay(states, keys, first, np.repeat(exact, np.diff(starts)))
