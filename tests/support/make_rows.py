"""Small row files for tests: random games, and rows made by hand."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ckai.datasets.schema import EXPERT_SCHEMA, SELFPLAY_SCHEMA
from ckai.game import Position


def random_games(games, seed=0, max_plies=40, first=0):
    """Rows of random games as a list of dicts; results are drawn too, every fifth game has none."""
    rng = np.random.default_rng(seed)
    rows = []
    for game in range(first, first + games):
        position = Position.start()
        result = None if game % 5 == 4 else int(rng.integers(-1, 2))
        for ply in range(max_plies):
            moves = position.legal_moves()
            if not moves:
                break
            for hop, label in enumerate(moves[rng.integers(len(moves))].actions):
                rows.append(row(position, label, game, ply, hop, result))
                position = position.push_action(label)
    return rows


def row(position, label, game=0, ply=0, hop=0, result=None):
    """One row; `result` is Black's: 1, 0, -1 or None."""
    legal = sum(1 << i for i in position.legal_actions())
    return {
        "game": game,
        "ply": ply,
        "hop": hop,
        "black": position.black,
        "board": position.board.tolist(),
        "jumper": position.jumper,
        "quiet": position.halfmove_clock,
        "legal": legal.to_bytes(16, "little"),
        "label": label,
        "z": None if result is None else result if position.black else -result,
    }


def with_search(rows, seed=0):
    """The same rows as self-play would write them."""
    rng = np.random.default_rng(seed)
    out = []
    for r in rows:
        mask = int.from_bytes(r["legal"], "little")
        labels = [i for i in range(128) if mask >> i & 1]
        counts = rng.integers(1, 50, len(labels))
        visits = [{"label": a, "count": int(b)} for a, b in zip(labels, counts, strict=True)]
        out.append(r | {"q": float(rng.uniform(-1, 1)), "visits": visits, "generation": 1})
    return out


def write(path, rows, group=100) -> Path:
    """Write rows as `ckai parse` or self-play would."""
    schema = SELFPLAY_SCHEMA if rows and "q" in rows[0] else EXPERT_SCHEMA
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=group)
    return Path(path)
