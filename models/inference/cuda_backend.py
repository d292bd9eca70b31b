"""Evaluate networks on an NVIDIA GPU: CUDA graphs of fixed batch sizes, pinned memory, batches in flight.

A graph is launched by one call, where the layers of a network would take dozens, which cost more than the
arithmetic of small networks. It is captured when a size is first met: after some ordinary evaluations, in
which the libraries choose their algorithms, the next one is recorded. It reads and writes the same memory
ever after, so each lane has buffers of its own on the GPU, and pinned ones on the host.

All evaluators on a GPU share its streams. So no other thread uses a stream on which a graph is being
captured, and PyTorch's 32 streams do not run out.
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
from ckai.models.inference.evaluator import BackendError, Boards, Floats, output_arrays, sizes_of
from ckai.models.inference.torch_backend import PackedNetwork
from ckai.models.layers.network import Network

CUDA = "cuda"
"""Name of the backend on the first GPU; `cuda:1` is the second one."""
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


class CudaEvaluator:
    """A network on a GPU; with several calling threads, as many batches as lanes are in flight.

    Batches are padded to fixed sizes. A caller takes a free lane, writes its positions there, and waits for
    the results, while the batches of other callers are evaluated or copied in other lanes.
    """

    def __init__(self, network: Network, device: torch.device, dtype: torch.dtype = torch.bfloat16) -> None:
        """Copy a network to a GPU.

        Args:
            network: copied; later training does not change the evaluator.
            device: the GPU, with its index, see `find_gpu`.
            dtype: of weights and arithmetic. PyTorch computes convolutions of float32 in TF32, unless
                `torch.backends.cudnn.allow_tf32` is off.

        Raises:
            BackendError: the GPU's memory is full.
        """
        gpu = _shared(device)
        with _memory_for(f"a network and batches of {MAX_BATCH} positions", device):
            mine = copy.deepcopy(network).to(device=device, dtype=dtype).eval().requires_grad_(False)
            rows = PackedNetwork(mine).eval()
            self._lanes = [CudaLane(rows, device, stream) for stream in gpu.streams]
        number = str(dtype).removeprefix("torch.")
        self.name = f"{network.architecture}, cuda graphs {number}, {device}"
        self._encoding, self._gpu = mine.encode, gpu

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`."""
        logits, values = output_arrays(boards, sizes_of(self._encoding), out_logits, out_values)
        rows = self._encoding.append_extra(boards)  # computed by each caller before it takes a lane
        for start in range(0, len(rows), MAX_BATCH):
            part = slice(start, start + MAX_BATCH)
            number = len(rows[part])
            turns = self._gpu.small if number <= SMALL_BATCH else self._gpu.turns
            turn = turns.get()
            try:
                lane = self._lanes[turn]
                lane.rows[:number] = rows[part]
                lane.start(next(size for size in SIZES if size >= number))
                lane.wait()
                logits[part], values[part] = lane.logits[:number], lane.values[:number]
            finally:
                turns.put(turn)
        return logits, values

    def close(self) -> None:
        """Free the graphs and buffers."""
        with CAPTURING:
            self._lanes.clear()


class CudaLane:
    """The buffers and graphs of one batch in flight, used by one caller at a time.

    Attributes:
        rows: `[MAX_BATCH, position_bytes + EXTRA]` int8 inputs, pinned, written by the caller; further rows
            than a batch has hold those of an earlier one, which do no harm.
        logits: `[MAX_BATCH, NUM_ACTIONS]` float32, pinned, valid between `wait` and the next `start`.
        values: `[MAX_BATCH]` float32 in [-1, 1] for the side to move, valid as `logits` are.
    """

    def __init__(self, network: PackedNetwork, device: torch.device, stream: torch.cuda.Stream) -> None:
        """Allocate the buffers, for a network in evaluation mode on the device and a stream of its own."""
        self._network, self._device, self._stream = network, device, stream
        self._host_inputs, *self._host_outputs = _buffers(network, torch.device("cpu"), device.type == CUDA)
        self._inputs, *self._outputs = _buffers(network, device, pinned=False)
        self.rows: Boards = self._host_inputs.numpy()
        self.logits, self.values = (output.numpy() for output in self._host_outputs)
        # A waiting thread sleeps, as learning and other games want the cores.
        self._done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._copies: dict[int, list[tuple[Tensor, Tensor]]] = {}
        # Graphs of one stream may share memory: none of their outputs lives on in it.
        self._pool = torch.cuda.graph_pool_handle()
        self._captures = True
        stream.wait_stream(torch.cuda.current_stream(device))  # which has filled the buffers and weights

    def start(self, size: int) -> None:
        """Begin to evaluate the first `size` rows, one of `SIZES`; may return before that is done.

        Raises:
            BackendError: the GPU's memory is full.
        """
        with (
            _memory_for(f"{size} positions", self._device),
            torch.inference_mode(),
            torch.cuda.stream(self._stream),
        ):
            if size not in self._graphs and self._captures:
                self._capture(size)
            (to, read), *outputs = self._copies_of(size)
            to.copy_(read, non_blocking=True)
            if size in self._graphs:
                self._graphs[size].replay()
            else:
                self._evaluate(size)
            for to, read in outputs:
                to.copy_(read, non_blocking=True)
            self._done.record(self._stream)

    def wait(self) -> None:
        """Wait for the results of `start`; other threads run meanwhile."""
        self._done.synchronize()

    def _copies_of(self, size: int) -> list[tuple[Tensor, Tensor]]:
        """The (destination, source) of the copies to the GPU and back; views cost time, so they are kept."""
        if size not in self._copies:
            pairs = [(self._inputs, self._host_inputs), *zip(self._host_outputs, self._outputs, strict=True)]
            self._copies[size] = [(to[:size], read[:size]) for to, read in pairs]
        return self._copies[size]

    def _evaluate(self, size: int) -> None:
        """Evaluate the inputs on the device, from buffer to buffer."""
        for output, result in zip(self._outputs, self._network(self._inputs[:size]), strict=True):
            output[:size].copy_(result)

    def _capture(self, size: int) -> None:
        """Capture the graph of a size; where that fails, this lane evaluates without graphs from now on."""
        with CAPTURING:
            try:
                for _ in range(WARM_UPS):
                    self._evaluate(size)
                drop_workspaces()
                graph = torch.cuda.CUDAGraph()
                # thread_local: training and other lanes may allocate memory meanwhile.
                with torch.cuda.graph(
                    graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
                ):
                    self._evaluate(size)
                self._graphs[size] = graph
            except RuntimeError as error:
                self._captures = False
                _warn_once(
                    f"evaluator {self._device}: expected to capture a CUDA graph, found "
                    f"{first_line(error)}; using none"
                )


def find_gpu(name: str) -> torch.device:
    """Return the GPU of a backend's name, `cuda` for the first one or `cuda:N`, N counted from 0.

    Raises:
        BackendError: there is no such GPU.
        ValueError: another name.
    """
    kind, colon, index = name.partition(":")
    if kind != CUDA or (colon and not index.isdecimal()):
        raise ValueError(f"expected evaluator cuda or cuda:N with the number of a GPU, found {name!r}")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        raise BackendError(f"evaluator {name}: PyTorch finds no GPU here; use auto or torch")
    if int(index or 0) >= count:
        raise BackendError(
            f"evaluator {name}: expected cuda:0 to cuda:{count - 1}, as PyTorch finds {count} here"
        )
    return torch.device(CUDA, int(index or 0))


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

    A graph keeps writing to the workspace that its stream had when it was captured. One from before the
    capture is freed when another evaluator frees a graph of that stream, or Lightning ends training.
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
