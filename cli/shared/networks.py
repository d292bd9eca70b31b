"""The networks that commands find and the names of their options."""

from pathlib import Path

from ckai.datasets.choices import game_entry_points

NETWORK_PATTERNS = ("pretrained.ckpt", "runs/*/best.ckpt")
"""Glob patterns of networks, relative to the current folder."""

NO_NETWORK = ("rollout", "uniform")
"""Players without a network: random playouts, and uniform priors with value 0."""

GAMES = sorted(game_entry_points())
"""Choices of `--game`: the installed games."""

EVALUATORS = ["auto", "fastest", "torch", "torch-bf16", "openvino", "openvino-bf16", "onnx", "cuda", "cpu"]
"""Choices of `--evaluator`, as in `ckai.models.inference.choose`, which imports torch."""
EVALUATOR_HELP = (
    "Backend that runs the network; auto: the GPU if there is one, else torch; fastest: the fastest correct "
    "backend in a short trial."
)


class NoNetworkError(ValueError):
    """No network was found; the message says where and how to make one."""


def newest_network(folder: Path = Path()) -> Path:
    """Return the newest of `pretrained.ckpt` and the best networks of runs.

    Args:
        folder: folder to search.

    Raises:
        NoNetworkError: there is none.
    """
    paths = [path for place in NETWORK_PATTERNS for path in folder.glob(place) if path.is_file()]
    if not paths:
        where = "here" if folder == Path() else f"in {folder}/"
        raise NoNetworkError(
            f"expected {' or '.join(NETWORK_PATTERNS)} {where}, found no network; run `ckai pretrain`, or "
            "give --engine CHECKPOINT or --engine rollout"
        )
    return max(paths, key=lambda path: (path.stat().st_mtime_ns, str(path)))


def network_file(source: Path) -> Path:
    """Return the checkpoint for a file or a run folder, which stands for its best network.

    Raises:
        NoNetworkError: there is none.
    """
    path = source / "best.ckpt" if source.is_dir() else source
    if not path.is_file():
        raise NoNetworkError(f"{path}: expected a checkpoint, found no such file")
    return path
