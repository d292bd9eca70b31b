"""Batches for training: rows live packed where the training is, are shuffled there and cut into batches.

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

After `RowsDataModule.prepare`, for an encoding that needs a search:

    extra    [B, EXTRA] int8   the output of `ckai.models.Encoding.extra`
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

Batch: TypeAlias = dict[str, Tensor]

_BLOCK_ROWS = 65536
_HELDOUT_BATCH = 2048


class Symmetries:
    """The symmetries of a board as tensors; number 0 changes nothing.

    Attributes:
        squares: `[S, n]` int64: byte i of the transformed board is byte `squares[s, i]` of the board.
        actions: `[S, A]` int64: action i on the transformed board is action `actions[s, i]` on the board.
        inverse: `[S, A]` int64: action i on the board is action `inverse[s, i]` on the transformed board.
    """

    def __init__(self, symmetries: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Take the squares and actions of a game's symmetries, without the identity; there must be some."""
        if not symmetries:
            raise ValueError("expected a game whose board has symmetries, found one without")
        self.squares, self.actions = (
            torch.tensor([list(range(len(orders[0]))), *map(list, orders)])
            for orders in zip(*symmetries, strict=True)
        )
        self.inverse = self.actions.argsort(1)

    def __len__(self) -> int:
        return len(self.squares)

    def turned(self, batch: dict[str, Tensor], which: Tensor) -> dict[str, Tensor]:
        """Return a batch transformed row by row by symmetries `[B]`."""
        device = batch["label"].device
        which = which.to(device)
        squares, actions, inverse = (
            table.to(device)[which] for table in (self.squares, self.actions, self.inverse)
        )
        bits = torch.arange(8, dtype=torch.uint8, device=device)
        legal = (batch["legal"].unsqueeze(2) >> bits & 1).flatten(1)
        legal = _in_order(legal, actions).view(*batch["legal"].shape, 8) << bits
        changed = {
            "board": _in_order(batch["board"], squares),
            "legal": legal.sum(2, dtype=torch.uint8),
            "label": inverse.gather(1, batch["label"].unsqueeze(1))[:, 0],
        }
        if "policy" in batch:
            changed["policy"] = _in_order(batch["policy"], actions)
        return batch | changed


def _in_order(values: Tensor, order: Tensor) -> Tensor:
    """Return `[B, n or more]` values with the first n of each row in an order, `[B, n]`; the rest stay."""
    return torch.cat([values.gather(1, order), values[:, order.shape[1] :]], 1)


