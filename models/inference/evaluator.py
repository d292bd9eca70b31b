"""Networks as a search uses them: positions as bytes in, logits and values out.

A position of checkers is 34 bytes in mover's view: 32 board values (1 own man, 3 own king, -1 / -3 the
other's, 0 empty), the jumper's index (-1: none) and the halfmove clock (capped at 127). Other games have one
board value a square and the same two bytes after them (see `ckai.models.inputs.encodings`).
"""

import copy
import importlib
import sys
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ckai.datasets.files import first_line
from ckai.models.inputs.encodings import Encoding
from ckai.models.layers.network import Network

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


class PackedNetwork(nn.Module):
    """A network with a single input for backends: positions as bytes, then the encoding's extra bytes."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.board_bytes, self.position_bytes = network.encode.board_bytes, network.encode.position_bytes
        self.width = self.position_bytes + network.encode.EXTRA
        """Bytes of an input row."""

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """`[B, width]` int8 (see `Encoding.append_extra`) to logits `[B, NUM_ACTIONS]` and values `[B]`."""
        logits, values = self.network(
            rows[:, : self.board_bytes],
            rows[:, self.board_bytes],
            rows[:, self.board_bytes + 1].to(torch.int16),
            rows[:, self.position_bytes :] if self.network.encode.EXTRA else None,
        )
        return logits, values


def float32_copy(network: Network) -> PackedNetwork:
    """A copy for backends: float32 on the CPU, in evaluation mode, without gradients."""
    mine = copy.deepcopy(network).to(device="cpu", dtype=torch.float32).eval().requires_grad_(False)
    return PackedNetwork(mine).eval()


class TorchEvaluator:
    """A network evaluated by PyTorch.

    It starts no threads: on a CPU, let several Python threads share one evaluator, each limited to one core
    by `torch.set_num_threads(1)`.
    """

    def __init__(
        self, network: Network, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        """Copy a network.

        Args:
            network: copied; later training does not change the evaluator.
            device: "cpu", "cuda" or a torch device.
            dtype: of weights and arithmetic.
        """
        self.device = torch.device(device)
        self.network = copy.deepcopy(network).to(device=self.device, dtype=dtype).eval().requires_grad_(False)
        self._rows = PackedNetwork(self.network).eval()
        number = str(dtype).removeprefix("torch.")
        self.name = f"{network.architecture}, torch {number}, {self.device}"

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `Evaluator.evaluate`; without output arrays, the results share torch's memory."""
        check_boards(boards, *sizes_of(self.network.encode), out_logits, out_values)
        with torch.inference_mode():
            rows = torch.from_numpy(self.network.encode.append_extra(boards))
            logits, values = self._rows(rows.to(self.device, non_blocking=True))
            return _deliver(logits, out_logits), _deliver(values, out_values)

    def close(self) -> None:
        """Nothing to release."""


def sizes_of(encoding: Encoding) -> tuple[int, int]:
    """Bytes of a position and number of actions of the encoding's game."""
    return encoding.position_bytes, encoding.NUM_ACTIONS


def check_boards(
    boards: Boards,
    width: int,
    actions: int,
    out_logits: Floats | None = None,
    out_values: Floats | None = None,
) -> None:
    """Check the arguments of `Evaluator.evaluate`.

    Args:
        boards, out_logits, out_values: see `Evaluator.evaluate`.
        width: bytes of a position.
        actions: of the game.

    Raises:
        ValueError: wrong shape or dtype; says which was expected and which was passed.
    """
    if boards.dtype != np.int8 or boards.ndim != 2 or boards.shape[1] != width:
        raise ValueError(f"expected boards int8 [B, {width}], found {boards.dtype} {list(boards.shape)}")
    size = len(boards)
    for name, out, shape in (
        ("out_logits", out_logits, (size, actions)),
        ("out_values", out_values, (size,)),
    ):
        if out is not None and (out.dtype != np.float32 or out.shape != shape):
            raise ValueError(f"expected {name} float32 {list(shape)}, found {out.dtype} {list(out.shape)}")


def output_arrays(
    size: int, actions: int, out_logits: Floats | None, out_values: Floats | None
) -> tuple[Floats, Floats]:
    """The output arrays, or new ones in place of None."""
    logits = np.empty((size, actions), np.float32) if out_logits is None else out_logits
    values = np.empty(size, np.float32) if out_values is None else out_values
    return logits, values


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


def _deliver(result: torch.Tensor, out: Floats | None) -> Floats:
    if out is None:
        array: Floats = result.to(device="cpu", dtype=torch.float32).numpy()
        return array
    torch.from_numpy(out).copy_(result)
    return out
