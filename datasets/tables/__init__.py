"""Endgames known exactly: every position of few pieces, won, lost or drawn, and in how many plies.

    from ckai.datasets.tables import Tables
    tables = Tables.open(4)
    tables.probe(position)          # value and plies for the side to move

The draw rules by count and repetition are not in the tables; see `ckai.datasets.tables.probe`.
"""

from ckai.datasets.tables.build import Cost, build_tables, cost_of
from ckai.datasets.tables.file import TableError
from ckai.datasets.tables.probe import DRAW, LOSS, SHIPPED, WIN, ProbeResult, Tables, cache_folder, table_path

__all__ = [
    "DRAW",
    "LOSS",
    "SHIPPED",
    "WIN",
    "Cost",
    "ProbeResult",
    "TableError",
    "Tables",
    "build_tables",
    "cache_folder",
    "cost_of",
    "table_path",
]
