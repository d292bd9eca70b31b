"""Compiles what reading PDN and converting it to rows calls, before a clock runs."""

import tempfile
from functools import cache
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
def compile_reading() -> None:
    """Compile the reader of PDN and the conversion to rows."""
    compile_rules()
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "games.pdn"
        source.write_bytes(_PDN)
        list(read_games(source))
        parse_files(source, Path(name) / "games.parquet")
