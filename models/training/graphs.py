"""CUDA graphs of the forward and the backward pass of training steps.

A pass is hundreds of kernels, each of which Python takes longer to launch than the GPU to run. As graphs they
are two launches, with the same kernels and results.
"""

import logging
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ckai.datasets.files import first_line
from ckai.models.inference.cuda_backend import CAPTURING, WARM_UPS, drop_workspaces
from ckai.models.layers.network import Network

_LOG = logging.getLogger("ckai")


class GraphedPasses:
    """The passes of a network in training, which are captured on a GPU for the first shapes that it meets.

    Other shapes and other devices go the ordinary way. All batches of an epoch but the last have one shape.
    """

    DEVICES = ("cuda",)
    """Types of devices that have graphs."""
    MOST = 2
    """Shapes for which graphs are captured."""

    def __init__(self, network: Network) -> None:
        """Capture nothing yet."""
        self._network = network
        self._parameters = [each for each in network.parameters() if each.requires_grad]
        self._captured: dict[torch.Size, _Captured | None] = {}

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and raw value outputs, see `Network.forward_planes`."""
        if planes.device.type not in self.DEVICES or not torch.is_grad_enabled():
            return self._network.forward_planes(planes)
        if planes.shape not in self._captured and len(self._captured) < self.MOST:
            self._captured[planes.shape] = self._capture(planes)
        captured = self._captured.get(planes.shape)
        if captured is None:
            return self._network.forward_planes(planes)
        logits, raw = _Replay.apply(captured, planes, *self._parameters)  # type: ignore[no-untyped-call]
        return logits, raw

    def close(self) -> None:
        """Free the graphs, which no other thread may do during a capture."""
        with CAPTURING:
            self._captured.clear()

    def _capture(self, planes: Tensor) -> "_Captured | None":
        """Capture graphs; where that fails, say so and return None."""
        # Collected here: moving a module to a GPU replaces its buffers. Those of batch norm change in a pass.
        buffers = list(self._network.buffers())
        saved = [buffer.clone() for buffer in buffers]
        stream = torch.cuda.Stream(planes.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(planes.device))
        autocast, dtype = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        # What is cast within a capture must not be kept for later.
        uncached = torch.autocast("cuda", dtype=dtype, enabled=autocast, cache_enabled=False)
        try:
            with CAPTURING, torch.cuda.stream(stream), uncached:
                return _Captured(self._network, self._parameters, planes, stream)
        except RuntimeError as error:
            reason = first_line(error)
            _LOG.warning(
                "training on %s: expected to capture a CUDA graph, found %s; using none",
                planes.device,
                reason,
            )
            return None
        finally:
            torch.cuda.current_stream(planes.device).wait_stream(stream)
            with torch.no_grad():
                for buffer, value in zip(buffers, saved, strict=True):
                    buffer.copy_(value)


class _Captured:
    """The graphs of both passes, and the memory that they read and write."""

    def __init__(
        self,
        network: Network,
        parameters: list[torch.nn.Parameter],
        planes: Tensor,
        stream: torch.cuda.Stream,
    ) -> None:
        """Capture them on a stream, which is the current one."""
        self.planes = planes.clone()
        for _ in range(WARM_UPS):
            outputs = network.forward_planes(self.planes)
            gradients = [torch.zeros_like(output) for output in outputs]
            torch.autograd.grad(outputs, parameters, gradients, allow_unused=True)
        del outputs
        self.output_gradients = gradients
        self.forward, self.backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        pool = torch.cuda.graph_pool_handle()
        drop_workspaces()
        with torch.cuda.graph(self.forward, pool=pool, stream=stream, capture_error_mode="thread_local"):
            outputs = network.forward_planes(self.planes)
        drop_workspaces()
        with torch.cuda.graph(self.backward, pool=pool, stream=stream, capture_error_mode="thread_local"):
            found = torch.autograd.grad(outputs, parameters, self.output_gradients, allow_unused=True)
        self.outputs = [output.detach() for output in outputs]
        self.gradients = found


class _Replay(torch.autograd.Function):
    """Replays the graphs in the passes."""

    @staticmethod
    def forward(ctx: Any, captured: _Captured, planes: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs."""
        ctx.captured = captured
        captured.planes.copy_(planes)
        captured.forward.replay()
        return tuple(output.detach() for output in captured.outputs)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the parameters."""
        captured: _Captured = ctx.captured
        for mine, gradient in zip(captured.output_gradients, gradients, strict=True):
            mine.copy_(gradient)
        captured.backward.replay()
        return None, None, *(None if each is None else each.detach() for each in captured.gradients)
