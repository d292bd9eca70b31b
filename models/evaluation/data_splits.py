"""What a checkpoint says of the data that its network was trained on, and how they were split."""

from collections.abc import Mapping, Sequence
from typing import Any

from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError

Split = dict[str, Any]
"""How games are held out: their `heldout` share, and the `seed` that selects them. Of two shares with one
seed the smaller is a part of the larger."""


def data_entries(info: Mapping[str, Any], files: Sequence[RowFile], split: Split) -> list[dict[str, Any]]:
    """Return the entry `data` of a checkpoint after training: the previous entry, and the new files.

    Args:
        info: of the checkpoint that the training began from; empty if there is none.
        files: files that are trained on. In one trained on before, a game is held out only if it always was.
        split: of the files.
    """
    stored = info.get("split", {})
    entries = [{**entry, "split": entry.get("split", stored)} for entry in info.get("data") or ()]
    for file in files:
        same = [entry for entry in entries if _is_of(entry, file)]
        # Every generation of a run has a file of the same name.
        own = f"{file.path.parent.name}/{file.path.name}" if file.selfplay else file.path.name
        name = same[0].get("name", own) if same else own
        entries = [entry for entry in entries if entry not in same]
        found = _always([*(entry["split"] for entry in same if entry["split"]), split])
        entries.append({"name": name, "rows": file.rows, "split": found})
    return entries


def trained_on(info: Mapping[str, Any], file: RowFile) -> bool | None:
    """Whether a network was trained on a file; None if its checkpoint's `info` does not say on what.

    A file is known by its number of rows, or by its name if it has more: one that was moved, renamed, or
    parsed again with more games numbers its games as before.
    """
    data = info.get("data")
    return any(_is_of(entry, file) for entry in data) if data else None


def split_of(info: Mapping[str, Any], files: Sequence[RowFile]) -> Split:
    """Return how files were split in the training of a checkpoint with this `info`; empty if it does not say.

    Of files with several shares, as the first generations of a run have, it is the smallest.

    Raises:
        DatasetError: they were split with different seeds.
    """
    found = [_split_of_one(info, file) for file in files if trained_on(info, file)]
    seeds = list(dict.fromkeys(split["seed"] for split in found if split))
    if len(seeds) > 1:
        raise DatasetError(
            "expected data that were split with one seed in the training, found the seeds "
            f"{', '.join(map(str, seeds))}; evaluate them one at a time"
        )
    return _always([split for split in found if split]) or info.get("split", {})


def check_split(name: str, info: Mapping[str, Any], files: Sequence[RowFile], split: Split) -> None:
    """Check that no held-out games are among those that a network to be trained further has learned.

    Args:
        name: of its checkpoint, for the error.
        info: of its checkpoint.
        files: files that it will be trained on.
        split: of the files.

    Raises:
        DatasetError: some are.
    """
    for file in files if split["heldout"] else ():
        before = _split_of_one(info, file) if trained_on(info, file) else {}
        if before and _always([before, split]) != split:
            then = f"heldout={before['heldout']} and split_seed={before['seed']}, as then, or "
            raise DatasetError(
                f"{name}: was trained on games of {file.path} that would be held out now; use "
                f"--setting {then if before['heldout'] else ''}heldout=0"
            )


def _split_of_one(info: Mapping[str, Any], file: RowFile) -> Split:
    stored: Split = info.get("split", {})
    found = [entry.get("split", stored) for entry in info["data"] if _is_of(entry, file)]
    return _always([split for split in found if split])


def _always(splits: Sequence[Split]) -> Split:
    """The split of games that all of some splits hold out; empty if there are none."""
    if not splits:
        return {}
    seed, share = splits[-1].get("seed", 0), min(split.get("heldout", 1.0) for split in splits)
    alike = all(split.get("seed", 0) == seed for split in splits)
    return {"seed": seed, "heldout": share if alike else 0.0}


def _is_of(entry: Mapping[str, Any], file: RowFile) -> bool:
    """Whether an entry of `info.data` is of a file, see `trained_on`."""
    return bool(
        file.rows == entry.get("rows")
        or (file.path.name == entry.get("name") and file.rows > entry.get("rows", 0))
    )
