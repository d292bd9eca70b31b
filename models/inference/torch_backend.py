"""Networks evaluated by PyTorch, and as other backends take them."""

import copy

import torch
from torch import Tensor, nn

from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.models.layers.network import Network


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


class TorchEvaluator(Evaluator):
    """A network evaluated by PyTorch in float32 on the CPU, in the thread of the caller.

    Let threads that share one call `torch.set_num_threads(1)`.
    """

    def __init__(self, network: Network) -> None:
        """Copy a network: later training does not change the evaluator."""
        self._rows = float32_copy(network)
        self.position_bytes, self.num_actions = self._rows.position_bytes, network.encode.NUM_ACTIONS
        self.name = f"{network.architecture}, torch float32, cpu"

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        with torch.inference_mode():
            results = self._rows(torch.from_numpy(self._rows.network.encode.append_extra(boards)))
            for out, result in zip((logits, values), results, strict=True):
                torch.from_numpy(out).copy_(result)
