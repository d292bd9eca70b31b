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

import itertools
from collections.abc import Callable, Iterator, Sequence
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
from ckai.datasets.split import Split, check_share, held_out, position_keys
from ckai.datasets.symmetries import Symmetries

Batch: TypeAlias = dict[str, Tensor]

_BYTES_PER_ROW = 64
_BYTES_PER_SEARCHED_ROW = 128
"""At least; rows of larger boards, and with more visit counts, take more."""
_BLOCK_ROWS = 65536


class RowsDataModule(pl.LightningDataModule):
    """Training and held-out batches of one or several data sets, as a LightningDataModule.

    Games are held out by a hash of `split_seed` and their number (`ckai.datasets.split`), games with the same
    moves in one file by the number of the first of them. A data set that
    fits `memory_mb` is decoded once and shuffled as a whole every epoch; a larger one is streamed: row
    groups in random order through a shuffle buffer. The order depends only on `seed` and the epoch.

    Attributes:
        train_rows, heldout_rows: rows of each side.
        epoch_rows: training rows in an epoch, with the data sets' weights applied.
        in_memory: whether the rows are kept in memory.

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
        memory_mb: int = 1024,
        eval_batch_size: int = 2048,
        need_both_sides: bool = True,
        weights: Sequence[float] = (),
        game: str = DEFAULT_GAME_NAME,
        symmetries: Symmetries | None = None,
        transform: Callable[[Batch], Batch] | None = None,
    ) -> None:
        """Open and check the files; decode them if they fit.

        Args:
            paths: row files; their rows are mixed evenly.
            batch_size: rows of a training batch, at least 1.
            heldout: share of the games held out, 0 <= share < 1.
            split_seed: selects the held-out games.
            seed: of the shuffling.
            memory_mb: MiB for decoded rows, or for the shuffle buffer.
            eval_batch_size: rows of a held-out batch, at least 1.
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
        if batch_size < 1 or eval_batch_size < 1:
            raise ValueError(f"expected batch sizes >= 1, found {batch_size} and {eval_batch_size}")
        if memory_mb < 0:
            raise ValueError(f"expected memory_mb >= 0, found {memory_mb}")
        check_share("heldout", heldout)
        if weights and (len(weights) != len(paths) or not all(0 < w < 1000 for w in weights)):
            listed = ", ".join(f"{w:g}" for w in weights)
            raise ValueError(
                f"expected a weight above 0 and below 1000 for each of {len(paths)} data sets, found {listed}"
            )
        self.game, self.files = game, RowFiles(paths, game)
        self.symmetries, self.transform = symmetries, transform
        self.weights = tuple(weights) or (1.0,) * len(paths)
        self._overfit = 0
        self.batch_size, self.eval_batch_size = batch_size, eval_batch_size
        self.heldout, self.split_seed, self.seed = heldout, split_seed, seed
        least = _BYTES_PER_SEARCHED_ROW if self.files.selfplay else _BYTES_PER_ROW
        row_bytes = max(least, -(-sum(file.nbytes for file in self.files.files) // self.files.rows))
        self.in_memory = self.files.rows * row_bytes <= memory_mb * 2**20
        self.buffer_rows = max(batch_size * 2, memory_mb * 2**20 // (row_bytes * 4))
        self._memory: dict[Split, Rows] = {}
        if self.in_memory:
            self._load()
        else:
            self._count()
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

    def train_dataloader(self) -> "TrainBatches":
        """The training batches; each iteration over it is the next epoch."""
        return TrainBatches(self)

    def val_dataloader(self) -> "HeldOutBatches | list[Batch]":
        """The held-out batches, in file order; empty if no games are held out."""
        return HeldOutBatches(self) if self.measures else []

    @property
    def steps_per_epoch(self) -> int:
        """Number of training batches in an epoch; the last may be smaller."""
        return self._overfit or -(-self.epoch_rows // self.batch_size)

    @property
    def measures(self) -> bool:
        """Whether there is anything to evaluate on during training."""
        return bool(self.heldout or self._overfit)

    def overfit(self, batches: int) -> None:
        """Train every epoch on the same first `batches` batches, and evaluate on them; 0 turns it off."""
        self._overfit = min(batches, -(-self.epoch_rows // self.batch_size))

    def resume_at(self, epoch: int, batch: int) -> None:
        """Continue training in `epoch` (0-based) after `batch` of its batches."""
        self._epoch, self._skip = epoch, batch

    # --- rows ---------------------------------------------------------------------------------------

    def blocks(self, split: Split) -> Iterator[Rows]:
        """The rows of one side in blocks, in file order ("all" from memory: the training side first)."""
        if self.in_memory:
            for side in ("train", "heldout"):
                if split in (side, "all") and len(self._memory[side]):
                    rows = self._memory[side]
                    for start in range(0, len(rows), _BLOCK_ROWS):
                        yield rows.take(np.arange(start, min(start + _BLOCK_ROWS, len(rows))))
            return
        for (file, _), block in zip(self.files.groups, self.files.blocks(), strict=True):
            rows = self._side(file, block, split)
            if len(rows):
                yield rows

    def batches(self, split: Split, size: int | None = None) -> Iterator[Batch]:
        """The rows of one side in the order of `blocks`, in batches of at most `size`."""
        for rows in self.blocks(split):
            yield from _cut(self._tensors(rows), size or self.eval_batch_size)

    def train_positions(self) -> NDArray[np.uint64]:
        """Keys of the training side's positions: sorted, distinct uint64, see `ckai.datasets.split`."""
        keys = [np.unique(position_keys(rows.board, rows.jumper)) for rows in self.blocks("train")]
        return np.unique(np.concatenate(keys)) if keys else np.empty(0, np.uint64)

    def epoch(self, number: int, skip: int = 0) -> Iterator[Batch]:
        """The training batches of epoch `number` (0-based), without the first `skip`."""
        batches = self._shuffled(0 if self._overfit else number, skip)
        batches = itertools.islice(batches, self._overfit - skip) if self._overfit else batches
        return batches if self.transform is None else map(self.transform, batches)

    def _shuffled(self, number: int, skip: int = 0) -> Iterator[Batch]:
        rng = np.random.default_rng([self.seed & 0xFFFFFFFF, number])
        if not self.in_memory:
            for i, batch in enumerate(self._streamed(rng)):
                if i >= skip:
                    yield batch
            return
        rows = self._memory["train"]
        parts = [
            start + draw(stop - start, weight, rng)
            for (start, stop), weight in zip(self._spans, self.weights, strict=True)
        ]
        pool = np.concatenate(parts)
        order = pool[rng.permutation(len(pool))]
        which = self._drawn_symmetries(rng, len(order))[skip * self.batch_size :]
        order = order[skip * self.batch_size :]
        block = self.batch_size * max(1, _BLOCK_ROWS // self.batch_size)
        for start in range(0, len(order), block):
            part = slice(start, start + block)
            yield from _cut(self._turned(rows.take(order[part]), which[part]), self.batch_size)

    def _streamed(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Row groups in random order through a buffer that emits a random half whenever it is full."""
        pool: list[Rows] = []
        waiting = 0
        order = rng.permutation(len(self.files.groups)).tolist()
        for i, (at, block) in enumerate(zip(order, self.files.blocks(order), strict=True)):
            file = self.files.groups[at][0]
            rows = self._side(file, block, "train")
            weight = self.weights[self.files.files.index(file)]
            rows = rows.take(draw(len(rows), weight, rng))
            pool.append(rows)
            waiting += len(rows)
            last = i + 1 == len(order)
            if waiting < self.buffer_rows and not last:
                continue
            mixed = concatenate(pool)
            shuffled = rng.permutation(len(mixed))
            give = len(mixed) if last else (len(mixed) // 2 // self.batch_size) * self.batch_size
            step = self.batch_size * max(1, _BLOCK_ROWS // self.batch_size)
            for start in range(0, give, step):
                index = shuffled[start : min(start + step, give)]
                which = self._drawn_symmetries(rng, len(index))
                yield from _cut(self._turned(mixed.take(index), which), self.batch_size)
            pool = [mixed.take(shuffled[give:])]
            waiting = len(pool[0])

    def _load(self) -> None:
        sides: dict[Split, list[Rows]] = {"train": [], "heldout": []}
        self._spans: list[tuple[int, int]] = []
        start = 0
        for file in self.files.files:
            blocks = [file.read(group) for group in range(len(file.group_rows))]
            train = concatenate([self._side(file, block, "train") for block in blocks])
            self._spans.append((start, start + len(train)))
            start += len(train)
            sides["train"].append(train)
            sides["heldout"] += [self._side(file, block, "heldout") for block in blocks]
        self._memory = {side: concatenate(parts) for side, parts in sides.items()}
        self.train_rows, self.heldout_rows = len(self._memory["train"]), len(self._memory["heldout"])
        self.epoch_rows = sum(
            epoch_size(stop - start, weight)
            for (start, stop), weight in zip(self._spans, self.weights, strict=True)
        )

    def _count(self) -> None:
        self.heldout_rows = self.epoch_rows = 0
        for file, group in self.files.groups:
            (games,) = file.columns(group, "game")
            out = int(held_out(file.split_numbers(games), self.split_seed, self.heldout).sum())
            self.heldout_rows += out
            self.epoch_rows += epoch_size(len(games) - out, self.weights[self.files.files.index(file)])
        self.train_rows = self.files.rows - self.heldout_rows

    def _side(self, file: RowFile, rows: Rows, split: Split) -> Rows:
        if split == "all":
            return rows
        out = held_out(file.split_numbers(rows.game), self.split_seed, self.heldout)
        return rows.take(np.flatnonzero(out if split == "heldout" else ~out))

    def _drawn_symmetries(self, rng: np.random.Generator, rows: int) -> NDArray[np.int64]:
        return np.zeros(rows, np.int64) if self.symmetries is None else self.symmetries.draw(rng, rows)

    def _turned(self, rows: Rows, which: NDArray[np.int64]) -> Batch:
        batch = self._tensors(rows)
        return batch if self.symmetries is None else self.symmetries.turned(batch, which)

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


class TrainBatches:
    """The training batches; each complete iteration is one epoch, the next iteration the next epoch."""

    def __init__(self, data: RowsDataModule) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Batch]:
        data = self.data
        yield from data.epoch(data._epoch, data._skip)
        data.resume_at(data._epoch + 1, 0)


class HeldOutBatches:
    """The held-out batches in file order, or those of `overfit`."""

    def __init__(self, data: RowsDataModule) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Batch]:
        return self.data.epoch(0) if self.data._overfit else self.data.batches("heldout")


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
