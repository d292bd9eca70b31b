"""The moving average of a network's weights in training."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel


class MovingAverage(AveragedModel):
    """An exponential moving average of weights and buffers that never makes the CPU wait for the GPU.

    Its decay is lower at first, (1 + n) / (10 + n) after n steps, so that the initial weights fade quickly.
    The state is that of PyTorch's `AveragedModel`, which would wait for the GPU in every step, to read its
    count.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        """Begin with a copy.

        Args:
            module: averaged; on the CPU or a GPU.
            decay: in [0, 1); that of many steps.
        """
        super().__init__(module, use_buffers=True)
        self.decay = decay

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move all but the count to another device."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.n_averaged = self.n_averaged.cpu()
        return self

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take in the weights of a model after a step, on the same device; counters are copied."""
        n = int(self.n_averaged)
        decay = min(self.decay, (1 + n) / (10 + n)) if n else 0.0
        floats, others = (list[Tensor](), list[Tensor]()), (list[Tensor](), list[Tensor]())
        mine = itertools.chain(self.module.parameters(), self.module.buffers())
        for mean, new in zip(mine, itertools.chain(model.parameters(), model.buffers()), strict=True):
            means, news = floats if mean.is_floating_point() else others
            means.append(mean)
            news.append(new)
        torch._foreach_lerp_(*floats, 1 - decay)
        if others[0]:
            torch._foreach_copy_(*others)
        self.n_averaged += 1
