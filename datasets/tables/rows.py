"""Sample positions from tablebases: one set for training, and a disjoint one for evaluation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.split import position_keys
from ckai.datasets.splitmix import GOLDEN, MIX_1, MIX_2
from ckai.datasets.tables.index import unrank_position
from ckai.datasets.tables.layout import Material
from ckai.datasets.tables.probe import MAX_LEGAL_HOPS, Tables, best_hops, value_of
from ckai.datasets.tables.solve import DRAWN, ROOM
from ckai.datasets.writer import row_table
from ckai.game import HALFMOVE_LIMIT, kernels
from ckai.game.jit import inner, quick_kernel

HELDOUT_ONE_IN = 10
"""One position in HELDOUT_ONE_IN is reserved for evaluation; the others are for training."""
MAX_SAMPLED_CLOCK = 40
"""Halfmove clocks of sampled rows are random, up to this."""


@dataclass(frozen=True)
class Endgames:
    """Sampled positions with a legal move and no capture under way, and their values for the side to move."""

    places: NDArray[np.int64]
    """`[N, 3]` int64: own, opp, kings, see `ckai.game.Position`."""
    values: NDArray[np.uint8]
    """`[N]` uint8, see `ckai.datasets.tables.solve`."""
    of: NDArray[np.int64]
    """`[N]` int64, the material class of each, an index into `classes`."""
    classes: tuple[Material, ...]

    @property
    def truth(self) -> NDArray[np.int8]:
        """`[N]` int8: 1 won, 0 drawn, -1 lost."""
        return np.where(self.values == DRAWN, 0, np.where(self.values & 1, 1, -1)).astype(np.int8)

    def boards(self) -> NDArray[np.int8]:
        """`[N, 32]` int8, mover's view: 1 own man, 3 own king, -1 / -3 the other's, 0 empty."""
        out = np.empty((len(self.places), 32), np.int8)
        _boards(self.places, out)
        return out


def draw_endgames(
    tables: Tables,
    number: int,
    *,
    seed: int,
    pieces: int | None = None,
    heldout: bool,
    even: bool = False,
) -> Endgames:
    """Sample positions at random, with repetition.

    Args:
        tables: for at least `pieces` pieces.
        number: of positions.
        seed: of the sampling.
        pieces: on the board, exactly; None: any number in the tables.
        heldout: sample the positions reserved for evaluation, or the others. A hash of the position decides
            which it is, whatever the seed.
        even: weight material classes by the square root of their size, so that small ones come up more often.
    """
    layout = tables.layout
    chosen = [
        (of, size)
        for of, size in zip(layout.classes, layout.sizes, strict=True)
        if pieces in (None, of.pieces)
    ]
    classes = tuple(of for of, _ in chosen)
    weights = np.array([size for _, size in chosen], np.float64) ** (0.5 if even else 1.0)
    rng = np.random.default_rng(seed)
    of = np.sort(rng.choice(len(classes), number, p=weights / weights.sum()))
    places, values = np.empty((number, 3), np.int64), np.empty(number, np.uint8)
    _draw(
        np.array([tuple(of) for of in classes], np.int64),
        np.array([size for _, size in chosen], np.int64),
        of,
        seed,
        heldout,
        tables.values,
        layout.lookup,
        places,
        values,
    )
    return Endgames(places, values, of, classes)


def endgame_rows(tables: Tables, number: int, *, seed: int = 0) -> pa.Table:
    """Rows for training: the first hop of a best move, and the exact result. Each row is a game of its own.

    Where several moves are best, a hash of the position chooses one: others may repeat, and all rows of a
    position are copies, on one side of a split. Positions reserved for evaluation never appear.

    Args:
        tables: to sample from; small material classes come up more often than their share.
        number: of rows.
        seed: of the sampling.

    Returns:
        A table in `EXPERT_SCHEMA`.
    """
    drawn = draw_endgames(tables, number, seed=seed, heldout=False, even=True)
    rng = np.random.default_rng((seed, 1))
    order = rng.permutation(number)
    values, places = drawn.values[order], drawn.places[order]
    actions, legal = np.empty(number, np.uint8), np.zeros((number, 16), np.uint8)
    board, jumper = drawn.boards()[order], np.full(number, -1, np.int8)
    draws = (position_keys(board, jumper) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    _best(places, tables.pieces, tables.values, tables.layout.lookup, draws, actions, legal)
    # The clock must not turn the exact result into a draw.
    most = np.where(
        values == DRAWN,
        MAX_SAMPLED_CLOCK,
        np.clip(HALFMOVE_LIMIT - values.astype(np.int64), 0, MAX_SAMPLED_CLOCK),
    )
    columns: dict[str, NDArray[Any]] = {
        "game": np.arange(number, dtype=np.int32),
        "ply": np.zeros(number, np.int16),
        "hop": np.zeros(number, np.int8),
        "black": np.ones(number, np.bool_),
        "board": board,
        "jumper": jumper,
        "quiet": rng.integers(0, most + 1).astype(np.int16),
        "legal": legal,
        "label": actions,
        "z": drawn.truth[order],
    }
    return row_table(columns, unknown=2)


def hops_that_keep(drawn: Endgames, tables: Tables) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which actions keep the result of a position: won, drawn or lost.

    Returns:
        (legal, keeping), both `[N, 128]` bool.
    """
    legal, keeping = (np.zeros((len(drawn.places), 128), np.bool_) for _ in range(2))
    _keep(drawn.places, drawn.values, tables.pieces, tables.values, tables.layout.lookup, legal, keeping)
    return legal, keeping


