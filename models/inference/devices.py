"""PyTorch's devices and threads: small batches lose far more to threads than they gain."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def use_one_torch_thread() -> None:
    """Keep PyTorch to one thread in the calling thread: the callers are the threads."""
    torch.set_num_threads(1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep PyTorch to one thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
