"""Rows: the Parquet schema, writers and readers, what is in a data set, batches for training.

Owns everything between games and tensors; contains no networks and no search. The names below are the public
ones; importing this package loads none of them until they are used, but sets how the threads of PyTorch wait
(`ckai.datasets.machine.set_environment`).

Examples:
    From the text of games to numpy columns, one row a hop (a whole move, or one jump of a longer capture):

    >>> from pathlib import Path
    >>> from ckai.datasets import parse_files, read_rows
    >>> pdn = '''[Event "First"]
    ... [Result "1-0"]
    ... 1. 11-15 22-18 2. 15x22 25x18 3. 8-11 29-25 1-0
    ...
    ... [Event "Second"]
    ... [Result "1/2-1/2"]
    ... 1. 9-14 22-18 2. 5-9 25-22 1/2-1/2
    ... '''
    >>> _ = Path("two.pdn").write_text(pdn)
    >>> tally = parse_files(["two.pdn"], "two.parquet")
    >>> tally.games_kept, tally.rows
    (2, 10)
    >>> rows = read_rows("two.parquet")
    >>> rows.board.shape, rows.board.dtype
    ((10, 32), dtype('int8'))
    >>> rows.z.tolist()  # the result for the side to move; "1-0": Black won
    [1, -1, 1, -1, 1, -1, 0, 0, 0, 0]
    >>> rows.legal_mask().sum(1).tolist()  # legal actions in each position
    [7, 7, 1, 2, 7, 9, 7, 7, 7, 7]
"""

from typing import TYPE_CHECKING

from ckai.datasets.choices import lazy_exports
from ckai.datasets.machine import set_environment

set_environment()

if TYPE_CHECKING:
    from ckai.datasets.convert import Tally, parse_files
    from ckai.datasets.data_module import Batch, RowsDataModule, to_batch
    from ckai.datasets.reader import Statistics, describe, newest_dataset, read_rows
    from ckai.datasets.rows import Rows, Visits, concatenate
    from ckai.datasets.schema import EXPERT_SCHEMA, HEADERS_SCHEMA, SELFPLAY_SCHEMA, DatasetError
    from ckai.datasets.tables import ProbeResult, Tables, build_tables
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "EXPERT_SCHEMA",
    "HEADERS_SCHEMA",
    "SELFPLAY_SCHEMA",
    "Batch",
    "DatasetError",
    "ProbeResult",
    "Rows",
    "RowsDataModule",
    "Statistics",
    "Tables",
    "Tally",
    "Visits",
    "build_tables",
    "concatenate",
    "describe",
    "newest_dataset",
    "parse_files",
    "read_rows",
    "to_batch",
]
