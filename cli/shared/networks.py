"""Which network a command takes when none is named."""

from importlib.metadata import entry_points
from pathlib import Path

PLACES = ("pretrained.ckpt", "runs/*/best.ckpt")
"""Where networks lie, under the current folder."""

NO_NETWORK = ("rollout", "uniform")
"""What plays without a file: a search with random playouts, and one that knows nothing."""

GAMES = sorted(entry_points(group="ckai.games").names)
"""What `--game` takes, as `ckai.rl.games.registry` has it."""

EVALUATORS = ["auto", "torch", "torch-bf16", "openvino", "openvino-bf16", "onnx", "cuda", "cpu"]
"""What `--evaluator` takes, as `ckai.models.inference.choose` has it; help needs no torch."""
EVALUATOR_HELP = "What computes the network; auto: the fastest that is right, by a short trial."


class NoNetworkError(ValueError):
    """No network where one was looked for; says where, and what makes one."""


def newest_network(folder: Path = Path()) -> Path:
    """The network under a folder that was written last: `pretrained.ckpt`, or the best of a run.

    Raises:
        NoNetworkError: if there is none.
    """
    found = [path for place in PLACES for path in folder.glob(place) if path.is_file()]
    if not found:
        where = "here" if folder == Path() else f"in {folder}/"
        raise NoNetworkError(
            f"no network {where} ({' or '.join(PLACES)}); make one with `ckai pretrain`, "
            "or name one with --engine CHECKPOINT (`rollout` needs none)"
        )
    return max(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))


def network_file(source: Path) -> Path:
    """The checkpoint that a name means: a file, or the best network of a run folder.

    Raises:
        NoNetworkError: if there is none.
    """
    path = source / "best.ckpt" if source.is_dir() else source
    if not path.is_file():
        raise NoNetworkError(f"{path}: no such checkpoint")
    return path
