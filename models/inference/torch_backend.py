"""Networks evaluated by PyTorch, and as other backends take them."""

import copy

import torch
from torch import Tensor, nn

from ckai.models.inference.evaluator import Boards, Floats, output_arrays, sizes_of
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
        """See `Evaluator.evaluate`."""
        outputs = output_arrays(boards, sizes_of(self.network.encode), out_logits, out_values)
        with torch.inference_mode():
            rows = torch.from_numpy(self.network.encode.append_extra(boards))
            for out, result in zip(outputs, self._rows(rows.to(self.device, non_blocking=True)), strict=True):
                torch.from_numpy(out).copy_(result)
        return outputs

    def close(self) -> None:
        """Nothing to release."""
