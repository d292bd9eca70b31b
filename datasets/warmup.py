"""Compiles what reading PDN and converting it to rows calls, before a clock runs."""

import tempfile
from functools import cache
from io import BytesIO
from pathlib import Path

from ckai.datasets.convert import parse_files
from ckai.game.warmup import compile_rules
from ckai.pdn import read_games

_PDN = b"""[Event "1"]
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
        source.write_bytes(_PDN)
        parse_files(source, Path(name) / "games.parquet")


@cache
def compile_reading() -> None:
    """Compile the conversion to rows, and the reader of PDN, which explains errors as well."""
    compile_rules()
    compile_conversion()
    list(read_games(BytesIO(_PDN)))
