"""What the examples in docstrings read: two games as `games.pdn`, and their rows as `games.parquet`."""

from ckai.datasets.convert import parse_files

PDN = """[Event "First"]
[Result "1-0"]
1. 11-15 22-18 2. 15x22 25x18 3. 8-11 29-25 1-0

[Event "Second"]
[Result "1/2-1/2"]
1. 9-14 22-18 2. 5-9 25-22 3. 11-15 1/2-1/2
"""


def write_examples(folder):
    """Write both files into a folder."""
    (folder / "games.pdn").write_text(PDN)
    parse_files([folder / "games.pdn"], folder / "games.parquet")
