"""Arrays for trees: aligned to cache lines, and in huge pages where the system has them."""

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_LINE = 64
"""Bytes that the CPU reads at once."""
HUGE_PAGE = 1 << 21
"""Bytes of a huge page. Trees are read all over their memory; with pages of 4 KiB the CPU also has to look up
where nearly each of them is."""


def zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return a contiguous array of zeros whose first byte is at a multiple of `CACHE_LINE`.

    Args:
        shape: its shape.
        dtype: its dtype; records of `CACHE_LINE` bytes are in one line each.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size >= HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        alignment = HUGE_PAGE
        memory = mmap.mmap(-1, size + alignment, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(memory, np.uint8)
    else:
        alignment = CACHE_LINE
        whole = np.zeros(size + alignment, np.uint8)
    first = -whole.ctypes.data % alignment
    array: NDArray[Any] = whole[first : first + size].view(dtype).reshape(shape)
    return array
