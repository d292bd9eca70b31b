"""What a checkpoint says of the data that its network was trained on, and how they were split."""

from collections.abc import Mapping, Sequence
from typing import Any

from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError

Split = dict[str, Any]
"""How games are held out: their `heldout` share, and the `seed` that selects them."""


def data_entries(info: Mapping[str, Any], files: Sequence[RowFile], split: Split) -> list[dict[str, Any]]:
    """Return the entry `data` of a checkpoint after a training: that of the one before it, and its own files.

    Args:
        info: of the checkpoint that the training began from; empty if there is none.
        files: files that are trained on; of those that were before, no more games count as held out.
        split: of the files.
    """
    before = [{**entry, "split": entry.get("split", info.get("split", {}))} for entry in info.get("data", ())]
    entries = {(entry.get("name"), entry.get("rows")): entry for entry in before}
    for file in files:
        # Every generation of a run has a file of the same name.
        name = f"{file.path.parent.name}/{file.path.name}" if file.selfplay else file.path.name
        old = entries.get((name, file.rows), {}).get("split", {})
        share = min(split["heldout"], old.get("heldout", 1.0))
        entries[name, file.rows] = {"name": name, "rows": file.rows, "split": {**split, "heldout": share}}
    return list(entries.values())


def trained_on(info: Mapping[str, Any], file: RowFile) -> bool | None:
    """Whether a network was trained on a file; None if its checkpoint's `info` does not say on what."""
    return bool(_entries_of(info, file)) if info.get("data") else None


def split_of(info: Mapping[str, Any], files: Sequence[RowFile]) -> Split:
    """Return how files were split in the training of a checkpoint with this `info`; empty if it does not say.

    Raises:
        DatasetError: they were split in different ways.
    """
    stored: Split = info.get("split", {})
    found = [entry.get("split", stored) for file in files for entry in _entries_of(info, file)]
    ways = list({tuple(sorted(split.items())): split for split in found}.values())
    if len(ways) > 1:
        shown = " and ".join(
            f"share {split.get('heldout')}, split seed {split.get('seed')}" for split in ways[:2]
        )
        raise DatasetError(
            f"expected data that were split in one way in the training, found {shown}; evaluate them one "
            "at a time, or give --heldout and --split-seed"
        )
    return ways[0] if ways else stored


def check_split(name: str, info: Mapping[str, Any], files: Sequence[RowFile], split: Split) -> None:
    """Check that no games are held out which a network has learned that is trained on.

    Args:
        name: of its checkpoint, for the error.
        info: of its checkpoint.
        files: files that it will be trained on.
        split: of the files.

    Raises:
        DatasetError: some are.
    """
    for file in files:
        before = split_of(info, [file]) if trained_on(info, file) else {}
        if before and split["heldout"] and before != split:
            raise DatasetError(
                f"{name}: was trained on games of {file.path} that would be held out now; use --heldout "
                f"{before.get('heldout')} --split-seed {before.get('seed')}, as then, or --heldout 0"
            )


def _entries_of(info: Mapping[str, Any], file: RowFile) -> list[dict[str, Any]]:
    """The entries of a file, found by its number of rows, or by its name if it has more.

    A file that was moved, renamed, or parsed again with more games numbers its games as before.
    """
    return [
        entry
        for entry in info.get("data") or ()
        if file.rows == entry.get("rows")
        or (file.path.name == entry.get("name") and file.rows > entry.get("rows", 0))
    ]
