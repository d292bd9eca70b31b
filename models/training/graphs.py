"""CUDA graphs of training steps: the encoding, both passes and the losses of a batch in one launch.

They are hundreds of kernels, each of which Python takes longer to launch than the GPU to run. The kernels and
results of a graph are the same.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ckai.datasets.data_module import Batch
from ckai.datasets.files import first_line
from ckai.models.inference.cuda_backend import CAPTURING, WARM_UPS, drop_workspaces

_LOG = logging.getLogger("ckai")
Step: TypeAlias = Callable[[Batch], tuple[Tensor, Tensor]]
"""From a batch to its loss, and to anything that needs no gradient."""


class GraphedStep:
    """A step that is captured on a GPU, with its gradients, for the first shapes of batches that it meets.

    Other shapes and other devices go the ordinary way. All batches of an epoch but the last have one shape.
    """

    DEVICES = ("cuda",)
    """Types of devices that have graphs."""
    MOST = 2
    """Shapes for which graphs are captured."""

    def __init__(self, network: nn.Module, step: Step) -> None:
        """Capture nothing yet; `step` must not wait for the GPU."""
        self._network, self._step = network, step
        self._captured: dict[tuple[torch.Size, ...], _Captured | None] = {}

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return what the step returns."""
        # Gradients of float16 vanish unless the loss is scaled before they are computed.
        scaled = torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16
        if batch["label"].device.type not in self.DEVICES or scaled or not torch.is_grad_enabled():
            return self._step(batch)
        shape = tuple(tensor.shape for tensor in batch.values())
        if shape not in self._captured and len(self._captured) < self.MOST:
            self._captured[shape] = self._capture(batch)
        captured = self._captured.get(shape)
        if captured is None:
            return self._step(batch)
        loss, more = _Replay.apply(captured, batch, *captured.parameters)  # type: ignore[no-untyped-call]
        return loss, more

    def close(self) -> None:
        """Free the graphs, which no other thread may do during a capture."""
        with CAPTURING:
            self._captured.clear()

    def _capture(self, batch: Batch) -> "_Captured | None":
        """Capture a graph; where that fails, say so and return None."""
        # Collected here: moving a module to a GPU replaces its buffers. Those of batch norm change in a pass.
        buffers, device = list(self._network.buffers()), batch["label"].device
        saved = [buffer.clone() for buffer in buffers]
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(device))
        autocast, dtype = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        # What is cast within a capture must not be kept for later.
        uncached = torch.autocast("cuda", dtype=dtype, enabled=autocast, cache_enabled=False)
        parameters = [each for each in self._network.parameters() if each.requires_grad]
        try:
            with CAPTURING, torch.cuda.stream(stream), uncached:
                return _Captured(self._step, parameters, batch, stream)
        except RuntimeError as error:
            reason = first_line(error)
            _LOG.warning(
                "training on %s: expected to capture a CUDA graph, found %s; using none", device, reason
            )
            return None
        finally:
            torch.cuda.current_stream(device).wait_stream(stream)
            with torch.no_grad():
                for buffer, value in zip(buffers, saved, strict=True):
                    buffer.copy_(value)


class _Captured:
    """The graph of a step, and the memory that it reads and writes."""

    def __init__(
        self, step: Step, parameters: list[nn.Parameter], batch: Batch, stream: torch.cuda.Stream
    ) -> None:
        """Capture it on a stream, which is the current one."""
        self.parameters = parameters
        self.batch = {name: tensor.clone() for name, tensor in batch.items()}
        for _ in range(WARM_UPS):
            torch.autograd.grad(step(self.batch)[0], parameters, allow_unused=True)
        self.graph = torch.cuda.CUDAGraph()
        drop_workspaces()
        with torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local"):
            loss, more = step(self.batch)
            self.gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
        self.loss, self.more = loss.detach(), more.detach()


class _Replay(torch.autograd.Function):
    """Replays the graph in the forward pass, which finds the gradients as well."""

    @staticmethod
    def forward(ctx: Any, captured: _Captured, batch: Batch, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and the rest, which the next replay does not overwrite."""
        ctx.captured = captured
        torch._foreach_copy_(list(captured.batch.values()), list(batch.values()))
        captured.graph.replay()
        more = captured.more.clone()
        ctx.mark_non_differentiable(more)
        return captured.loss.clone(), more

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the parameters."""
        found = ctx.captured.gradients
        scaled = iter(torch._foreach_mul([each for each in found if each is not None], gradient))
        return None, None, *(None if each is None else next(scaled) for each in found)
