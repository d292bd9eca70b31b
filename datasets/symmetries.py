"""Rotated and mirrored rows: the symmetries of a board, drawn at random in training."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor


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
    """The symmetries of a board as tensors; number 0 changes nothing.

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
        self.inverse = self.actions.argsort(1)

    def __len__(self) -> int:
        return len(self.squares)

    def draw(self, generator: torch.Generator, rows: int) -> Tensor:
        """Return a random symmetry for each of some rows, `[rows]` int64, on the generator's device."""
        return torch.randint(len(self), (rows,), generator=generator, device=generator.device)

    def turned(self, batch: dict[str, Tensor], which: Tensor) -> dict[str, Tensor]:
        """Return a batch with every row transformed by its symmetry.

        Args:
            batch: see `ckai.datasets.data_module`.
            which: `[B]` int64, numbers of symmetries.
        """
        device = batch["label"].device
        which = which.to(device)
        squares, actions, inverse = (
            table.to(device)[which] for table in (self.squares, self.actions, self.inverse)
        )
        bits = torch.arange(8, dtype=torch.uint8, device=device)
        legal = (batch["legal"].unsqueeze(2) >> bits & 1).flatten(1)
        legal = in_order(legal, actions).view(*batch["legal"].shape, 8) << bits
        changed = {
            "board": in_order(batch["board"], squares),
            "legal": legal.sum(2, dtype=torch.uint8),
            "label": inverse.gather(1, batch["label"].unsqueeze(1))[:, 0],
        }
        if "policy" in batch:
            changed["policy"] = in_order(batch["policy"], actions)
        return batch | changed


def in_order(values: Tensor, order: Tensor) -> Tensor:
    """Return `[B, n or more]` values with the first n of each row in an order, `[B, n]`; the rest stay."""
    return torch.cat([values.gather(1, order), values[:, order.shape[1] :]], 1)


def _orders(orders: Sequence[Sequence[int]], size: int) -> Tensor:
    return torch.tensor([list(range(size)), *map(list, orders)])
