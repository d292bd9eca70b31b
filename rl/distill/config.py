"""Settings of a distillation. Does not import torch or numpy, which would slow down help."""

from ckai.datasets.settings import setting, settings


@settings
class DistillConfig:
    """Settings of a distillation."""

    positions: int = setting(
        option="--positions",
        default=1_000_000,
        ge=1,
        help="Number of positions to label, rounded up to whole shards of walks",
    )
    plies: int = setting(
        default=16,
        ge=1,
        le=300,
        help="Longest walk from a starting position, in plies; with nodes, most random plies before a game",
    )
    explore: float = setting(
        default=0.2, ge=0, le=1, help="Share of random actions in the walks, so that they see mistakes too"
    )
    opening_share: float = setting(
        default=0.1, ge=0, le=1, help="Share of walks that start from an opening instead of a row of --data"
    )
    nodes: int = setting(
        default=0,
        ge=0,
        help="Play games of alpha-beta against itself, a search of this many positions for every move, for "
        "which the teacher must be an integer network; 0: walk by the teacher's policy",
    )
    tables: int = setting(
        default=0, ge=0, le=5, help="End a walk when it reaches the N-piece tablebases; 0 uses none"
    )
    seed: int = setting(option="--seed", default=0, ge=0, help="Seed of the walks")

    @property
    def shard_walks(self) -> int:
        """Walks per shard, fewer for few positions; a kill loses the current shards at most."""
        return max(32, min(1024 if self.nodes else 8192, self.positions // 64))
