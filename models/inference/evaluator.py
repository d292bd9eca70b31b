"""Networks as a search uses them: positions as bytes in, logits and values out.

A position is one int8 per square in mover's view, then the jumper's index (-1: none), then the halfmove clock
capped at 127. For checkers that is 34 bytes: 32 board values (1 own man, 3 own king, -1 / -3 the opponent's,
0 empty) and the two after them. `ckai.rl.games.contract.encode` writes the same bytes in Numba.
"""

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckai.datasets.files import first_line
from ckai.datasets.rows import Rows
from ckai.game import Position
from ckai.game.squares import SQUARES

MAX_CLOCK = 127
"""Largest halfmove clock that its byte holds."""
AUTO = "auto"
"""The first of the backends, in their order, that the network and this machine have."""
INTEGERS = "integers"
"""The backend of integer networks."""
Boards: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float32]


def pack_boards(board: Boards, jumper: ArrayLike, halfmove_clock: ArrayLike) -> Boards:
    """Join boards `[N, squares]` int8, jumpers and clocks `[N]` into positions `[N, squares + 2]` int8."""
    out = np.empty((len(board), board.shape[1] + 2), np.int8)
    out[:, :-2] = board
    out[:, -2] = jumper
    out[:, -1] = np.minimum(halfmove_clock, MAX_CLOCK)
    return out


def pack_rows(rows: Rows) -> Boards:
    """Pack rows into the bytes that evaluators take: `[N, squares + 2]` int8, for checkers `[N, 34]`."""
    return pack_boards(rows.board, rows.jumper, rows.quiet)


def pack_positions(positions: Sequence[Position]) -> Boards:
    """Pack positions of checkers into the bytes that evaluators take: `[N, 34]` int8, see `pack_rows`."""
    board = np.array([position.board for position in positions], np.int8).reshape(-1, SQUARES)
    return pack_boards(board, [p.jumper for p in positions], [p.halfmove_clock for p in positions])


class BackendError(ValueError):
    """A backend that is not available on this machine; says what is missing, in one line."""


class Evaluator(ABC):
    """Evaluates positions in batches; may be called from several threads at once.

    A kind of evaluator sets the attributes and implements `_fill`.

    Attributes:
        name: a description to display: architecture, backend, dtype.
        position_bytes: bytes of a position; 0: any number.
        num_actions: number of actions, 128 in checkers.
    """

    name: str
    position_bytes: int = 0
    num_actions: int

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Evaluate positions.

        Args:
            boards: `[B, position_bytes]` int8, see the module; any B >= 0; not modified.
            out_logits: `[B, num_actions]` float32, written to; None: a new array.
            out_values: `[B]` float32, written to; None: a new array.

        Returns:
            `[B, num_actions]` float32 logits of all actions, legal or not, and `[B]` float32 values in
            [-1, 1] for the side to move; the output arrays, if given.

        Raises:
            ValueError: boards of another shape or type.
        """
        width = self.position_bytes or boards.shape[-1]
        if boards.dtype != np.int8 or boards.ndim != 2 or boards.shape[1] != width:
            raise ValueError(f"expected boards int8 [B, {width}], found {boards.dtype} {list(boards.shape)}")
        logits = np.empty((len(boards), self.num_actions), np.float32) if out_logits is None else out_logits
        values = np.empty(len(boards), np.float32) if out_values is None else out_values
        self._fill(boards, logits, values)
        return logits, values

    def policy(
        self, boards: Boards, legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `[B, num_actions]` probabilities, see `legal_policy`, and `[B]` values, see `evaluate`.

        Raises:
            BackendError: one of them is NaN or infinite.
        """
        logits, values = self.evaluate(boards)
        policy = legal_policy(logits, legal)
        if not (np.isfinite(policy).all() and np.isfinite(values).all()):
            raise non_finite_error(self)
        return policy, values.astype(np.float64)

    @abstractmethod
    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        """Write the results of `evaluate`, whose arguments are right."""

    def close(self) -> None:  # noqa: B027
        """Release its resources; it must not be used afterwards."""


def non_finite_error(evaluator: Evaluator) -> BackendError:
    """Return the error to raise for logits or values that are not finite."""
    return BackendError(
        f"evaluator {evaluator.name}: expected finite logits and values, found NaN or infinity: the network "
        "may have diverged in training; take an earlier checkpoint or train again"
    )


def legal_policy(logits: Floats, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return `[B, M]` probabilities, the softmax of `[B, M]` logits over the actions that are `legal`.

    Every row has a legal action. A row with a logit that is NaN or infinite has NaN.
    """
    scores = np.where(legal, logits.astype(np.float64), -np.inf)
    with np.errstate(invalid="ignore"):  # infinity minus itself is NaN
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found: NDArray[np.float64] = weights / weights.sum(1, keepdims=True)
    return found


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
        package = module.partition(".")[0]
        raise BackendError(
            f"this needs the package {package}{reason}; install it with pip install 'ckai[{extra}]'"
        ) from error
