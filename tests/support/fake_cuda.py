"""A GPU that is none: `torch.cuda` as `ckai.models.inference.cuda_backend` uses it, on the CPU.

A graph records the operations of its capture and repeats them on the same tensors, so that one which reads or
writes anything but the lane's buffers gives wrong results, as on a GPU.
"""

import threading
from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Stream:
    def __init__(self, device=None, priority=0):
        self.waited_for = []

    def wait_stream(self, other):
        self.waited_for.append(other)


class Event:
    """Done at once; counts how often a thread has waited."""

    waits = 0

    def __init__(self, blocking=False):
        self.blocking = blocking
        self.recorded = None

    def record(self, stream):
        self.recorded = stream

    def synchronize(self):
        assert self.recorded is not None
        Event.waits += 1


class CUDAGraph:
    """Operations with the tensors that they read and wrote."""

    def __init__(self):
        self.operations = []
        self.replays = 0

    def replay(self):
        self.replays += 1
        with torch.no_grad():
            self._repeat()

    def _repeat(self):
        for function, args, kwargs, out in self.operations:
            result = function(*args, **kwargs)
            for old, new in zip(tree_leaves(out), tree_leaves(result), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class _Recorder(TorchDispatchMode):
    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        self.graph.operations.append((function, args, kwargs or {}, out))
        return out


class FakeCuda:
    """Takes the place of a few names in `torch.cuda`."""

    def __init__(self, monkeypatch, count=1):
        self.captured = []
        self.pools = 0
        self.fails = None
        """Raised at the end of a capture, if set."""
        self.modes = set()
        self.dropped = False
        """Whether the workspaces of cuBLAS were dropped since the last capture."""
        self.current = threading.local()
        self.others = Stream()
        """The current stream, where no block has another."""
        names = {
            "is_available": lambda: count > 0,
            "device_count": lambda: count,
            "Stream": Stream,
            "Event": Event,
            "CUDAGraph": CUDAGraph,
            "graph": self.graph,
            "graph_pool_handle": self.pool,
            "current_stream": lambda device=None: self.others,
            "stream": self.stream,
        }
        for name, value in names.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", self.drop, raising=False)

    def drop(self):
        self.dropped = True

    def pool(self):
        self.pools += 1
        return self.pools

    @contextmanager
    def stream(self, stream):
        self.current.stream = stream
        yield
        self.current.stream = None

    @contextmanager
    def graph(self, graph, *, stream, capture_error_mode, pool=None):
        assert self.current.stream is stream, "warmed up on another stream than captured on"
        assert self.dropped, "a graph would write to a workspace that others free"
        self.dropped = False
        self.modes.add(capture_error_mode)
        self.captured.append((pool, stream))
        with _Recorder(graph) if self.fails is None else nullcontext():
            yield
        if self.fails is not None:
            raise self.fails
