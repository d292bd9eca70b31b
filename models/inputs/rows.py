"""Rows as the planes that a network sees."""

import torch
from torch import Tensor

from ckai.datasets.rows import Rows
from ckai.models.inputs.encodings import Encoding
from ckai.models.inputs.registry import encoding_type


def encode_rows(rows: Rows, encoding: str | Encoding = "planes") -> Tensor:
    """Encode rows as input planes.

    Args:
        rows: any number.
        encoding: a name such as "grid", "planes" or "tactics" (`ckai.models.inputs.encodings` describes the
            planes of each), or the `encode` of a network.

    Returns:
        `[N, PLANES, *SHAPE]` float32 on the CPU, in the view of the side to move; in checkers
        `[N, PLANES, 8, 4]`, and row 0 is its own back row.

    Raises:
        ValueError: no encoding has this name, or it is for a board of another size than the rows'.

    Examples:
        >>> from ckai.datasets import read_rows
        >>> rows = read_rows("games.parquet")
        >>> encode_rows(rows, "grid").shape == (len(rows), 1, 8, 4)
        True
    """
    if isinstance(encoding, str):
        encoding = encoding_type(encoding)()
    squares = rows.board.shape[1]
    if squares != encoding.board_bytes:
        raise ValueError(
            f"expected boards of {encoding.board_bytes} squares for the encoding {encoding.VERSION}, "
            f"found {squares}"
        )
    # Copies: columns read from a file are read-only, which torch has no notion of.
    columns = (torch.from_numpy(column.copy()) for column in (rows.board, rows.jumper, rows.quiet))
    planes: Tensor = encoding(*columns, torch.float32)
    return planes
