"""Endgame tablebases: every position with few pieces, its exact result and distance to the end.

    from ckai.datasets import Tables
    tables = Tables.open(3)
    tables.probe(position)          # result and distance in plies for the side to move

Draws by move count and repetition are not in the tables; see `ckai.datasets.tables.probe`.
"""

from ckai.datasets.tables.index import make_layout
from ckai.datasets.tables.probe import ADJUDICATED, DRAW, LOSS, SHIPPED, WIN, ProbeResult, Tables, table_path
from ckai.datasets.tables.solve import RATE, build_tables

__all__ = [
    "ADJUDICATED",
    "DRAW",
    "LOSS",
    "RATE",
    "SHIPPED",
    "WIN",
    "ProbeResult",
    "Tables",
    "build_tables",
    "make_layout",
    "table_path",
]
