"""Batches with what their encoding computes on the CPU, by threads and ahead of the network."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from ckai.datasets.data_module import Batch
from ckai.datasets.machine import available_cores
from ckai.models.inputs.encodings import Encoding


def with_extra(batch: Batch, encoding: Encoding) -> Batch:
    """Return a batch with `extra`, the output of `Encoding.extra`, unless it has one or needs none."""
    if "extra" in batch:
        return batch
    extra = encoding.extra(batch["board"], batch["jumper"], batch["quiet"])
    return batch if extra is None else {**batch, "extra": extra}


class PreparedBatches:
    """Batches in their order, with `extra`; threads on all cores are some batches ahead.

    A deep encoding takes longer for a batch than a GPU does for the network, and longer than a CPU core
    should keep the others waiting.
    """

    def __init__(self, batches: Iterable[Batch], encoding: Encoding) -> None:
        """Prepare the batches of each iteration over `batches`."""
        self._batches, self._encoding = batches, encoding

    def __iter__(self) -> Iterator[Batch]:
        """Iterate over the batches once."""
        if not self._encoding.EXTRA:
            yield from self._batches
            return
        cores = available_cores()
        with ThreadPoolExecutor(cores, "batches") as threads:
            waiting = deque[Future[Batch]]()
            for batch in self._batches:
                waiting.append(threads.submit(with_extra, batch, self._encoding))
                if len(waiting) > cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
