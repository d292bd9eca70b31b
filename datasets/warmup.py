"""Compiles what converting PDN to rows calls, before a clock runs."""

import tempfile
from functools import cache
from pathlib import Path

from ckai.datasets.convert import parse_files

PDN = b"""[Event "1"]
[Result "1-0"]
[FEN "B:W32:B1"]
1. 1-5 {a comment} 32-28 (32-27) 1-0

[Event "2"]
1. 11-15 22-18 2. 15x22 25x18 *
"""


@cache
def compile_conversion() -> None:
    """Compile the conversion of games without errors to rows."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "games.pdn"
        source.write_bytes(PDN)
        parse_files(source, Path(name) / "games.parquet")
