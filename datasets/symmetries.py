"""Rotated and mirrored rows: the symmetries of a board, drawn at random in training."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.int64]


class BoardSymmetry(Protocol):
    """A rotation or reflection of the board, such as a `ckai.rl.games.spec.Symmetry`."""

    @property
    def squares(self) -> Sequence[int]:
        """Byte i of the transformed board is byte `squares[i]` of the board."""
        ...

    @property
    def actions(self) -> Sequence[int]:
        """Action i on the transformed board is action `actions[i]` on the board."""
        ...


class Symmetries:
    """The symmetries of a board as arrays; number 0 changes nothing.

    Attributes:
        squares: `[S, n]` int64, see `BoardSymmetry`.
        actions: `[S, A]` int64.
        inverse: `[S, A]` int64: action i on the board is action `inverse[s, i]` on the transformed board.
    """

    def __init__(self, symmetries: Sequence[BoardSymmetry]) -> None:
        """Take the symmetries of a game, one or more, without the identity.

        Raises:
            ValueError: there are none.
        """
        if not symmetries:
            raise ValueError("expected a game whose board has symmetries, found one without")
        one = symmetries[0]
        self.squares = _orders([each.squares for each in symmetries], len(one.squares))
        self.actions = _orders([each.actions for each in symmetries], len(one.actions))
        self.inverse = np.argsort(self.actions, 1)

    def __len__(self) -> int:
        return len(self.squares)

    def draw(self, rng: np.random.Generator, rows: int) -> Indices:
        """Return a random symmetry for each of some rows, `[rows]`."""
        return rng.integers(0, len(self), rows)

    def turned(self, batch: dict[str, torch.Tensor], which: Indices) -> dict[str, torch.Tensor]:
        """Return a batch with every row transformed by its symmetry.

        Args:
            batch: see `ckai.datasets.data_module`.
            which: `[B]`, numbers of symmetries.
        """
        legal = np.unpackbits(batch["legal"].numpy(), axis=1, bitorder="little")
        changed: dict[str, NDArray[Any]] = {
            "board": in_order(batch["board"].numpy(), self.squares[which]),
            "legal": np.packbits(in_order(legal, self.actions[which]), axis=1, bitorder="little"),
            "label": self.inverse[which, batch["label"].numpy()],
        }
        if "policy" in batch:
            changed["policy"] = in_order(batch["policy"].numpy(), self.actions[which])
        return batch | {name: torch.from_numpy(array) for name, array in changed.items()}


def in_order(values: NDArray[Any], order: Indices) -> NDArray[Any]:
    """Return `[B, n or more]` values with the first n of each row in an order, `[B, n]`; the rest stay."""
    out, count = values.copy(), order.shape[1]
    out[:, :count] = np.take_along_axis(values[:, :count], order, 1)
    return out


def _orders(orders: Sequence[Sequence[int]], size: int) -> Indices:
    return np.array([range(size), *orders], np.int64)
