"""Tables in docstrings stay tables: a re-flow that joins or misaligns their rows is found here."""

import ast
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    path
    for room in ("game", "pdn", "datasets", "models", "rl", "cli", "tests", "benchmarks")
    for path in (ROOT / room).rglob("*.py")
)
SECOND_CELL = re.compile(r"\S {2,}(?=\S)")
"""The gap before the second cell of a table's row."""


def docstrings(tree):
    """The docstrings of a module, its classes and functions, and those under its constants and fields."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.col_offset, node.value.value


def tables(text, margin):
    """Runs of lines indented more than `margin` of which at least three, and half, have a second cell."""
    lines = list(enumerate(text.expandtabs().splitlines()))
    for indented, run in itertools.groupby(lines, key=lambda item: item[1].startswith(" " * (margin + 4))):
        block = list(run)
        if any(line.strip().startswith(">>>") for _, line in block):
            continue  # an example
        rows = [line for _, line in block if SECOND_CELL.search(line.strip())]
        if indented and len(rows) >= 3 and 2 * len(rows) >= len(block):
            yield block


def broken_rows(text, margin=0):
    """(line number, line) of the rows whose second cell does not stand under that of the others.

    A row without a second cell is whole only if it continues the one above, under its second cell.
    """
    for block in tables(text, margin):
        indent = min(len(line) - len(line.lstrip()) for _, line in block)
        columns = []
        for _, line in block:
            gap = SECOND_CELL.search(line, indent)
            columns.append(gap.end() if gap and not line[indent:].startswith(" ") else None)
        column = Counter(c for c in columns if c is not None).most_common(1)[0][0]
        for (number, line), found in zip(block, columns, strict=True):
            text_alone = not SECOND_CELL.search(line.strip())
            continues = (line.startswith(" " * column) and text_alone) or line.strip()[:3] in (">>>", "...")
            if found != column and not continues:
                yield number, line


def test_tables_in_docstrings_are_whole():
    broken = [
        f"{path.relative_to(ROOT)}:{first + number}: {line.strip()}"
        for path in MODULES
        if SECOND_CELL.search(text_of := path.read_text())
        for first, margin, text in docstrings(ast.parse(text_of))
        for number, line in broken_rows(text, margin)
    ]
    assert not broken


WHOLE = """Names.

    rows      rows evaluated
    top1      share with the move among the first,
              illegal ones included
    policy    mean cross-entropy
"""


def test_a_whole_table_passes():
    assert not list(broken_rows(WHOLE))


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        ("              illegal ones", "    illegal ones", "illegal ones included"),
        ("included\n    policy ", "included policy ", "illegal ones included policy    mean cross-entropy"),
        ("    rows      rows", "    rows  rows", "rows  rows evaluated"),
        ("top1      share", "top1_legal share", "top1_legal share with the move among the first,"),
    ],
)
def test_a_broken_table_is_found(old, new, row):
    assert old in WHOLE
    more = "    value     squared error\n    loss      both\n"  # so that the others outweigh the broken row
    assert [line.strip() for _, line in broken_rows(WHOLE.replace(old, new) + more)] == [row]
