"""New training targets in the place of old ones: shards of them, and whole row files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.files import first_line
from ckai.datasets.rows import Rows, Visits
from ckai.datasets.schema import SELFPLAY_SCHEMA
from ckai.rl.selfplay.shards import read_table, write_table

METADATA = b"ckai.reanalysis"
"""Metadata key of the settings of a reanalysis, in its shards and in the rows with what was measured."""
BLEND = 0.01
"""Weight of a uniform distribution blended into the old policy target by `policy_change`."""
_NEW = ("q", "visits", "surprise")
"""Columns that are replaced, where a file has them."""
_SHARD = pa.schema(
    [
        pa.field("row", pa.int64(), False),  # index in the file
        *(SELFPLAY_SCHEMA.field(name) for name in _NEW),
        pa.field("policy_change", pa.float32()),  # NaN where there is none
        pa.field("q_change", pa.float32(), False),  # |new q - old q|
    ]
)


class ReanalysisError(ValueError):
    """A shard or a row file that is not of this reanalysis; says what was expected and found."""


@dataclass(frozen=True)
class Reanalysis:
    """What a reanalysis did to the rows of a file."""

    rows: int
    """Rows of the file."""
    reanalyzed: int
    """Rows with new targets by this reanalysis."""
    left: int
    """Rows that were drawn, but left as they are because their games cannot be recreated."""
    left_games: int
    """Games that cannot be recreated, of rows drawn or not."""
    compared: int
    """Rows with a policy target before and after."""
    policy_change: float
    """Mean KL divergence of the new policy target from the old one, over `compared`, in nats."""
    q_change: float
    """Mean of |new q - old q| over the rows reanalyzed."""


def policy_change(rows: Rows, new: Visits) -> NDArray[np.float32]:
    """Return the KL divergence of new policy targets from those of rows, KL(new || old).

    The old target is blended with weight `BLEND` of a uniform distribution over the legal actions: a search
    leaves many actions without a visit, and the divergence would not be finite.

    Args:
        rows: M rows.
        new: their new visit counts.

    Returns:
        `[M]` float32 in nats, NaN for a row without one of the two targets.
    """
    legal = rows.legal_mask()
    actions = legal.shape[1]
    assert rows.visits is not None, "rows of self-play have visit counts"
    before, after = (visits.dense(rows.label, actions).astype(np.float64) for visits in (rows.visits, new))
    known = (before.sum(1) > 0) & (after.sum(1) > 0)
    blended = (1 - BLEND) * before + BLEND * legal / legal.sum(1, keepdims=True)
    ratio = np.divide(after, blended, out=np.ones_like(after), where=after > 0)
    divergence = (after * np.log(ratio)).sum(1)
    return np.where(known, divergence, np.nan).astype(np.float32)


def shard_of(
    rows: Rows, index: NDArray[np.int64], q: NDArray[np.float32], kl: NDArray[np.float32], new: Visits
) -> pa.Table:
    """Return the new targets of M rows as a shard.

    Args:
        rows: the M rows as they were.
        index: `[M]`, their indices in the file.
        q, kl: `[M]`, see `ckai.rl.reanalysis.searching.Positions`.
        new: their policy targets.
    """
    counts = pa.StructArray.from_arrays(
        [pa.array(new.labels), pa.array(new.counts)], fields=list(_SHARD.field("visits").type.value_type)
    )
    assert rows.q is not None, "rows of self-play have a q"
    columns = {
        "row": pa.array(index),
        "q": pa.array(q),
        "visits": pa.ListArray.from_arrays(pa.array(new.offsets.astype(np.int32)), counts),
        "surprise": pa.array(kl),
        "policy_change": pa.array(policy_change(rows, new)),
        "q_change": pa.array(np.abs(q - rows.q)),
    }
    return pa.Table.from_arrays([columns[f.name].cast(f.type) for f in _SHARD], schema=_SHARD)


def read_new_targets(path: Path, index: NDArray[np.int64]) -> pa.Table:
    """Read a shard.

    Args:
        path: the file.
        index: indices of the rows that it is to have.

    Raises:
        ReanalysisError: it cannot be read, or has other rows.
    """
    try:
        table = read_table(path)
        if table.schema.names != _SHARD.names or not np.array_equal(table["row"].to_numpy(), index):
            raise ReanalysisError(f"{path}: expected the new targets of {len(index)} rows, found others")
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error
    return table


def write_rows(
    path: Path, table: pa.Table, shards: list[pa.Table], settings: dict[str, Any], left: int, left_games: int
) -> Reanalysis:
    """Write a row file with new targets in the place of old ones.

    Args:
        path: the file to write.
        table: the rows; they stay as they are but for the columns of targets.
        shards: the new targets of distinct rows.
        settings: of the reanalysis, as plain data.
        left, left_games: see `Reanalysis`.
    """
    new = pa.concat_tables([_SHARD.empty_table(), *shards])
    index = new["row"].to_numpy()
    taken = np.arange(table.num_rows)
    taken[index] = table.num_rows + np.arange(len(index))
    for name in _NEW:
        if name in table.schema.names:
            field = table.schema.field(name)
            both = pa.chunked_array([*table[name].chunks, *new[name].cast(field.type).chunks], field.type)
            table = table.set_column(table.schema.get_field_index(name), field, both.take(pa.array(taken)))
    change = new["policy_change"].to_numpy().astype(np.float64)
    change = change[~np.isnan(change)]
    measured = Reanalysis(
        rows=table.num_rows,
        reanalyzed=len(index),
        left=left,
        left_games=left_games,
        compared=len(change),
        policy_change=float(change.mean()) if len(change) else 0.0,
        q_change=float(new["q_change"].to_numpy().mean(dtype=np.float64)) if len(index) else 0.0,
    )
    text = json.dumps({"settings": settings, "measured": asdict(measured)}, sort_keys=True)
    metadata = {**(table.schema.metadata or {}), METADATA: text.encode()}
    write_table(table.replace_schema_metadata(metadata), path)
    return measured


def read_reanalysis(path: Path, settings: dict[str, Any]) -> Reanalysis:
    """Check a file of `write_rows` as a whole, and return what was measured when it was written.

    Raises:
        ReanalysisError: it cannot be read, or is of other settings.
    """
    try:
        table = read_table(path)
        found = json.loads((table.schema.metadata or {})[METADATA])
        measured = Reanalysis(**found["measured"])
        if found["settings"] != settings or measured.rows != table.num_rows:
            raise ReanalysisError(f"{path}: expected rows reanalyzed with {settings}, found {found}")
    except ReanalysisError:
        raise
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from error
    return measured


def _damaged(path: Path, error: Exception) -> ReanalysisError:
    return ReanalysisError(f"{path}: expected reanalyzed rows, found a damaged file ({first_line(error)})")
