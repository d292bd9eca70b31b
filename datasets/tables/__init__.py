"""Endgame tablebases: every position with few pieces, its exact result and distance to the end.

Draws by move count and repetition are not in the tables; see `ckai.datasets.tables.probe`.
"""

from ckai.datasets.tables.probe import ProbeResult, Tables, table_path
from ckai.datasets.tables.solve import build_tables

__all__ = ["ProbeResult", "Tables", "build_tables", "table_path"]
