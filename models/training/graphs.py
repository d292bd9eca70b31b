"""Steps of training: encoding, passes, losses and optimizer; on a GPU several in one launch, a CUDA graph.

A step is hundreds of kernels, each of which Python takes longer to launch than the GPU to run. The kernels
and results of a graph are the same.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor, nn

from ckai.datasets.data_module import Batch, cut
from ckai.datasets.files import first_line
from ckai.models.inference.cuda_backend import CAPTURING, WARM_UPS, drop_workspaces
from ckai.models.layers.network import Network

_LOG = logging.getLogger("ckai")
Loss: TypeAlias = Callable[[Batch], tuple[Tensor, Tensor]]
"""From a batch to its loss, and to numbers that are added up over batches; may not wait for the GPU."""


class GraphedSteps:
    """Steps of training, on a GPU captured as a graph for each of the first shapes of batches.

    Other shapes take the same steps without a graph. All batches of an epoch but the last have one shape.
    """

    DEVICES = ("cuda",)
    """Types of devices that have graphs."""
    MOST = 2
    """Shapes for which graphs are captured."""

    def __init__(self, network: Network, loss: Loss, clip: float) -> None:
        """Capture nothing yet; `clip` is the largest norm of the gradients, 0: any."""
        self._network, self._loss, self._clip = network, loss, clip
        self._captured: dict[tuple[torch.Size, ...], _Captured | None] = {}

    def __call__(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> tuple[Tensor, Tensor]:
        """Take a step on every `rows` rows of a batch.

        Returns:
            The loss of the last, and the sum of the numbers of all.
        """
        shape, device = tuple(tensor.shape for tensor in batch.values()), batch["label"].device.type
        autocast, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
        # What is cast for a step, or within a capture, must not be kept for the next.
        with torch.autocast(device, dtype=dtype, enabled=autocast, cache_enabled=False):
            if device in self.DEVICES and shape not in self._captured and len(self._captured) < self.MOST:
                self._captured[shape] = self._capture(batch, rows, optimizer)
            captured = self._captured.get(shape)
            if captured is None:
                return self._steps(batch, rows, optimizer)
        torch._foreach_copy_(list(captured.batch.values()), list(batch.values()))
        for group, rate in zip(optimizer.param_groups, captured.rates, strict=True):
            rate.fill_(group["lr"])
        captured.graph.replay()
        return captured.results

    def close(self) -> None:
        """Free the graphs, which no other thread may do during a capture."""
        with CAPTURING:
            self._captured.clear()

    def _steps(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> tuple[Tensor, Tensor]:
        parameters = [each for each in self._network.parameters() if each.requires_grad]
        added = []
        for part in cut(batch, rows):
            loss, numbers = self._loss(part)
            found = torch.autograd.grad(loss, parameters, allow_unused=True)
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter.grad = gradient
            if self._clip:
                nn.utils.clip_grad_norm_(parameters, self._clip)
            optimizer.step()
            self._network.clip_weights()
            added.append(numbers)
        for parameter in parameters:
            parameter.grad = None
        return loss.detach(), torch.stack(added).sum(0)

    def _capture(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> "_Captured | None":
        """Capture a graph; where that fails, say so and return None."""
        device = batch["label"].device
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(device))
        try:
            with CAPTURING, torch.cuda.stream(stream), _unchanged(self._network, optimizer):
                captured = _Captured(batch, optimizer)
                with captured.rates_of(optimizer):
                    part = next(cut(captured.batch, rows))
                    for _ in range(WARM_UPS):
                        self._steps(part, rows, optimizer)
                    drop_workspaces()
                    with torch.cuda.graph(captured.graph, stream=stream, capture_error_mode="thread_local"):
                        captured.results = self._steps(captured.batch, rows, optimizer)
            return captured
        except RuntimeError as error:
            reason = first_line(error)
            _LOG.warning(
                "training on %s: expected to capture a CUDA graph, found %s; using none", device, reason
            )
            return None
        finally:
            torch.cuda.current_stream(device).wait_stream(stream)


class _Captured:
    """The graph of some steps, and the memory that it reads and writes."""

    results: tuple[Tensor, Tensor]

    def __init__(self, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.batch = {name: tensor.clone() for name, tensor in batch.items()}
        self.rates = [batch["z"].new_tensor(group["lr"]) for group in optimizer.param_groups]

    @contextmanager
    def rates_of(self, optimizer: torch.optim.Optimizer) -> Iterator[None]:
        """Let the optimizer read its learning rates from memory in a block."""
        before = [(group, group["lr"], group["capturable"]) for group in optimizer.param_groups]
        for (group, _, _), rate in zip(before, self.rates, strict=True):
            group["lr"], group["capturable"] = rate, True
        try:
            yield
        finally:
            for group, rate, capturable in before:
                group["lr"], group["capturable"] = rate, capturable


@contextmanager
def _unchanged(network: Network, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Undo at the end of a block what it does to a network and to its optimizer, which may be new."""
    tensors = [*network.parameters(), *network.buffers()]
    saved = {tensor: tensor.detach().clone() for tensor in (*tensors, *_state(optimizer))}
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor in (*tensors, *_state(optimizer)):
                tensor.copy_(saved[tensor]) if tensor in saved else tensor.zero_()


def _state(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
