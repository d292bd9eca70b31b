"""Evaluate networks on an NVIDIA GPU: CUDA graphs of fixed batch sizes, pinned memory, batches in flight.

A graph is launched by one call, where the layers of a network would take dozens, which cost more than the
arithmetic of small networks. It is captured when a size is first met, after some ordinary evaluations, in
which the libraries choose their algorithms. It reads and writes the same memory ever after, so each lane has
buffers of its own on the GPU, and pinned ones on the host.

All evaluators on a GPU share its streams, so that PyTorch's 32 do not run out.
"""

import copy
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import NamedTuple

import torch
from torch import Tensor

from ckai.datasets.files import first_line
from ckai.models.inference.evaluator import BackendError, Boards, Evaluator, Floats
from ckai.models.network import Network, PackedNetwork

SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Batch sizes, ascending. From 17 positions on, less than half of a padded batch is padding."""
MAX_BATCH = SIZES[-1]
"""Positions in the largest batch; more are evaluated one batch after the other."""
LANES = 4
"""Batches in flight on a GPU, besides small ones."""
SMALL_LANES, SMALL_BATCH = 2, 64
"""Small batches in flight, and the most positions in one. A match or an analysis needs its few positions at
once: they do not wait for the thousands of self-play, and the GPU works on them first."""
WARM_UPS = 3
"""Evaluations before a graph is captured."""
_LOG = logging.getLogger("ckai")


class _Gpu(NamedTuple):
    """What the evaluators on a GPU share."""

    streams: tuple[torch.cuda.Stream, ...]
    turns: "SimpleQueue[int]"
    """Free lanes for large batches."""
    small: "SimpleQueue[int]"
    """Free lanes for small ones."""


_gpus: dict[torch.device, _Gpu] = {}
CAPTURING = threading.Lock()
"""Held while a graph is captured or freed: PyTorch captures one at a time, and first waits for the whole GPU,
which no thread may do during a capture."""


class CudaEvaluator(Evaluator):
    """A network on a GPU, for several calling threads: each takes a free lane for its batch, and waits."""

    def __init__(self, network: Network, device: torch.device, dtype: torch.dtype = torch.bfloat16) -> None:
        """Copy a network to a GPU.

        Args:
            network: copied; later training does not change the evaluator.
            device: the GPU, with its index.
            dtype: of weights and arithmetic. PyTorch computes convolutions of float32 in TF32, unless
                `torch.backends.cudnn.allow_tf32` is off.

        Raises:
            BackendError: the GPU's memory is full.
        """
        self._gpu = _shared(device)
        with _memory_for(f"a network and batches of {MAX_BATCH} positions", device):
            mine = copy.deepcopy(network).to(device=device, dtype=dtype).eval().requires_grad_(False)
            rows = PackedNetwork(mine).eval()
            self._lanes = [_Lane(rows, device, stream) for stream in self._gpu.streams]
        self._encoding = mine.encode
        self.position_bytes, self.num_actions = rows.position_bytes, mine.encode.NUM_ACTIONS
        self.name = f"{network.architecture}, cuda graphs {str(dtype).removeprefix('torch.')}, {device}"

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        rows = self._encoding.append_extra(boards)  # computed by each caller before it takes a lane
        for start in range(0, len(rows), MAX_BATCH):
            part = slice(start, start + MAX_BATCH)
            turns = self._gpu.small if len(rows[part]) <= SMALL_BATCH else self._gpu.turns
            turn = turns.get()
            try:
                self._lanes[turn].evaluate(rows[part], logits[part], values[part])
            finally:
                turns.put(turn)

    def close(self) -> None:
        """Free the graphs and buffers."""
        with CAPTURING:
            self._lanes.clear()


class _Lane:
    """The buffers and graphs of one batch in flight, used by one caller at a time."""

    def __init__(self, network: PackedNetwork, device: torch.device, stream: torch.cuda.Stream) -> None:
        """Allocate the buffers, for a network in evaluation mode on the device and a stream of its own."""
        self._network, self._device, self._stream = network, device, stream
        self._host = _buffers(network, torch.device("cpu"), device.type == "cuda")
        self._buffers = _buffers(network, device, pinned=False)
        self._arrays = [each.numpy() for each in self._host]
        # A waiting thread sleeps, as learning and other games want the cores.
        self._done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self._sizes: dict[int, tuple[list[Tensor], list[Tensor], torch.cuda.CUDAGraph | None]] = {}
        """Views on the host and on the device, and the graph, by the size of a batch."""
        # Graphs of one stream may share memory: none of their outputs lives on in it.
        self._pool = torch.cuda.graph_pool_handle()
        self._captures = True
        stream.wait_stream(torch.cuda.current_stream(device))  # which has filled the buffers and weights

    def evaluate(self, rows: Boards, logits: Floats, values: Floats) -> None:
        """Evaluate 1 to `MAX_BATCH` rows; other threads run meanwhile.

        Raises:
            BackendError: the GPU's memory is full.
        """
        number = len(rows)
        size = next(size for size in SIZES if size >= number)
        self._arrays[0][:number] = rows  # those after them are of an earlier batch, and do no harm
        with (
            _memory_for(f"{size} positions", self._device),
            torch.inference_mode(),
            torch.cuda.stream(self._stream),
        ):
            if size not in self._sizes:
                host, device = ([x[:size] for x in each] for each in (self._host, self._buffers))
                self._sizes[size] = host, device, self._captured(size)
            (read, *outputs), (inputs, *results), graph = self._sizes[size]
            inputs.copy_(read, non_blocking=True)
            if graph is not None:
                graph.replay()
            else:
                self._run(size)
            for output, result in zip(outputs, results, strict=True):
                output.copy_(result, non_blocking=True)
            self._done.record(self._stream)
        self._done.synchronize()
        logits[:], values[:] = (each[:number] for each in self._arrays[1:])

    def _run(self, size: int) -> None:
        """Evaluate the inputs on the device, from buffer to buffer."""
        inputs, *outputs = self._buffers
        for output, result in zip(outputs, self._network(inputs[:size]), strict=True):
            output[:size].copy_(result)

    def _captured(self, size: int) -> torch.cuda.CUDAGraph | None:
        """Capture the graph of a size; where that fails, this lane evaluates without graphs from now on."""
        if not self._captures:
            return None
        with CAPTURING:
            try:
                for _ in range(WARM_UPS):
                    self._run(size)
                drop_workspaces()
                graph = torch.cuda.CUDAGraph()
                # thread_local: training and other lanes may allocate memory meanwhile.
                with torch.cuda.graph(
                    graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
                ):
                    self._run(size)
                return graph
            except RuntimeError as error:
                self._captures = False
                _warn_once(
                    f"evaluator {self._device}: expected to capture a CUDA graph, found "
                    f"{first_line(error)}; using none"
                )
                return None


def _shared(device: torch.device) -> _Gpu:
    with CAPTURING:
        if device not in _gpus:
            priorities = [0] * LANES + [-1] * SMALL_LANES  # lower numbers first
            streams = [torch.cuda.Stream(device, priority=each) for each in priorities]  # type: ignore[no-untyped-call]
            turns: tuple[SimpleQueue[int], SimpleQueue[int]] = SimpleQueue(), SimpleQueue()
            for lane, priority in enumerate(priorities):
                turns[-priority].put(lane)
            _gpus[device] = _Gpu(tuple(streams), *turns)
        return _gpus[device]


def _buffers(network: PackedNetwork, device: torch.device, pinned: bool) -> list[Tensor]:
    """`[MAX_BATCH, width]` int8 inputs, `[MAX_BATCH, NUM_ACTIONS]` logits, `[MAX_BATCH]` values, float32."""
    shapes = ((MAX_BATCH, network.width), (MAX_BATCH, network.network.encode.NUM_ACTIONS), (MAX_BATCH,))
    dtypes = (torch.int8, torch.float32, torch.float32)
    return [
        torch.zeros(shape, dtype=dtype, device=device, pin_memory=pinned)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


def drop_workspaces() -> None:
    """Make cuBLAS allocate its workspaces again, during a capture in the memory of the graphs.

    A graph keeps writing to the one of its capture; one from before it may be freed with another graph.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear is not None:
        clear()


@contextmanager
def _memory_for(what: str, device: torch.device) -> Iterator[None]:
    """Turn PyTorch's error for a full GPU memory in the block into one line, a BackendError."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise BackendError(
            f"evaluator {device}: expected memory for {what}, found the GPU's full; play fewer games at a "
            "time (--setting selfplay.in_flight=N), or do not train at the same time (overlap=false)"
        ) from error


@cache
def _warn_once(line: str) -> None:
    """Say a line, once."""
    _LOG.warning(line)
