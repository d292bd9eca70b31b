"""What a checkpoint says of the data that its network was trained on, and how they were split.

`data`: name and rows of each file. `split`: the `heldout` share, and the `seed` that selects the games.
`games`: the lowest `MOST_GAMES` keys of those learned (`ckai.datasets.split.game_keys`), as int64.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.schema import DatasetError

MOST_GAMES: Final = 32_768
"""Keys in a checkpoint: 8 bytes each."""


def learned_games(info: Mapping[str, Any]) -> NDArray[np.uint64] | None:
    """Return the sorted keys in a checkpoint with this `info`, None if it does not say.

    They are all if they are fewer than `MOST_GAMES`.
    """
    games = info.get("games")
    return None if games is None else games.numpy().view(np.uint64)


def known(games: NDArray[np.uint64], learned: NDArray[np.uint64]) -> int:
    """Return how many of some games, distinct keys, are among `learned_games`."""
    return len(np.intersect1d(games, learned, assume_unique=True))


def origin(info: Mapping[str, Any], data: RowsDataModule) -> dict[str, Any]:
    """Return the entries `data`, `split` and `games` of a checkpoint whose training began from `info`."""
    entries = list(info.get("data") or ())
    rows: Counter[str] = Counter()
    for file in data.files.files:
        # The shards of a run are one data set, from which each generation takes some more.
        run = file.path.parent.parent.name if file.shard is not None else None
        rows[file.path.name if run is None else run] += file.rows
    for name, count in rows.items():
        entry = {"name": name, "rows": count}
        entries = [*(other for other in entries if other["name"] != name), entry]
    split = {"seed": data.split_seed, "heldout": data.heldout}
    before = info.get("split", split)
    if before.get("seed", 0) == split["seed"]:  # what was learned once is never held out again
        split["heldout"] = min(split["heldout"], before.get("heldout", split["heldout"]))
    found = {"data": entries, "split": split}
    learned = learned_games(info)
    if learned is not None or not info.get("data"):  # else nobody knows all of them
        keys = data.train_games if learned is None else np.union1d(learned, data.train_games)
        found["games"] = torch.from_numpy(keys[:MOST_GAMES].view(np.int64).copy())
    return found


def check_held_out(name: str, info: Mapping[str, Any], data: RowsDataModule) -> None:
    """Check that no held-out games are among those that a network to be trained further has learned.

    Raises:
        DatasetError: some are; `name` is of the network's checkpoint.
    """
    learned = learned_games(info)
    if learned is not None and (common := known(data.heldout_games, learned)):
        before = info.get("split", {})
        then = f"heldout={before['heldout']} and split_seed={before['seed']}, as then, or "
        raise DatasetError(
            f"{name}: was trained on {common:,} of the {len(data.heldout_games):,} games that would be held "
            f"out now; use --setting {then if before.get('heldout') else ''}heldout=0"
        )
