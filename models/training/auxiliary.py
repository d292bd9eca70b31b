"""Training of auxiliary heads (`ckai.models.layers.auxiliary`): which there are, their losses, and reports.

A row of a game whose end is not known, or of a file that does not say it, has no part in their losses.
"""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from ckai.models.layers.auxiliary import MOVES_LEFT, OWNERSHIP, PLIES, AuxiliaryHeads
from ckai.models.layers.network import Network, TrunkNetwork
from ckai.models.training.config import LossConfig
from ckai.models.validation import fitting_weights

Batch: TypeAlias = dict[str, Tensor]
HUBER_DELTA = 10.0 / PLIES
"""Error above which the loss of the plies left is linear: ten plies."""
MEASURES = {MOVES_LEFT: "error", OWNERSHIP: "accuracy"}
"""What is reported besides a head's loss: the mean absolute error in plies, the share of squares right."""


def head_weights(loss: LossConfig) -> dict[str, float]:
    """The weights of the auxiliary losses that are not 0, by name of the head."""
    weights = {MOVES_LEFT: loss.moves_left_weight, OWNERSHIP: loss.ownership_weight}
    return {name: weight for name, weight in weights.items() if weight}


def check_trunk(network: Network, loss: LossConfig) -> None:
    """Check that a network has features for the auxiliary heads that a training asks for.

    Raises:
        ValueError: it has no trunk that other heads could read.
    """
    names = head_weights(loss)
    if names and (not isinstance(network, TrunkNetwork) or len(network.stages()) > 1):
        asked = " and ".join(f"{name}_weight" for name in names)
        raise ValueError(
            f"expected {asked} 0 for the network {network.architecture}, which has no single trunk for more "
            f"heads, found {' and '.join(f'{weight:g}' for weight in names.values())}"
        )


def heads_for(
    network: Network, loss: LossConfig, *, seed: int, saved: Mapping[str, Tensor] | None = None
) -> AuxiliaryHeads | None:
    """Make the auxiliary heads that a training asks for.

    Args:
        network: whose features they read.
        loss: a head with a weight of 0 is left out.
        seed: of new weights; PyTorch's own random stream is not touched.
        saved: weights of a checkpoint; heads that it does not have get new ones.

    Returns:
        The heads, None if there are none.

    Raises:
        ValueError: see `check_trunk`; or the weights do not fit.
    """
    names = list(head_weights(loss))
    if not names:
        return None
    check_trunk(network, loss)
    assert isinstance(network, TrunkNetwork)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        heads = AuxiliaryHeads(network, names)
    for name, head in heads.items():
        prefix = f"{name}."
        own = {key[len(prefix) :]: w for key, w in (saved or {}).items() if key.startswith(prefix)}
        if own:
            head.load_state_dict(fitting_weights(head, own, f"the head {name}"))
    return heads


def weights_of(heads: AuxiliaryHeads | None) -> dict[str, Tensor] | None:
    """The weights of heads for a checkpoint, by name; None without heads."""
    return None if heads is None else heads.state_dict()


def row_losses(name: str, output: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss of a head for each row, and what is reported beside it.

    Both mean nothing where the end of the game is not known. The plies left: Huber loss of plies over 20,
    linear from an error of ten plies on (Leela Chess Zero's `moves_left_loss`), and the absolute error in
    plies. Ownership: cross-entropy, and the share of the squares whose likeliest class is right, both means
    over the squares.

    Args:
        name: of the head.
        output: of the head.
        batch: see `ckai.datasets.data_module`; with endings.

    Returns:
        Two `[B]` float32.
    """
    if name == MOVES_LEFT:
        wanted = batch["plies_left"]
        loss = functional.huber_loss(output, wanted / PLIES, reduction="none", delta=HUBER_DELTA)
        return loss, (output.detach() * PLIES - wanted).abs()
    owners = batch["ownership"]
    loss = functional.cross_entropy(output, owners, reduction="none").mean(1)
    return loss, (output.argmax(1) == owners.argmax(1)).float().mean(1)


def auxiliary_losses(outputs: Mapping[str, Tensor], batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
    """The auxiliary losses of a batch.

    Args:
        outputs: of the heads, by name.
        batch: see `ckai.datasets.data_module`; if it has no endings, all losses are 0.

    Returns:
        The mean loss of each head over the rows whose game has an end, and `[heads, 3]` float64 sums over
        these rows: their number, the loss, and what is reported beside it.
    """
    losses: dict[str, Tensor] = {}
    sums = []
    for name, output in outputs.items():
        if "plies_left" in batch:
            known = (batch["plies_left"] > 0).float()
            loss, measure = (each * known for each in row_losses(name, output, batch))
        else:  # a gradient of 0, as a resumed optimizer must have met every parameter
            known, loss, measure = torch.zeros(3, 1, device=output.device)
            loss = loss + output.sum() * 0
        losses[name] = loss.sum() / known.sum().clamp(min=1)
        sums.append(torch.stack([known.sum(), loss.detach().sum(), measure.sum()]))
    return losses, torch.stack(sums).double()


def report(side: str, heads: AuxiliaryHeads, sums: Tensor) -> dict[str, float]:
    """Means over the rows of an epoch whose game has an end; empty if there are none.

    Args:
        side: `train` or `heldout`, before the names: `train_moves_left_loss` and `train_moves_left_error`,
            the mean absolute error in plies, `train_ownership_loss` and `train_ownership_accuracy`.
        heads: the heads.
        sums: of `auxiliary_losses`, over the epoch.
    """
    found: dict[str, float] = {}
    for name, (rows, loss, measure) in zip(heads, sums.tolist(), strict=True):
        if rows:
            found[f"{side}_{name}_loss"] = loss / rows
            found[f"{side}_{name}_{MEASURES[name]}"] = measure / rows
    return found
