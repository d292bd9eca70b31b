"""Rotated and mirrored rows: the symmetries of a board, drawn at random in training."""

from collections.abc import Sequence

import torch
from torch import Tensor


class Symmetries:
    """The symmetries of a board as tensors; number 0 changes nothing.

    Attributes:
        squares: `[S, n]` int64: byte i of the transformed board is byte `squares[s, i]` of the board.
        actions: `[S, A]` int64: action i on the transformed board is action `actions[s, i]` on the board.
        inverse: `[S, A]` int64: action i on the board is action `inverse[s, i]` on the transformed board.
    """

    def __init__(self, symmetries: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Take the squares and actions of a game's symmetries, without the identity; there must be some."""
        if not symmetries:
            raise ValueError("expected a game whose board has symmetries, found one without")
        self.squares, self.actions = (
            torch.tensor([list(range(len(orders[0]))), *map(list, orders)])
            for orders in zip(*symmetries, strict=True)
        )
        self.inverse = self.actions.argsort(1)

    def __len__(self) -> int:
        return len(self.squares)

    def draw(self, generator: torch.Generator, rows: int) -> Tensor:
        """Return a random symmetry for each of some rows, `[rows]` int64, on the generator's device."""
        return torch.randint(len(self), (rows,), generator=generator, device=generator.device)

    def turned(self, batch: dict[str, Tensor], which: Tensor) -> dict[str, Tensor]:
        """Return a batch of `ckai.datasets.data_module` transformed row by row by symmetries `[B]`."""
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
