"""Data-parallel steps on the CPU: each thread takes its part of the batch through the whole network.

PyTorch's own threads share every layer and wait for each other at its end. A part that runs from the first
layer to the last meets the others once in a step, which is faster alone, and much faster beside other work:
a thread that loses its core for a moment holds the others up at one barrier instead of hundreds.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Self, TypeVar

import torch
from torch import Tensor, nn

PARTS = 4
"""Most parts of a batch; with more cores than parts, each part has several of PyTorch's threads."""
PART_ROWS = 32
"""Fewest rows of a part."""

_T = TypeVar("_T")
Batch = dict[str, Tensor]
Forward = Callable[[Batch], tuple[Tensor, Tensor]]


def splits(network: nn.Module) -> bool:
    """Whether a batch may be evaluated in parts.

    Not with batch norm, which mixes rows, nor with dropout, whose numbers would depend on the timing.
    """
    mixed = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
    return not any(isinstance(module, mixed) for module in network.modules())


class Parts:
    """Forward and backward passes in threads, each with a part of the batch.

    Between `with` and its end PyTorch has fewer threads in the calling thread: those of one part.
    """

    def __init__(self, parameters: list[nn.Parameter], threads: int | None = None) -> None:
        """Prepare the threads.

        Args:
            parameters: those to train.
            threads: cores to use; default: the threads that PyTorch has in the calling thread.
        """
        self._parameters = [p for p in parameters if p.requires_grad]
        self._before = torch.get_num_threads()
        threads = threads or self._before
        self.number = min(PARTS, threads)
        self._inner = threads // self.number
        self._pool: ThreadPoolExecutor | None = None
        self._outputs: list[tuple[Tensor, Tensor]] = []
        self._joined: tuple[Tensor, Tensor] | None = None

    def __enter__(self) -> Self:
        torch.set_num_threads(self._inner)
        if self.number > 1:
            # One part is the calling thread's.
            self._pool = ThreadPoolExecutor(
                self.number - 1, initializer=torch.set_num_threads, initargs=(self._inner,)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        torch.set_num_threads(self._before)

    def forward(self, forward: Forward, batch: Batch) -> tuple[Tensor, Tensor]:
        """Evaluate a batch in parts.

        Args:
            forward: from a batch to logits `[B, M]` and raw values `[B, K]`; called from several threads.
            batch: tensors whose first dimension is the rows.

        Returns:
            The outputs of the whole batch. With gradients enabled they are leaves: after a backward pass
            through them, `backward` takes it on to the parameters.
        """
        rows = len(batch["board"])
        number = max(1, min(self.number, rows // PART_ROWS))
        bounds = [rows * i // number for i in range(number + 1)]
        parts = [{name: tensor[a:b] for name, tensor in batch.items()} for a, b in pairwise(bounds)]
        # Threads have settings of their own for both.
        trains = torch.is_grad_enabled()
        rough, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

        def work(part: Batch) -> tuple[Tensor, Tensor]:
            # The cache of autocast would share nodes of the graph between threads.
            with torch.set_grad_enabled(trains), torch.autocast("cpu", dtype, rough, cache_enabled=False):
                return forward(part)

        outputs = self._run([partial(work, part) for part in parts])
        logits, raw = (torch.cat([output[i].detach() for output in outputs]) for i in range(2))
        if trains:
            self._outputs = outputs
            self._joined = logits.requires_grad_(), raw.requires_grad_()
        return logits, raw

    def backward(self) -> None:
        """Add the gradients of the last batch to those of the parameters, summed in the order of its rows."""
        assert self._joined is not None
        logits, raw = (leaf.grad for leaf in self._joined)
        begin = 0
        works: list[Callable[[], tuple[Tensor | None, ...]]] = []
        for outputs in self._outputs:
            end = begin + len(outputs[0])
            reached = [
                (output, grad[begin:end])
                for output, grad in zip(outputs, (logits, raw), strict=True)
                if grad is not None and output.requires_grad
            ]
            works.append(partial(self._gradients, reached))
            begin = end
        self._outputs, self._joined = [], None
        gradients = self._run(works)
        for parameter, *parts in zip(self._parameters, *gradients, strict=True):
            for part in parts:
                if part is not None:
                    parameter.grad = part if parameter.grad is None else parameter.grad.add_(part)

    def _gradients(self, reached: list[tuple[Tensor, Tensor]]) -> tuple[Tensor | None, ...]:
        outputs, grads = zip(*reached, strict=True)
        return torch.autograd.grad(outputs, self._parameters, grads, allow_unused=True)

    def _run(self, works: list[Callable[[], _T]]) -> list[_T]:
        """Call functions at once, the first in the calling thread; return their results in order."""
        if self._pool is None:
            return [work() for work in works]
        others = [self._pool.submit(work) for work in works[1:]]
        return [works[0](), *(other.result() for other in others)]
