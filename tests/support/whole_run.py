"""Whether a run has all that it should have, once."""

import csv
import json

import pyarrow.parquet as pq

from ckai.models.checkpoint import load_checkpoint
from ckai.rl.loop.config import MAX_GAMES
from ckai.rl.loop.run import Run
from ckai.rl.workers.delivery import hash_of


def check_whole(run: Run, generations: int) -> None:
    """Every generation has exactly its games, whole, and a network."""
    assert run.generations == generations
    seen: set[int] = set()
    for n in range(1, generations + 1):
        table = pq.read_table(run.path(n, "rows.parquet"))
        keys = list(zip(*(table[c].to_pylist() for c in ("game", "ply", "hop")), strict=True))
        assert keys == sorted(set(keys)), "a row is doubled or out of order"
        numbers = sorted({key[0] for key in keys})
        measured = json.loads(run.path(n, "selfplay.json").read_text())
        if "workers" not in measured:
            assert numbers == list(run._numbers(n))
        assert len(numbers) >= run.config.games
        assert not seen & set(numbers), "a game counts in two generations"
        seen |= set(numbers)
        assert measured["games"] == len(numbers)
        headers = pq.read_table(run.path(n, "rows.headers.parquet")).to_pylist()
        last = {key[0]: key[1] for key in keys}
        assert {h["game"]: h["plies"] for h in headers} == {g: ply + 1 for g, ply in last.items()}
        for header in headers:
            begun = header["game"] // MAX_GAMES
            assert begun in (n - 1, n)
            assert header["network"] == hash_of(run._network_of(begun).read_bytes())
        assert run.path(n, "games.pdn").read_text().count("[Event ") == len(numbers)
        load_checkpoint(run.path(n, "network.ckpt")).network()
        assert not run.path(n, "shards").exists()
        assert not run.path(n, "training.ckpt").exists()
    assert load_checkpoint(run.folder / "best.ckpt").weights.keys()
    with (run.folder / "metrics.csv").open() as file:
        assert [int(row["generation"]) for row in csv.DictReader(file)] == list(range(1, generations + 1))
    assert not list(run.folder.rglob(".*.tmp"))