@inner
def _is_heldout(own, opp, kings):  # type: ignore[no-untyped-def]
    """Whether a hash of the position (with SplitMix64's constants) reserves it for evaluation."""
    z = np.uint64(own) ^ np.uint64(opp) * GOLDEN
    z = (z ^ (np.uint64(kings) << np.uint64(17))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    z = z ^ (z >> np.uint64(31))
    return z % np.uint64(HELDOUT_ONE_IN) == np.uint64(0)


@quick_kernel
def _draw(classes, sizes, of, seed, heldout, values, lookup, places, sampled):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    between = np.empty((ROOM, 4), np.int64)
    for i in range(len(of)):
        m1, k1, m2, k2 = classes[of[i]]
        while True:
            own, opp, kings = unrank_position(np.random.randint(sizes[of[i]]), m1, k1, m2, k2, lookup)
            value = value_of(own, opp, kings, -1, m1 + k1 + m2 + k2, values, lookup, between)
            if value != 0 and _is_heldout(own, opp, kings) == heldout:
                break
        places[i, 0], places[i, 1], places[i, 2] = own, opp, kings
        sampled[i] = value


@quick_kernel
def _boards(places, out):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        kernels.write_board(places[i, 0], places[i, 1], places[i, 2], out[i])


@quick_kernel
def _best(places, pieces, values, lookup, draws, actions, legal):  # type: ignore[no-untyped-def]
    row = np.empty(4, np.int64)
    out = np.empty(MAX_LEGAL_HOPS, np.uint8)
    for i in range(len(places)):
        row[0], row[1], row[2], row[3] = places[i, 0], places[i, 1], places[i, 2], -1
        actions[i] = out[np.int64(draws[i] * best_hops(row, pieces, values, lookup, out))]
        kernels.write_legal(row[0], row[1], row[2], row[3], legal[i])


@quick_kernel
def _keep(places, before, pieces, values, lookup, legal, keeping):  # type: ignore[no-untyped-def]
    between = np.empty((ROOM, 4), np.int64)
    actions = np.empty(MAX_LEGAL_HOPS, np.uint8)
    for i in range(len(places)):
        own, opp, kings = places[i]
        for n in range(kernels.legal_actions(own, opp, kings, np.int64(-1), actions)):
            o, p, k, jumper, _, passed = kernels.apply_hop(own, opp, kings, np.int64(0), np.int64(actions[n]))
            after = value_of(o, p, k, jumper, pieces, values, lookup, between)
            legal[i, actions[n]] = True
            if before[i] == DRAWN or after == DRAWN:
                keeping[i, actions[n]] = before[i] == after
            else:
                keeping[i, actions[n]] = ((before[i] & 1) != (after & 1)) == passed
