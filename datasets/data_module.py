"""Batches for training: whole tensors cut from shuffled blocks, never a Python loop per row.

A batch is a dict of tensors, everything in the view of the side to move:

    board    [B, 32] int8      1 own man, 3 own king, -1 / -3 the other's, 0 empty; other games: all squares
    jumper   [B] int8          index of the piece that must continue a capture, -1 if none
    quiet    [B] int16         halfmove clock: plies since the last capture or man's move
    legal    [B, 16] uint8     little-endian bits: bit i of the 128: action i is legal
    label    [B] int64         the action played, 0..127
    ply      [B] int16         0-based half-move of the game
    z        [B] float32       result 1, 0 or -1, 0 where unknown
    z_known  [B] bool          whether the result is known

If the data include self-play, it also has:

    q        [B] float32       the search's value in [-1, 1]; z for rows without a search
    q_known  [B] bool          whether the row has a search's value
    policy   [B, A] float32    shares of the visits, or the action played without a search; a row sums to 1,
                               or to 0 where it has no policy target; A is 8 times the bytes of `legal`
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.reader import RowFile, RowFiles
from ckai.datasets.rows import Rows, concatenate
from ckai.datasets.schema import DatasetError
from ckai.datasets.split import Split, check_share, game_keys, held_out, position_keys
from ckai.datasets.symmetries import Symmetries

Batch: TypeAlias = dict[str, Tensor]

_BLOCK_ROWS = 65536
_HELDOUT_BATCH = 2048


class RowsDataModule(pl.LightningDataModule):
    """Training and held-out batches of one or several data sets, as a LightningDataModule.

    Games are held out by a hash of `split_seed` and their moves (`ckai.datasets.split`): copies are on one
    side. The rows are kept in memory (about 64 bytes each without a search) and shuffled as a whole every
    epoch. The order depends only on `seed` and the epoch.

    Attributes:
        train_rows, heldout_rows: rows of each side.
        train_games, heldout_games: keys of the games of each side: sorted, distinct uint64.
        epoch_rows: training rows in an epoch, with the data sets' weights applied.

    Examples:
        >>> data = RowsDataModule(["games.parquet"], batch_size=4, heldout=0.5, seed=1)
        >>> data.train_rows + data.heldout_rows
        11
        >>> batch = next(iter(data.train_dataloader()))
        >>> batch["board"].shape, batch["board"].dtype
        (torch.Size([4, 32]), torch.int8)
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        batch_size: int = 512,
        heldout: float = 0.1,
        split_seed: int = 0,
        seed: int = 0,
        need_both_sides: bool = True,
        weights: Sequence[float] = (),
        game: str = DEFAULT_GAME_NAME,
        symmetries: Symmetries | None = None,
        transform: Callable[[Batch], Batch] | None = None,
    ) -> None:
        """Read and check the files.

        Args:
            paths: row files; their rows are mixed evenly.
            batch_size: rows of a training batch, at least 1.
            heldout: share of the games held out, 0 <= share < 1.
            split_seed: selects the held-out games.
            seed: of the shuffling.
            need_both_sides: raise DatasetError if either side has no games.
            weights: passes over each file's training rows in an epoch: 2 is twice, 0.5 a random half.
                Empty: once each.
            game: the game the rows must be of.
            symmetries: of which one is drawn for every training row; None: rows stay as they are.
            transform: returns what to train on in place of each training batch; None: they stay as they are.

        Raises:
            DatasetError: a file that cannot be used, or a side without games.
            ValueError: an argument out of range.
        """
        super().__init__()
        if batch_size < 1:
            raise ValueError(f"expected batch_size >= 1, found {batch_size}")
        check_share("heldout", heldout)
        if weights and (len(weights) != len(paths) or not all(0 < w < 1000 for w in weights)):
            listed = ", ".join(f"{w:g}" for w in weights)
            raise ValueError(
                f"expected a weight above 0 and below 1000 for each of {len(paths)} data sets, found {listed}"
            )
        self.game, self.files = game, RowFiles(paths, game)
        self.symmetries, self.transform = symmetries, transform
        self.weights = tuple(weights) or (1.0,) * len(paths)
        self.batch_size = batch_size
        self.heldout, self.split_seed, self.seed = heldout, split_seed, seed
        self._load()
        for side, rows in (("training", self.train_rows), ("held-out", self.heldout_rows if heldout else 1)):
            if not rows and need_both_sides:
                raise DatasetError(
                    f"expected {side} games, found none among {self.files.rows} rows with a held-out share "
                    f"of {heldout}"
                )
        if self.train_rows and not self.epoch_rows:
            raise ValueError(
                f"expected weights that leave some of {self.train_rows} rows in an epoch, found {weights}"
            )
        self._epoch, self._skip = 0, 0

    # --- for Lightning ------------------------------------------------------------------------------

    def train_dataloader(self) -> "_Batches":
        """The training batches; each iteration over it is the next epoch."""
        return _Batches(self._next_epoch)

    def val_dataloader(self) -> "_Batches | list[Batch]":
        """The held-out batches in file order; empty if no games are held out."""
        return _Batches(lambda: self.batches("heldout")) if self.measures else []

    @property
    def steps_per_epoch(self) -> int:
        """Number of training batches in an epoch; the last may be smaller."""
        return -(-self.epoch_rows // self.batch_size)

    @property
    def measures(self) -> bool:
        """Whether there is anything to evaluate on during training."""
        return bool(self.heldout_rows)

    def resume_at(self, epoch: int, batch: int) -> None:
        """Continue training in `epoch` (0-based) after `batch` of its batches."""
        self._epoch, self._skip = epoch, batch

    def _next_epoch(self) -> Iterator[Batch]:
        yield from self.epoch(self._epoch, self._skip)
        self.resume_at(self._epoch + 1, 0)

    # --- rows ---------------------------------------------------------------------------------------

    def blocks(self, split: Split) -> Iterator[Rows]:
        """The rows of one side in blocks, in file order; of "all", the training side first."""
        for side, rows in self._rows.items():
            if split in (side, "all"):
                for start in range(0, len(rows), _BLOCK_ROWS):
                    yield rows.part(start, start + _BLOCK_ROWS)

    def batches(self, split: Split, size: int = _HELDOUT_BATCH) -> Iterator[Batch]:
        """The rows of one side in the order of `blocks`, in batches of at most `size`."""
        for rows in self.blocks(split):
            yield from _cut(self._tensors(rows), size)

    def train_positions(self) -> NDArray[np.uint64]:
        """Keys of the training side's positions: sorted, distinct uint64, see `ckai.datasets.split`."""
        keys = [np.unique(position_keys(rows.board, rows.jumper)) for rows in self.blocks("train")]
        return np.unique(np.concatenate(keys)) if keys else np.empty(0, np.uint64)

    def epoch(self, number: int, skip: int = 0) -> Iterator[Batch]:
        """The training batches of epoch `number` (0-based), without the first `skip`."""
        batches = self._shuffled(number, skip)
        return batches if self.transform is None else map(self.transform, batches)

    def _shuffled(self, number: int, skip: int = 0) -> Iterator[Batch]:
        rng = np.random.default_rng([self.seed & 0xFFFFFFFF, number])
        rows = self._rows["train"]
        parts = [
            start + draw(stop - start, weight, rng)
            for (start, stop), weight in zip(self._spans, self._span_weights, strict=True)
        ]
        pool = np.concatenate(parts)
        order = pool[rng.permutation(len(pool))]
        which = None if self.symmetries is None else self.symmetries.draw(rng, len(order))
        block = self.batch_size * max(1, _BLOCK_ROWS // self.batch_size)
        for start in range(skip * self.batch_size, len(order), block):
            part = slice(start, start + block)
            batch = self._tensors(rows.take(order[part]))
            if self.symmetries is not None and which is not None:
                batch = self.symmetries.turned(batch, which[part])
            yield from _cut(batch, self.batch_size)

    def _load(self) -> None:
        """Read the files: the rows of each side, and which training rows have which weight."""
        sides: dict[Split, list[Rows]] = {"train": [], "heldout": []}
        self._spans: list[tuple[int, int]] = []
        games: dict[bool, list[NDArray[np.uint64]]] = {False: [], True: []}
        start = 0
        self._span_weights: list[float] = []
        for weight, rows in self._read():
            keys, lengths = game_keys(rows)
            out = held_out(keys, self.split_seed, self.heldout)
            for side, found in games.items():
                found.append(keys[out == side])
            out = np.repeat(out, lengths)
            sides["train"].append(rows.take(~out))
            sides["heldout"].append(rows.take(out))
            self._spans.append((start, start + len(sides["train"][-1])))
            self._span_weights.append(weight)
            start = self._spans[-1][1]
        self.train_games, self.heldout_games = (np.unique(np.concatenate(found)) for found in games.values())
        self._rows = {side: concatenate(parts) for side, parts in sides.items()}
        self.train_rows, self.heldout_rows = len(self._rows["train"]), len(self._rows["heldout"])
        self.epoch_rows = sum(
            epoch_size(stop - start, weight)
            for (start, stop), weight in zip(self._spans, self._span_weights, strict=True)
        )

    def _read(self) -> Iterator[tuple[float, Rows]]:
        """Yield the weight and the rows of each file, or of shards that follow one another with one weight.

        Those are ordered by worker and game: which games are in which shard depends on the time it took.
        """

        def kind(of: tuple[float, RowFile]) -> tuple[float, int]:
            return of[0], 0 if of[1].shard is not None else id(of[1])

        for (weight, _), group in groupby(zip(self.weights, self.files.files, strict=True), kind):
            files = [file for _, file in group]
            parts = [concatenate([file.read(g) for g in range(len(file.group_rows))]) for file in files]
            rows = concatenate(parts)
            if len(files) > 1:
                names = [str(file.shard["worker"]) if file.shard else "" for file in files]
                worker = np.repeat(np.unique(names, return_inverse=True)[1], [len(part) for part in parts])
                rows = rows.take(np.lexsort((np.arange(len(rows)), rows.game, worker)))
            yield weight, rows

    def _tensors(self, rows: Rows) -> Batch:
        return to_batch(rows, searched=self.files.selfplay)


def epoch_size(rows: int, weight: float) -> int:
    """Rows that an epoch takes from `rows` rows, repetitions counted."""
    return int(weight) * rows + round((weight - int(weight)) * rows)


def draw(rows: int, weight: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of the rows an epoch takes: all of them int(weight) times, and a random share for the rest."""
    whole = np.tile(np.arange(rows), int(weight))
    rest = epoch_size(rows, weight) - len(whole)
    return np.concatenate([whole, rng.permutation(rows)[:rest]]) if rest else whole


class _Batches:
    """Batches that can be iterated over again, as Lightning does."""

    def __init__(self, begin: Callable[[], Iterator[Batch]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[Batch]:
        return self._begin()


def to_batch(rows: Rows, *, searched: bool | None = None) -> Batch:
    """Rows as a batch of tensors, described in `ckai.datasets.data_module`; shares memory where it can.

    Args:
        rows: at least one.
        searched: whether to include `q` and `policy`; None: if the rows have visits.

    Examples:
        >>> from ckai.datasets import read_rows
        >>> batch = to_batch(read_rows("games.parquet"))
        >>> batch["z"].dtype, batch["label"].shape
        (torch.float32, torch.Size([11]))
    """
    z = rows.z.astype(np.float32)
    arrays: dict[str, NDArray[Any]] = {
        "board": rows.board,
        "jumper": rows.jumper,
        "quiet": rows.quiet,
        "legal": rows.legal,
        "label": rows.label.astype(np.int64),
        "ply": rows.ply,
        "z": z,
        "z_known": rows.z_known,
    }
    if searched or (searched is None and rows.visits is not None):
        known = np.zeros(len(rows), np.bool_) if rows.q is None else ~np.isnan(rows.q)
        q = z if rows.q is None else np.where(known, rows.q, z)
        arrays["q"], arrays["q_known"] = q.astype(np.float32, copy=False), known
        if rows.visits is None:
            policy = np.zeros((len(rows), 8 * rows.legal.shape[1]), np.float32)
            policy[np.arange(len(rows)), rows.label] = 1
            arrays["policy"] = policy
        else:
            arrays["policy"] = rows.visits.dense(rows.label, 8 * rows.legal.shape[1])
    return {name: torch.from_numpy(a if a.flags.writeable else a.copy()) for name, a in arrays.items()}


def _cut(block: Batch, size: int) -> Iterator[Batch]:
    rows = len(block["label"])
    for start in range(0, rows, size):
        yield {name: tensor[start : start + size] for name, tensor in block.items()}
