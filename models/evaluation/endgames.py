"""Evaluate a network against tablebases, which have the exact value of each position."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.datasets.tables.rows import Endgames, draw_endgames, hops_that_keep
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.inputs.packing import pack_boards
from ckai.models.layers.network import Network

SEED = 1
"""The positions are the same for every network."""
BATCH = 1024


def measure_endgames(
    network: Network, tables: Tables, positions: int = 50_000, *, pieces: int | None = None
) -> dict[str, Any]:
    """Evaluate a network, without a search, on table positions reserved for evaluation.

    Args:
        network: the network to evaluate.
        tables: the exact values.
        positions: number of positions to sample.
        pieces: pieces on the board, exactly; None: as many as the tables have.

    Returns:
        `pieces`; for all positions, and in `by_material` for each material class: `positions`; `value_mse`,
        the mean of (value - exact)^2, where exact is 1 won, 0 drawn, -1 lost for the side to move;
        `wrong_sign`, the share of won and lost positions whose value has the wrong sign; `drawn_value`, the
        mean absolute value of drawn positions; `keeps`, the share where the network's likeliest legal action
        keeps the result; and `keeps_decided`, the same where some actions keep it and others do not.
    """
    drawn = draw_endgames(tables, positions, seed=SEED, pieces=pieces or tables.pieces, heldout=True)
    logits, value = _evaluate(TorchEvaluator(network), drawn)
    legal, keeping = hops_that_keep(drawn, tables)
    keeps = keeping[np.arange(len(logits)), np.where(legal, logits, -np.inf).argmax(1)]
    free: NDArray[np.bool_] = np.any(keeping, axis=1) & np.any(legal & ~keeping, axis=1)
    overall = _report(drawn.truth, value, keeps, free)
    by_material = {}
    for number, of in enumerate(drawn.classes):
        here = drawn.of == number
        if here.any():
            by_material[str(of)] = _report(drawn.truth[here], value[here], keeps[here], free[here])
    return {"pieces": pieces or tables.pieces, **overall, "by_material": by_material}


def _evaluate(evaluator: Evaluator, drawn: Endgames) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rows = pack_boards(drawn.boards(), jumper=-1, halfmove_clock=0)
    parts = [evaluator.evaluate(rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
    return np.concatenate([logits for logits, _ in parts]), np.concatenate([value for _, value in parts])


def _report(
    truth: NDArray[np.int8], value: NDArray[np.float32], keeps: NDArray[np.bool_], free: NDArray[np.bool_]
) -> dict[str, Any]:
    decided = truth != 0
    report: dict[str, Any] = {
        "positions": len(truth),
        "value_mse": float(np.mean((value - truth) ** 2)),
        "keeps": float(keeps.mean()),
    }
    if decided.any():
        report["wrong_sign"] = float(np.mean(np.sign(value[decided]) != truth[decided]))
    if not decided.all():
        report["drawn_value"] = float(np.abs(value[~decided]).mean())
    if free.any():
        report["keeps_decided"] = float(keeps[free].mean())
    return report