class RowsDataModule(pl.LightningDataModule):
    """Training and held-out batches of one or several data sets, for any `Trainer` of Lightning.

    Games are held out by a hash of `split_seed` and their moves (`ckai.datasets.split`): copies are on one
    side. The rows, about 60 bytes each without a search, are copied once to the device of the trainer if they
    take at most half of its free memory, shuffled there as a whole every epoch, and cut into batches. Others
    stay in the memory of the CPU, and blocks of 65,536 shuffled rows are copied. The order depends only on
    `seed`, the epoch and the type of the device that holds the rows. With several devices, each takes every
    n-th row of it.

    Attributes:
        train_rows, heldout_rows: rows of each side.
        train_games, heldout_games: keys of the games of each side: sorted, distinct uint64.
        joined: batches that are yielded as one, for a module that takes as many steps at once;
            1 until it says so.
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
        batch_size: int = 256,
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
        self.batch_size, self.joined = batch_size, 1
        self.heldout, self.split_seed, self.seed = heldout, split_seed, seed
        self._encoding: Any = None
        self._packed: dict[Split, Batch] = {}
        self._training = _TrainingBatches(self)
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

    # --- for Lightning ------------------------------------------------------------------------------

    def train_dataloader(self) -> "_TrainingBatches":
        """The training batches; each iteration over it is the next epoch."""
        return self._training

    def state_dict(self) -> dict[str, int]:
        """Return the epoch and how many of its batches were taken: a loader is restored too late."""
        return dict(self._training.at)

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue there."""
        self._training.at = {"epoch": state["epoch"], "batch": state["batch"]}

    def val_dataloader(self) -> "_HeldOutBatches | list[Batch]":
        """The held-out batches in file order; empty if no games are held out."""
        return _HeldOutBatches(self) if self.heldout_rows else []

    @property
    def steps_per_epoch(self) -> int:
        """Number of training batches in an epoch on each device; the last may be smaller."""
        return -(-(self.epoch_rows // self._shares[1]) // (self.batch_size * self.joined))

    @property
    def _shares(self) -> tuple[int, int]:
        """The number of this device among those that train, from 0, and how many these are."""
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)

    # --- rows ---------------------------------------------------------------------------------------

    def prepare(self, encoding: Any) -> None:
        """Let batches have `extra`, computed once for all rows, packed into 4 bits where these suffice.

        Boards that `symmetries` turn have none; their encoding computes it for each batch.

        Args:
            encoding: a `ckai.models.Encoding`, the network's `encode`.
        """
        if getattr(self._encoding, "VERSION", None) != encoding.VERSION:
            self._packed.clear()
        self._encoding = encoding

    def _parts(self, split: Split) -> Iterator[tuple[Split, slice]]:
        for side, rows in self._rows.items():
            if split in (side, "all"):
                for start in range(0, len(rows), _BLOCK_ROWS):
                    yield side, slice(start, start + _BLOCK_ROWS)

    def blocks(self, split: Split) -> Iterator[Rows]:
        """The rows of one side in blocks, in file order; of "all", the training side first."""
        return (self._rows[side].take(part) for side, part in self._parts(split))

    def batches(self, split: Split, size: int = _HELDOUT_BATCH) -> Iterator[Batch]:
        """The rows of one side in the order of `blocks`, in batches of at most `size`; see `prepare`."""
        for side, part in self._parts(split):
            yield from cut(self._block(side, part), size)

    def train_positions(self) -> NDArray[np.uint64]:
        """Keys of the training side's positions: sorted, distinct uint64, see `ckai.datasets.split`."""
        keys = [np.unique(position_keys(rows.board, rows.jumper)) for rows in self.blocks("train")]
        return np.unique(np.concatenate(keys)) if keys else np.empty(0, np.uint64)

    def epoch(self, number: int, skip: int = 0) -> Iterator[Batch]:
        """The training batches of epoch `number` (0-based), without the first `skip`."""
        device = self._columns("train")["label"].device
        generator = torch.Generator(device).manual_seed((self.seed * 1_000_003 + number) % 2**63)
        pool = torch.cat([start + _draw(rows, weight, generator) for start, rows, weight in self._spans])
        order = pool[torch.randperm(len(pool), generator=generator, device=device)]
        rank, devices = self._shares
        order = order[rank : len(order) // devices * devices : devices]
        if self.symmetries is not None:
            which = torch.randint(len(self.symmetries), (len(order),), generator=generator, device=device)
        size = self.batch_size * self.joined
        block = size * max(1, _BLOCK_ROWS // size)
        for start in range(skip * size, len(order), block):
            part = slice(start, start + block)
            rows = self._block("train", order[part])
            if self.symmetries is not None:
                rows = self.symmetries.turned(rows, which[part])
            for batch in cut(rows, size):
                yield batch if self.transform is None else self.transform(batch)

    def _load(self) -> None:
        """Read the files: the rows of each side, and which training rows have which weight."""
        sides: dict[Split, list[Rows]] = {"train": [], "heldout": []}
        games: tuple[list[NDArray[np.uint64]], ...] = ([], [])
        self._spans: list[tuple[int, int, float]] = []  # first training row, number of rows, their weight
        self.train_rows = 0
        for weight, rows in self._read():
            keys, lengths = game_keys(rows)
            out = held_out(keys, self.split_seed, self.heldout)
            for side, found, there in zip(sides.values(), games, (~out, out), strict=True):
                found.append(keys[there])
                side.append(rows.take(np.repeat(there, lengths)))
            self._spans.append((self.train_rows, len(sides["train"][-1]), weight))
            self.train_rows += len(sides["train"][-1])
        self.train_games, self.heldout_games = (np.unique(np.concatenate(found)) for found in games)
        self._rows = {side: concatenate(parts) for side, parts in sides.items()}
        self.heldout_rows = len(self._rows["heldout"])
        self.epoch_rows = sum(_epoch_size(rows, weight) for _, rows, weight in self._spans)

    def _read(self) -> Iterator[tuple[float, Rows]]:
        """Yield the weight and the rows of each file, or of shards that follow one another with one weight.

        Those are ordered by worker and game: which games are in which shard depends on the time it took.
        """

        def kind(of: tuple[float, RowFile]) -> tuple[float, int]:
            return of[0], 0 if of[1].shard is not None else id(of[1])

        for (weight, _), group in groupby(zip(self.weights, self.files.files, strict=True), kind):
            files = [file for _, file in group]
            parts = [file.read() for file in files]
            rows = concatenate(parts)
            if len(files) > 1:
                names = [str(file.shard["worker"]) if file.shard else "" for file in files]
                worker = np.repeat(np.unique(names, return_inverse=True)[1], [len(part) for part in parts])
                rows = rows.take(np.lexsort((np.arange(len(rows)), rows.game, worker)))
            yield weight, rows

    @property
    def _device(self) -> torch.device:
        return self.trainer.strategy.root_device if self.trainer else torch.device("cpu")

    def _columns(self, side: Split) -> Batch:
        """The rows of one side, packed, on the device that trains or, if they are too many, the CPU."""
        columns = self._packed.get(side)
        if columns is None:
            columns = _pack(self._rows[side], self.files.selfplay)
            if self._encoding is not None and self._encoding.EXTRA and self.symmetries is None:
                parts = [
                    _pack_extra(self._encoding, *(block[name] for name in ("board", "jumper", "quiet")))
                    for block in cut(columns, _BLOCK_ROWS)
                ]
                if parts:
                    columns["extra"] = torch.cat(parts)
        device = self._device
        if device != columns["label"].device:
            size = sum(column.nbytes for column in columns.values())
            if device.type != "cuda" or size <= torch.cuda.mem_get_info(device)[0] // 2:
                columns = {name: column.to(device) for name, column in columns.items()}
        self._packed[side] = columns
        return columns

    def _block(self, side: Split, index: Tensor | slice) -> Batch:
        """Some rows of one side as one batch, on the device that trains."""
        device = self._device
        rows = {name: column[index].to(device) for name, column in self._columns(side).items()}
        if "extra" in rows and self._encoding.EXTRA_BITS == 4:
            rows["extra"] = torch.stack([rows["extra"] << 4 >> 4, rows["extra"] >> 4], 2).flatten(1)
        return _unpack(rows)


def _epoch_size(rows: int, weight: float) -> int:
    """Rows that an epoch takes from `rows` rows, repetitions counted."""
    return int(weight) * rows + round((weight - int(weight)) * rows)


def _draw(rows: int, weight: float, generator: torch.Generator) -> Tensor:
    """Indices of the rows an epoch takes: all of them int(weight) times, and a random share for the rest."""
    device = generator.device
    whole = torch.arange(rows, device=device).repeat(int(weight))
    rest = _epoch_size(rows, weight) - len(whole)
    if not rest:
        return whole
    return torch.cat([whole, torch.randperm(rows, generator=generator, device=device)[:rest]])


class _TrainingBatches:
    """The training batches: each iteration is the next epoch, or the one Lightning sets, as in a sampler."""

    def __init__(self, data: RowsDataModule) -> None:
        self._data, self.sampler = data, self
        self.at = {"epoch": 0, "batch": 0}

    def __len__(self) -> int:
        return self._data.steps_per_epoch

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = self.at["epoch"], self.at["batch"]
        skip = done if done < len(self) else 0
        for number, batch in enumerate(self._data.epoch(epoch, skip), skip + 1):
            self.at["batch"] = number
            yield batch
        self.at = {"epoch": epoch + 1, "batch": 0}

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.at["epoch"]:
            self.at = {"epoch": epoch, "batch": 0}


class _HeldOutBatches:
    """The held-out batches of a data module, in file order."""

    def __init__(self, data: RowsDataModule) -> None:
        self._data = data

    def __len__(self) -> int:
        return -(-self._data.heldout_rows // _HELDOUT_BATCH)

    def __iter__(self) -> Iterator[Batch]:
        return self._data.batches("heldout")


def _pack(rows: Rows, searched: bool) -> Batch:
    """Rows as tensors of their own small types, with `q` and the visits if `searched`; may share memory."""
    arrays: dict[str, NDArray[Any]] = {
        name: getattr(rows, name)
        for name in ("board", "jumper", "quiet", "legal", "label", "ply", "z", "z_known")
    }
    if searched:
        known = np.zeros(len(rows), np.bool_) if rows.q is None else ~np.isnan(rows.q)
        q = rows.z if rows.q is None else np.where(known, rows.q, rows.z)
        arrays["q"], arrays["q_known"] = q.astype(np.float32), known
        if rows.visits is None:
            arrays["actions"], arrays["shares"] = rows.label[:, None], np.ones((len(rows), 1), np.float32)
        else:
            arrays["actions"], arrays["shares"] = rows.visits.padded(rows.label)
    return {name: torch.from_numpy(a if a.flags.writeable else a.copy()) for name, a in arrays.items()}


def _unpack(rows: Batch) -> Batch:
    """The batch of rows that were packed, on their device."""
    batch = {**rows, "label": rows["label"].long(), "z": rows["z"].float()}
    if "actions" in batch:
        actions, shares = batch.pop("actions").long(), batch.pop("shares")
        policy = shares.new_zeros(len(shares), 8 * batch["legal"].shape[1])
        batch["policy"] = policy.scatter_add_(1, actions, shares)
    return batch


def to_batch(rows: Rows) -> Batch:
    """Rows, at least one, as a batch, described in `ckai.datasets.data_module`; of self-play if they are."""
    return _unpack(_pack(rows, rows.visits is not None))


def _pack_extra(encoding: Any, board: Tensor, jumper: Tensor, halfmove_clock: Tensor) -> Tensor:
    """`[N, EXTRA]` int8, or half as many bytes of two numbers each."""
    extra: Tensor = encoding.extra(board, jumper, halfmove_clock)
    return (extra[:, ::2] & 15) | (extra[:, 1::2] << 4) if encoding.EXTRA_BITS == 4 else extra


def cut(block: Batch, size: int) -> Iterator[Batch]:
    """Batches of `size` rows of a larger one; the last may be smaller."""
    rows = len(block["label"])
    for start in range(0, rows, size):
        yield {name: tensor[start : start + size] for name, tensor in block.items()}
