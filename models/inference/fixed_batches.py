"""Batches of few fixed sizes, several of them in flight: what an accelerator wants, without the accelerator.

A *lane* holds the buffers of one batch in flight. A caller takes a free lane, writes its positions there, and
waits for the results, while the batches of other callers are evaluated or copied in the other lanes.
"""

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Protocol

from ckai.models.inference.evaluator import (
    Boards,
    Floats,
    check_boards,
    output_arrays,
    sizes_of,
)
from ckai.models.inputs.encodings import Encoding

SIZES = (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Batch sizes, ascending. From 17 positions on, less than half of a padded batch is padding."""
MAX_BATCH = SIZES[-1]
"""Positions in the largest batch; more are evaluated one batch after the other."""


def fixed_size(number: int) -> int:
    """Return the smallest of `SIZES` that holds `number` positions, 1 to `MAX_BATCH`."""
    return next(size for size in SIZES if size >= number)


class Lane(Protocol):
    """One batch in flight: its buffers, and the calls that evaluate it. One caller uses it at a time."""

    @property
    def rows(self) -> Boards:
        """`[MAX_BATCH, position_bytes + EXTRA]` int8 inputs, written by the caller: `Encoding.append_extra`.

        Rows that the caller leaves alone hold zeros or those of an earlier batch, which do no harm.
        """
        ...

    @property
    def logits(self) -> Floats:
        """`[MAX_BATCH, NUM_ACTIONS]` float32, valid between `wait` and the next `start`."""
        ...

    @property
    def values(self) -> Floats:
        """`[MAX_BATCH]` float32 in [-1, 1] for the side to move, valid as `logits` are."""
        ...

    def start(self, size: int) -> None:
        """Begin to evaluate the first `size` rows, one of `SIZES`; may return before that is done."""
        ...

    def wait(self) -> None:
        """Wait for the results of `start`; other threads run meanwhile."""
        ...


class FixedBatchEvaluator:
    """An evaluator (`ckai.models.inference.evaluator.Evaluator`) that pads batches and keeps lanes busy."""

    def __init__(
        self, name: str, encoding: Encoding, lanes: Sequence[Lane], turns: "SimpleQueue[int]"
    ) -> None:
        """Use lanes.

        Args:
            name: see `Evaluator.name`.
            encoding: encoding of the network.
            lanes: one for each batch in flight.
            turns: indices of the lanes that are free. Evaluators that share the queue have as many batches in
                flight together as one of them alone.
        """
        self.name = name
        self._encoding, self._lanes, self._turns = encoding, tuple(lanes), turns

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`."""
        check_boards(boards, *sizes_of(self._encoding), out_logits, out_values)
        logits, values = output_arrays(len(boards), self._encoding.NUM_ACTIONS, out_logits, out_values)
        rows = self._encoding.append_extra(boards)  # computed by each caller before it takes a lane
        for start in range(0, len(rows), MAX_BATCH):
            part = slice(start, start + MAX_BATCH)
            number = len(rows[part])
            turn = self._turns.get()
            try:
                lane = self._lanes[turn]
                lane.rows[:number] = rows[part]
                lane.start(fixed_size(number))
                lane.wait()
                logits[part], values[part] = lane.logits[:number], lane.values[:number]
            finally:
                self._turns.put(turn)
        return logits, values

    def close(self) -> None:
        """Release the lanes."""
        self._lanes = ()
