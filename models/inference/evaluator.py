"""Networks as a search uses them: positions as bytes in, logits and values out.

A position of checkers is 34 bytes in mover's view: 32 board values (1 own man, 3 own king, -1 / -3 the
other's, 0 empty), the jumper's index (-1: none) and the halfmove clock (capped at 127). Other games have one
board value a square and the same two bytes after them (see `ckai.models.inputs.encodings`).
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import first_line

if TYPE_CHECKING:
    from ckai.models.inputs.encodings import Encoding

AUTO = "auto"
"""The first of the backends, in their order, that the network and this machine have."""
INTEGERS = "integers"
"""The backend of integer networks."""
Boards: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float32]


class BackendError(ValueError):
    """A backend that is not available on this machine; says what is missing, in one line."""


class Evaluator(Protocol):
    """Evaluates positions in batches; may be called from several threads at once."""

    @property
    def name(self) -> str:
        """A description to display: architecture, backend, dtype."""
        ...

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Evaluate positions.

        Args:
            boards: `[B, position_bytes]` int8, mover's view, see the module; any B >= 0; not modified.
            out_logits: `[B, NUM_ACTIONS]` float32, 128 in checkers, written to; None: a new array.
            out_values: `[B]` float32, written to; None: a new array.

        Returns:
            `[B, NUM_ACTIONS]` float32 logits of all actions, legal or not, and `[B]` float32 values in
            [-1, 1] for the side to move; the output arrays, if given.

        Raises:
            ValueError: wrong shape or type.
        """
        ...

    def close(self) -> None:
        """Release its resources; it must not be used afterwards."""
        ...


def sizes_of(encoding: "Encoding") -> tuple[int, int]:
    """Bytes of a position and number of actions of the encoding's game."""
    return encoding.position_bytes, encoding.NUM_ACTIONS


def output_arrays(
    boards: Boards, sizes: tuple[int, int], out_logits: Floats | None, out_values: Floats | None
) -> tuple[Floats, Floats]:
    """Check the arguments of `Evaluator.evaluate`; return the output arrays, or new ones in place of None.

    Args:
        boards, out_logits, out_values: see `Evaluator.evaluate`.
        sizes: of the game, see `sizes_of`.

    Raises:
        ValueError: wrong shape or dtype; says which was expected and which was passed.
    """
    width, actions = sizes
    if boards.dtype != np.int8 or boards.ndim != 2 or boards.shape[1] != width:
        raise ValueError(f"expected boards int8 [B, {width}], found {boards.dtype} {list(boards.shape)}")
    found = []
    for name, out, shape in (
        ("out_logits", out_logits, (len(boards), actions)),
        ("out_values", out_values, (len(boards),)),
    ):
        if out is not None and (out.dtype != np.float32 or out.shape != shape):
            raise ValueError(f"expected {name} float32 {list(shape)}, found {out.dtype} {list(out.shape)}")
        found.append(np.empty(shape, np.float32) if out is None else out)
    return found[0], found[1]


def import_extra(module: str, extra: str) -> Any:
    """Import an optional package.

    Raises:
        BackendError: it is not installed; says how to install it.
    """
    if module == "openvino":
        # Without this package it sends no telemetry; each import and conversion would fork a process for
        # that, which takes longer than the conversion.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = "" if isinstance(error, ModuleNotFoundError) else f" ({first_line(error)})"
        raise BackendError(
            f"this needs the package {module}{reason}; install it with pip install 'ckai[{extra}]'"
        ) from error
