"""Rows: the Parquet schema, writers and readers, what is in a data set, batches for training.

Owns everything between games and tensors. Knows nothing of networks or search.
"""

from typing import Literal, get_args

Positions = Literal["all", "distinct", "average"]
POSITIONS: tuple[str, ...] = get_args(Positions)
"""What of repeated positions is kept, see `ckai.datasets.merge`; here, so that help needs no numpy."""
